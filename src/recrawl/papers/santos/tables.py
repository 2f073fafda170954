"""The thesis's Tables 4.2 to 4.4 and Figures 4.1 and 4.2 as text, its numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recrawl.evolve.text import write
from recrawl.lab.markdown import markdown
from recrawl.lab.statistics import fold_test, holm

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import FloatArray
    from recrawl.papers.santos.experiment import FoldRun, ThesisResults

#: Table 4.2: change ratio of the best function on train, validation and test pages.
TABLE_42: Final = (
    (0.709357, 0.708086, 0.703514),
    (0.704912, 0.698197, 0.706889),
    (0.718066, 0.715886, 0.711833),
    (0.706658, 0.708875, 0.713094),
    (0.696098, 0.694009, 0.693782),
)
#: Table 4.3: average change ratio.
TABLE_43: Final = {
    "Rand": 0.185687,
    "Age": 0.213047,
    "NAD": 0.689247,
    "SAD": 0.516566,
    "AAD": 0.634360,
    "GAD": 0.601628,
    "CG": 0.643912,
    "GP4C best": 0.705822,
    "GP4C sum": 0.700795,
    "GP4C avg": 0.703362,
}
#: Table 4.4: seconds of population evaluation and of validation, by seed, for all five folds.
TABLE_44: Final = {
    111: (43213, 161),
    222: (44321, 149),
    333: (44452, 196),
    444: (43095, 142),
    555: (44236, 171),
}
#: Section 4.6: on how many of 55 days GP4C's best is better, at 95 %.
BETTER_DAYS: Final = {"NAD": 22, "AAD": 47, "GAD": 49, "CG": 50}
SHOWN_DAYS: Final = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 55)
LEVEL = 0.05


def tables(results: ThesisResults) -> str:
    """All tables as Markdown."""
    sections = (_best, _averages, _times, _days, _tests)
    return "\n".join("\n".join(section(results)) + "\n" for section in sections)


def _best(results: ThesisResults) -> Iterator[str]:
    yield "### Table 4.2: change ratio of the best function of each fold"
    yield ""
    rows = []
    for fold, best in enumerate(results.chosen["best"]):
        theirs = [f"{v:.4f}" for v in TABLE_42[fold]] if fold < len(TABLE_42) else [""] * 3
        test = results.by_fold["GP4C best"][fold]
        ours = [f"{v:.4f}" for v in (best.train.mean(), best.validation.mean(), test)]
        cells = [f"{a} / {b}" for a, b in zip(theirs, ours, strict=True)]
        rows.append([str(fold + 1), *cells, f"`{write(best.expression)}`"])
    head = ("fold", "train, thesis / ours", "validation", "test", "our function")
    yield from markdown(head, rows)


def _averages(results: ThesisResults) -> Iterator[str]:
    yield "### Table 4.3: average change ratio"
    yield ""
    rows = []
    for name, ratios in results.by_fold.items():
        theirs = f"{TABLE_43[name]:.4f}" if name in TABLE_43 else ""
        rows.append([name, theirs, *(f"{r:.4f}" for r in ratios), f"{ratios.mean():.4f}"])
    count = len(results.by_fold["Rand"])
    head = ("method", "thesis", *(f"fold {i + 1}" for i in range(count)), "ours")
    yield from markdown(head, rows)


def _times(results: ThesisResults) -> Iterator[str]:
    yield "### Table 4.4: seconds, all folds of a seed"
    yield ""
    rows = []
    for seed in dict.fromkeys(run.seed for run in results.runs):
        runs = [run for run in results.runs if run.seed == seed]
        rows.append([str(seed), *_time_cells(seed, runs)])
    head = ("seed", "breeding, thesis / ours", "validation", "simulations", "thesis : ours")
    yield from markdown(head, rows)


def _time_cells(seed: int, runs: list[FoldRun]) -> Iterator[str]:
    bred, checked = sum(r.breeding for r in runs), sum(r.validating for r in runs)
    theirs = TABLE_44.get(seed, (0, 0))
    yield f"{theirs[0]:,} / {bred:,.1f}"
    yield f"{theirs[1]:,} / {checked:,.1f}"
    yield f"{sum(r.simulated for r in runs):,}"
    yield f"{sum(theirs) / max(bred + checked, 1e-9):,.0f}"


def _days(results: ThesisResults) -> Iterator[str]:
    yield "### Figures 4.1 and 4.2: change ratio by day, mean over folds"
    yield ""
    last = results.daily["Rand"].shape[1]
    days = [day for day in SHOWN_DAYS if day <= last]
    rows = [
        [name, *(f"{values[:, day - 1].mean():.3f}" for day in days)]
        for name, values in results.daily.items()
    ]
    yield from markdown(("day", *map(str, days)), rows)


def _tests(results: ThesisResults) -> Iterator[str]:
    yield "### GP4C best against the others"
    yield ""
    yield "Days: on how many a paired t-test over folds says better or worse at 95 %, uncorrected"
    yield "as in the thesis. Mean: over folds, with 95 % interval and p after Holm."
    yield ""
    ours = results.daily["GP4C best"]
    others = [name for name in results.daily if name != "GP4C best"]
    means = [fold_test(ours.mean(axis=1), results.daily[name].mean(axis=1)) for name in others]
    rows = []
    for name, mean, p in zip(others, means, holm([m.p for m in means]), strict=True):
        better, worse = _day_counts(ours, results.daily[name])
        theirs = str(BETTER_DAYS.get(name, ""))
        gap = f"{mean.mean:+.4f} ({mean.low:+.4f} to {mean.high:+.4f})"
        rows.append([name, theirs, str(better), str(worse), gap, f"{p:.2g}"])
    days = ours.shape[1]
    head = ("method", "better, thesis", f"better of {days} days", "worse", "mean difference", "p")
    yield from markdown(head, rows)


def _day_counts(ours: FloatArray, theirs: FloatArray) -> tuple[int, int]:
    tests = [fold_test(a, b) for a, b in zip(ours.T, theirs.T, strict=True)]
    sure = [test.mean for test in tests if test.p < LEVEL]
    return sum(mean > 0 for mean in sure), sum(mean < 0 for mean in sure)
