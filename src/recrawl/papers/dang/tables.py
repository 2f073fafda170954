"""The numbers of Tables 2 and 3 and of Figures 8 to 15 as Markdown, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.lab.markdown import markdown
from recrawl.papers.dang.experiment import KINDS, REPETITIONS
from recrawl.papers.dang.figures import correlations
from recrawl.papers.dang.models import Split
from recrawl.papers.dang.tuning import MAX_TREE_ROWS

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
#: Table 3: rows at a leaf, the same for any history, and trees by history.
TABLE_3: Final = {
    "internal": (2, (300, 500, 400, 500, 500, 300, 400, 500, 400)),
    "external": (10, (300, 300, 400, 200, 300, 400, 500, 400, 500)),
}
#: Figure 8, as far as the text gives its numbers.
CORRELATIONS: Final = {
    ("text_size", "content_size"): 0.67,
    ("content_size", "internal_links"): 0.63,
    ("rank", "trust"): 0.79,
    ("rank", "internal_in_links"): 0.64,
    ("trust", "internal_in_links"): 0.57,
    ("text_quality", "related_text_quality"): 0.79,
}
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


@dataclass(frozen=True)
class ModeResults:
    """A study in one mode, strict or the paper's, and what came of it."""

    study: Study
    results: Mapping[str, Result]

    @property
    def mode(self) -> str:
        return "strict" if self.study.snapshot.strict else "paper mode"

    @property
    def kinds(self) -> list[str]:
        """The kinds of links that were predicted."""
        return [kind for kind in KINDS if f"{kind}-rates-0" in self.results]

    def runs(self, kind: str, step: str) -> list[Result]:
        """The results of a step, one for each repetition."""
        return [self.results[f"{kind}-{step}-{seed}"] for seed in range(REPETITIONS)]


def tables(outcomes: Sequence[ModeResults]) -> str:
    """All of them, as Markdown; ours, and in brackets the paper's where it gives a number.

    With two modes, each has its column; the paper's number is in that of the paper's mode.
    """
    study, kinds = outcomes[0].study, outcomes[0].kinds
    lines = [*_new_links(study), *_forests(study), "", *_forest_settings(outcomes, kinds)]
    lines += ["", *_other_settings(outcomes[0], kinds), "", *_correlations(study)]
    for kind in kinds:
        for section in (_rates, _presence, _importances, _spearman, _areas):
            lines += ["", *section(outcomes, kind)]
    for kind in (kind for kind in KINDS if kind not in kinds):
        lines += ["", f"New {kind} links: too few pages show any, or none, to learn and test on."]
    return "\n".join(lines) + "\n"


def _new_links(study: Study) -> Iterator[str]:
    yield "### Table 2: new links of an interval, mean ± standard deviation"
    yield ""
    rows = []
    both = zip(study.snapshot.intervals, TABLE_2, strict=False)  # ours may be fewer
    for number, (interval, theirs) in enumerate(both, 1):
        ours = (interval.new, interval.new_internal, interval.new_external)
        cells = [
            f"{new.mean():.2f} ± {new.std():.1f} ({mean} ± {spread})"
            for new, (mean, spread) in zip(ours, theirs, strict=True)
        ]
        rows.append([str(number), *cells])
    yield from markdown(("interval", "all, ours (paper)", "internal", "external"), rows)
    shares = [f"{(study.count[kind] > 0).mean():.1%} {kind}" for kind in KINDS]
    yield ""
    yield f"{len(study):,} pages; with new links in the last interval: {', '.join(shares)}"
    yield "(the paper: 384,323 pages; 28.0 % internal, 7.6 % external)."


def _forests(study: Study) -> Iterator[str]:
    """How a forest differs from the paper's, if it does."""
    rows = len(Split.of(len(study), 0).train)
    if rows > MAX_TREE_ROWS:
        yield ""
        yield f"Forests are smaller than the paper's: each tree draws {MAX_TREE_ROWS:,} of the"
        yield f"{rows:,} rows for training and a third of the features for each split, and has at"
        yield "least 5 rows at a leaf. All else would need tens of gigabytes."


def _forest_settings(outcomes: Sequence[ModeResults], kinds: Sequence[str]) -> Iterator[str]:
    yield "### Table 3: rows at a leaf / trees of the forests of Figure 12, by history, as tuned"
    yield ""
    head = list(outcomes[0].runs(kinds[0], "presence")[0]["settings"])
    rows = []
    for kind in kinds:
        leaf, trees = TABLE_3[kind]
        rows.append([f"{kind}, the paper", *(f"{leaf} / {trees[int(h)]}" for h in head)])
        for outcome in outcomes:
            for seed, run in enumerate(outcome.runs(kind, "presence")):
                cells = [_leaf_and_trees(run["settings"][history]) for history in head]
                rows.append([f"{kind}, {outcome.mode}, split {seed + 1}", *cells])
    yield from markdown(("history", *head), rows)


def _leaf_and_trees(settings: Mapping[str, Any]) -> str:
    return f"{settings['min_samples_leaf']} / {settings['n_estimators']}"


