"""The tables and figures of the study: Tables 2 and 3, Figures 9 to 15, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.lab.charts import by_share, line_styles
from recrawl.lab.markdown import markdown
from recrawl.papers.dang.experiment import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from recrawl.papers.dang.data import Study
    from recrawl.papers.dang.models import Result

#: Table 2: mean and standard deviation of new links a week: all, internal, external.
TABLE_2: Final = (
    ((3.1, 14.4), (2.7, 13.5), (0.4, 3.7)),
    ((3.2, 14.5), (2.8, 13.7), (0.4, 3.4)),
    ((3.4, 15.2), (3.0, 14.1), (0.5, 3.9)),
    ((2.6, 13.3), (2.2, 12.6), (0.3, 3.1)),
    ((2.9, 15.3), (2.5, 14.5), (0.4, 3.5)),
    ((3.5, 15.3), (3.0, 14.2), (0.5, 4.0)),
    ((2.6, 13.0), (2.3, 12.4), (0.3, 2.9)),
    ((3.0, 16.8), (2.6, 16.0), (0.4, 3.2)),
    ((3.1, 15.2), (2.7, 14.6), (0.4, 3.1)),
)
#: Table 3: rows at a leaf, the same for any history.
TABLE_3: Final = {"internal": 2, "external": 10}
#: Figures 9 and 10, as far as the text gives their numbers.
RATES: Final = {
    ("internal", "SP"): {"R²": 0.50},
    ("internal", "SPsem"): {"R²": 0.65, "MAE": 0.14},
    ("external", "zero"): {"R²": -0.14, "MAE": 0.08, "MedAE": 0.0},
    ("external", "SPsem+SN"): {"R²": 0.45},
}
#: Figure 12: the baseline, by the authors' program.
BASELINE: Final = {
    "internal": {"recall": 0.763, "precision": 0.757, "F1": 0.760, "accuracy (b)": 0.834},
    "external": {"recall": 0.588, "precision": 0.602, "F1": 0.595, "accuracy (b)": 0.778},
}
#: Figure 14, as far as the text gives its numbers.
SPEARMAN: Final = {("external", "LCR", "LCR-ET"): 0.79, ("external", "LCR", "LCR-ET_LBLA"): 0.82}
Paper = Callable[[str], Mapping[str, float]]
N_IMPORTANCES = 10  #: features of the highest importance
DRAWN: Final = ("NNL-ET_LBLA", "NNL-ET", "NNL-NGB", "NNL-LGB", "NNL-Av", "NNL-Pr", "CCR")


def tables(study: Study, results: Mapping[str, Result]) -> str:
    """All of them, as Markdown; ours, and in brackets the paper's where it gives a number."""
    kinds = [kind for kind in KINDS if f"{kind}-tune" in results]
    lines = [*_new_links(study), "", *_leaves(results, kinds)]
    for kind in kinds:
        sections = (_rates, _presence, _importances, _spearman, _areas)
        for section in sections:
            lines += ["", *section(results, kind)]
    for kind in (kind for kind in KINDS if kind not in kinds):
        lines += ["", f"New {kind} links: too few pages show any, or none, to learn and test on."]
    return "\n".join(lines) + "\n"


def curves(results: Mapping[str, Result]) -> dict[str, str]:
    """Figure 15 for each kind of links, as SVG."""
    drawn = {}
    for kind in KINDS:
        if f"{kind}-rankings-0" in results:
            runs = _runs(results, kind, "rankings")
            names = [name for name in DRAWN if name in runs[0]["curves"]]
            lines = {n: np.mean([r["curves"][n] for r in runs], axis=0).tolist() for n in names}
            styles = line_styles(DRAWN, "CCR")
            drawn[kind] = by_share(lines, styles, name=f"Precision@k%, new {kind} links")
    return drawn


def _runs(results: Mapping[str, Result], kind: str, step: str) -> list[Result]:
    return [result for name, result in results.items() if name.startswith(f"{kind}-{step}")]


