"""The thesis's Tables 4.2 to 4.4 and its tests by day, its numbers beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recrawl.evolve.text import write
from recrawl.lab.markdown import markdown
from recrawl.lab.statistics import fold_test, holm

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
#: Section 4.6: on how many of 55 days GP4C's best is better, and on which it is worse, at 95 %.
BETTER_DAYS: Final = {"NAD": 22, "AAD": 47, "GAD": 49, "CG": 50, "GP4C sum": 2, "GP4C avg": 1}
WORSE_DAYS: Final[dict[str, tuple[int, ...]]] = {
    "NAD": (),
    "AAD": (1, 3),
    "GAD": (1,),
    "CG": (),
    "GP4C sum": (),
    "GP4C avg": (),
}
BEST = "GP4C best"
MAX_DAYS_NAMED = 5  #: days that are listed, not only counted
SHOWN_DAYS: Final = (1, 2, 3, 5, 10, 15, 20, 30, 40, 50, 55)
LEVEL = 0.05


def tables(results: ThesisResults) -> str:
    """All tables as Markdown."""
    sections = (_best, _averages, _times, _days, _tests, _selections)
    return "\n".join("\n".join(section(results)) + "\n" for section in sections)


def _best(results: ThesisResults) -> Iterator[str]:
    yield "### Table 4.2: change ratio of the best function of each fold"
    yield ""
    rows = []
    for fold, best in enumerate(results.chosen[BEST]):
        theirs = [f"{v:.4f}" for v in TABLE_42[fold]] if fold < len(TABLE_42) else [""] * 3
        test = results.by_fold[BEST][fold]
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
    yield "### Change ratio by day, mean over folds"
    yield ""
    last = results.daily["Rand"].shape[1]
    days = [day for day in SHOWN_DAYS if day <= last]
    rows = [
        [name, *(f"{values[:, day - 1].mean():.3f}" for day in days)]
        for name, values in results.daily.items()
    ]
    yield from markdown(("day", *map(str, days)), rows)


def _tests(results: ThesisResults) -> Iterator[str]:
    yield "### GP4C best against the baselines"
    yield ""
    yield "Days: on how many a paired t-test over folds says better or worse at 95 %, uncorrected"
    yield "as in the thesis. Mean: over folds, with 95 % interval and p after Holm."
    yield ""
    others = [name for name in results.daily if name not in results.chosen]
    yield from markdown(_TEST_HEAD, _test_rows(results, others))


def _selections(results: ThesisResults) -> Iterator[str]:
    yield "### GP4C best against the other selections"
    yield ""
    yield "Sum and Avg as the text defines them, and with the program's σ, which is not divided by"
    yield "the number of cycles. Same: in how many folds they choose the function of Best."
    yield ""
    others = [name for name in results.chosen if name != BEST]
    rows = [
        [*row, str(same_choices(results, name))]
        for name, row in zip(others, _test_rows(results, others), strict=True)
    ]
    yield from markdown((*_TEST_HEAD, "same"), rows)


_TEST_HEAD: Final = (
    "method",
    "better days, thesis / ours",
    "worse days (which)",
    "mean difference",
    "p",
)


def same_choices(results: ThesisResults, name: str) -> int:
    """In how many folds this selection chooses the function that Best chooses."""
    pairs = zip(results.chosen[BEST], results.chosen[name], strict=True)
    return sum(one.expression.key() == other.expression.key() for one, other in pairs)


def _test_rows(results: ThesisResults, others: list[str]) -> list[list[str]]:
    ours = results.daily[BEST]
    means = [fold_test(ours.mean(axis=1), results.daily[name].mean(axis=1)) for name in others]
    rows = []
    for name, mean, p in zip(others, means, holm([m.p for m in means]), strict=True):
        better, worse = significant_days(ours, results.daily[name])
        theirs = _some_days(WORSE_DAYS[name]) if name in WORSE_DAYS else "–"
        cells = [
            f"{BETTER_DAYS.get(name, '–')} / {len(better)}",
            f"{theirs} / {_some_days(worse)}",
            f"{mean.mean:+.4f} ({mean.low:+.4f} to {mean.high:+.4f})",
            f"{p:.2g}",
        ]
        rows.append([name, *cells])
    return rows


def _some_days(days: Sequence[int]) -> str:
    """A number of days, and which they are if they are few.

    >>> _some_days([1, 3]), _some_days([])
    ('2 (1, 3)', '0')
    """
    named = f" ({', '.join(map(str, days))})" if 0 < len(days) <= MAX_DAYS_NAMED else ""
    return f"{len(days)}{named}"


def significant_days(ours: FloatArray, theirs: FloatArray) -> tuple[list[int], list[int]]:
    """The days, from 1, on which ours is better and on which it is worse, over folds."""
    tests = [fold_test(a, b) for a, b in zip(ours.T, theirs.T, strict=True)]
    sure = [(day, test.mean) for day, test in enumerate(tests, 1) if test.p < LEVEL]
    return [day for day, mean in sure if mean > 0], [day for day, mean in sure if mean < 0]