def _other_settings(outcome: ModeResults, kinds: Sequence[str]) -> Iterator[str]:
    yield f"Other settings as tuned, {outcome.mode}: forests as above; boosting as learning rate /"
    yield "rows at a leaf / steps (the paper: 0.04 / 25 / 500)."
    yield ""
    rows = []
    for kind in kinds:
        boosts = [run["settings"] for run in outcome.runs(kind, "rates")]
        names = ("learning_rate", "min_samples_leaf", "max_iter")
        cells = [" / ".join(str(each[name]) for name in names) for each in boosts]
        rows.append([f"boosting, Figures 9 to 11, {kind}", *cells])
        forests = [run["settings"] for run in outcome.runs(kind, "rankings")]
        rows += [
            [f"{name}, {kind}", *(_leaf_and_trees(each[name]) for each in forests)]
            for name in forests[0]
        ]
    yield from markdown(("", *(f"split {seed + 1}" for seed in range(REPETITIONS))), rows)


def _correlations(study: Study) -> Iterator[str]:
    yield "### Figure 8: Spearman's ρ between static features, where the paper gives a number"
    yield ""
    names, rho = correlations(study)
    rows = [
        [f"{one}, {other}", f"{rho[names.index(one), names.index(other)]:.2f} ({theirs:g})"]
        for (one, other), theirs in CORRELATIONS.items()
    ]
    yield from markdown(("features", "ours (paper)"), rows)


def _rates(outcomes: Sequence[ModeResults], kind: str) -> Iterator[str]:
    figure = {"internal": 9, "external": 10}[kind]
    yield f"### Figure {figure}: how often a page shows new {kind} links, from static features"
    yield ""
    yield from _scores(outcomes, kind, "rates", lambda name: RATES.get((kind, name), {}))


def _presence(outcomes: Sequence[ModeResults], kind: str) -> Iterator[str]:
    yield f"### Figure 12: whether new {kind} links come, by history"
    yield ""
    yield from _scores(
        outcomes, kind, "presence", lambda name: BASELINE[kind] if name == "NNL-Pr" else {}
    )


def _scores(outcomes: Sequence[ModeResults], kind: str, step: str, paper: Paper) -> Iterator[str]:
    scores = [[run["scores"] for run in outcome.runs(kind, step)] for outcome in outcomes]
    metrics = list(next(iter(scores[0][0].values())))
    rows = [
        [
            name,
            *(
                _cell(
                    [run[name][metric] for run in runs], paper(name).get(metric) if last else None
                )
                for metric in metrics
                for last, runs in _marked(scores)
            ),
        ]
        for name in scores[0][0]
    ]
    yield from markdown(
        ("features" if step == "rates" else "history", *_head(metrics, outcomes)), rows
    )


def _marked(each: Sequence[list[Any]]) -> list[tuple[bool, list[Any]]]:
    """Each, and whether it is the last, whose cells have the paper's number."""
    return [(number == len(each) - 1, runs) for number, runs in enumerate(each)]


def _head(metrics: Sequence[str], outcomes: Sequence[ModeResults]) -> list[str]:
    """A column for each metric and mode; the mode is named if there are two."""
    if len(outcomes) == 1:
        return list(metrics)
    return [f"{metric}, {outcome.mode}" for metric in metrics for outcome in outcomes]


def _cell(ours: Sequence[float], theirs: float | None = None) -> str:
    text = f"{np.mean(ours):.3f} ± {np.std(ours):.3f}"
    return text if theirs is None else f"{text} ({theirs:g})"


def most_important(outcome: ModeResults, kind: str, step: str) -> list[tuple[str, str, float]]:
    """The features of the highest importance: name, family and importance."""
    named = outcome.runs(kind, step)[0]["importance"].items()
    best = sorted(named, key=lambda pair: -pair[1][1])[:N_IMPORTANCES]
    return [(name, family, value) for name, (family, value) in best]


def _importances(outcomes: Sequence[ModeResults], kind: str) -> Iterator[str]:
    yield f"### Figures 11 and 13: features that matter most, {kind} links, first split"
    yield ""
    columns = [
        [f"{name} ({family}) {value:.3f}" for name, family, value in most_important(o, kind, step)]
        for step in ("rates", "presence")
        for o in outcomes
    ]
    head = _head(
        ("how often new links come, static", "whether they come now, all features"), outcomes
    )
    rows = [[str(i + 1), *pair] for i, pair in enumerate(zip(*columns, strict=True))]
    yield from markdown(("", *head), rows)


def _spearman(outcomes: Sequence[ModeResults], kind: str) -> Iterator[str]:
    yield f"### Figure 14: Spearman's ρ of rankings, new {kind} links"
    yield ""
    rhos = [[run["spearman"] for run in outcome.runs(kind, "rankings")] for outcome in outcomes]
    truths = list(rhos[0][0])
    rows = [
        [
            name,
            *(
                _cell(
                    [run[truth][name] for run in runs],
                    SPEARMAN.get((kind, truth, name)) if last else None,
                )
                for truth in truths
                for last, runs in _marked(rhos)
            ),
        ]
        for name in rhos[0][0]["NNL"]
    ]
    yield from markdown(("ranked by", *_head(truths, outcomes)), rows)


def _areas(outcomes: Sequence[ModeResults], kind: str) -> Iterator[str]:
    yield f"### Figure 15: area under Precision@k%, number of new {kind} links"
    yield ""
    each = [outcome.runs(kind, "rankings") for outcome in outcomes]
    rows = [
        [
            name,
            *(_cell([run["area"][name] for run in runs]) for runs in each),
            *(_cell([run["area"][name] / run["ceiling"] for run in runs]) for runs in each),
        ]
        for name in each[0][0]["area"]
    ]
    yield from markdown(("ranked by", *_head(("area", "of the ceiling"), outcomes)), rows)
    limit = np.mean([run["ceiling"] for run in each[0]])
    yield ""
    yield f"The ceiling, {limit:.3f}, is the area of the truth itself with ties broken at random."