def _new_links(study: Study) -> Iterator[str]:
    yield "### Table 2: new links of an interval, mean ± standard deviation"
    yield ""
    rows = []
    for number, interval in enumerate(study.snapshot.intervals):
        theirs = TABLE_2[number] if number < len(TABLE_2) else [("", "")] * 3
        ours = (interval.new, interval.new_internal, interval.new_external)
        cells = [
            f"{new.mean():.2f} ± {new.std():.1f} ({mean} ± {spread})"
            for new, (mean, spread) in zip(ours, theirs, strict=True)
        ]
        rows.append([str(number + 1), *cells])
    yield from markdown(("interval", "all, ours (paper)", "internal", "external"), rows)
    shares = [f"{(study.count[kind] > 0).mean():.1%} {kind}" for kind in KINDS]
    yield ""
    yield f"{len(study):,} pages; with new links in the last interval: {', '.join(shares)}"
    yield "(the paper: 384,323 pages; 28.0 % internal, 7.6 % external)."


def _leaves(results: Mapping[str, Result], kinds: Sequence[str]) -> Iterator[str]:
    yield "### Table 3: rows at a leaf, by history, as tuned"
    yield ""
    leaves = {kind: results[f"{kind}-tune"]["leaf"] for kind in kinds}
    head = [str(name) for name in next(iter(leaves.values()))]
    rows = [
        [f"{kind} ({TABLE_3[kind]})", *(str(leaf[name]) for name in head)]
        for kind, leaf in leaves.items()
    ]
    yield from markdown(("ours (paper)", *head), rows)


def _rates(results: Mapping[str, Result], kind: str) -> Iterator[str]:
    figure = {"internal": 9, "external": 10}[kind]
    yield f"### Figure {figure}: how often a page shows new {kind} links, from static features"
    yield ""
    yield from _scores(results, kind, "rates", lambda name: RATES.get((kind, name), {}))


def _presence(results: Mapping[str, Result], kind: str) -> Iterator[str]:
    yield f"### Figure 12: whether new {kind} links come, by history"
    yield ""
    yield from _scores(
        results, kind, "presence", lambda name: BASELINE[kind] if name == "NNL-Pr" else {}
    )


def _scores(results: Mapping[str, Result], kind: str, step: str, paper: Paper) -> Iterator[str]:
    runs = [run["scores"] for run in _runs(results, kind, step)]
    metrics = list(next(iter(runs[0].values())))
    rows = []
    for name in runs[0]:
        cells = []
        for metric in metrics:
            ours = [run[name][metric] for run in runs]
            theirs = paper(name).get(metric)
            cells.append(_cell(ours, theirs))
        rows.append([name, *cells])
    yield from markdown(("features" if step == "rates" else "history", *metrics), rows)


def _cell(ours: Sequence[float], theirs: float | None = None) -> str:
    text = f"{np.mean(ours):.3f} ± {np.std(ours):.3f}"
    return text if theirs is None else f"{text} ({theirs:g})"


def _importances(results: Mapping[str, Result], kind: str) -> Iterator[str]:
    yield f"### Figures 11 and 13: features that matter most, {kind} links"
    yield ""
    columns = []
    for what in ("rate", "presence"):
        named = results[f"{kind}-importances"][what].items()
        best = sorted(named, key=lambda pair: -pair[1][1])[:N_IMPORTANCES]
        columns.append([f"{name} ({family}) {value:.3f}" for name, (family, value) in best])
    head = ("", "how often new links come, static", "whether they come now, all features")
    rows = [[str(i + 1), *pair] for i, pair in enumerate(zip(*columns, strict=True))]
    yield from markdown(head, rows)


def _spearman(results: Mapping[str, Result], kind: str) -> Iterator[str]:
    yield f"### Figure 14: Spearman's ρ of rankings, new {kind} links"
    yield ""
    runs = [run["spearman"] for run in _runs(results, kind, "rankings")]
    rows = [
        [
            name,
            *(
                _cell([run[truth][name] for run in runs], SPEARMAN.get((kind, truth, name)))
                for truth in runs[0]
            ),
        ]
        for name in runs[0]["NNL"]
    ]
    yield from markdown(("ranked by", *runs[0]), rows)


def _areas(results: Mapping[str, Result], kind: str) -> Iterator[str]:
    yield f"### Figure 15: area under Precision@k%, number of new {kind} links"
    yield ""
    runs = _runs(results, kind, "rankings")
    rows = [
        [
            name,
            _cell([run["area"][name] for run in runs]),
            _cell([run["area"][name] / run["ceiling"] for run in runs]),
        ]
        for name in runs[0]["area"]
    ]
    yield from markdown(("ranked by", "area", "of the ceiling"), rows)
    limit = np.mean([run["ceiling"] for run in runs])
    yield ""
    yield f"The ceiling, {limit:.3f}, is the area of the truth itself with ties broken at random."
