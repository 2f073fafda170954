"""What to make of the study: which of the paper's claims hold here, said with our numbers."""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.papers.dang.models import Split
from recrawl.papers.dang.tables import most_important

if TYPE_CHECKING:
    from recrawl.papers.dang.tables import ModeResults

#: The forests that the paper trains with all features and with LBLA's, and the truth of each.
FORESTS: Final = {"LCR-ET": "LCR", "NL-ET": "NL", "NNL-ET": "NNL"}
BASELINES: Final = ("NNL-Av", "NNL-Pr", "CCR")


def verdict(strict: ModeResults, paper: ModeResults) -> str:
    """A list of findings as Markdown."""
    points = [
        _lbla(strict),
        *(_counting(strict, kind) for kind in strict.kinds),
        *(_history(strict, kind) for kind in strict.kinds),
        _content(strict),
        _leak(strict, paper),
        _events(strict),
    ]
    lines = [fill(point, 100, initial_indent="- ", subsequent_indent="  ") for point in points]
    return "\n".join(["## What to make of it", "", *lines]) + "\n"


def _lbla(outcome: ModeResults) -> str:
    """Does LBLA do as well alone as with all the features?"""
    pairs = [
        (kind, truth, rho(outcome, kind, truth, f"{name}_LBLA"), rho(outcome, kind, truth, name))
        for kind in outcome.kinds
        for name, truth in FORESTS.items()
    ]
    won = sum(alone >= both for *_, alone, both in pairs)
    rhos = "; ".join(f"{kind} {t} {a:.2f} against {b:.2f}" for kind, t, a, b in pairs)
    shares = ", ".join(
        f"{kind} {share(outcome, kind, 'NNL-ET_LBLA'):.1%} against "
        f"{share(outcome, kind, 'NNL-ET'):.1%}"
        for kind in outcome.kinds
    )
    return (
        f"**LBLA alone against all features: ahead in {won} of {len(pairs)}.** The paper finds it "
        "ahead or equal for each target. Spearman's ρ of a forest with LBLA alone against one with "
        f"all features: {rhos}. Of the ceiling of Precision@k%, forests for NNL: {shares}."
    )


def _counting(outcome: ModeResults, kind: str) -> str:
    """Does learning beat counting?"""
    names = list(outcome.runs(kind, "rankings")[0]["area"])
    rivals = [
        [name for name in names if name not in BASELINES],
        [name for name in names if name in BASELINES],
    ]
    areas = [max((share(outcome, kind, name), name) for name in each) for each in rivals]
    rhos = [max((rho(outcome, kind, "NNL", name), name) for name in each) for each in rivals]
    is_ahead = areas[0][0] >= areas[1][0]
    still = 1.0 - float((outcome.study.count[kind] > 0).mean())
    return (
        f"**New {kind} links: the best learned ranking is "
        f"{'ahead of' if is_ahead else 'behind'} the best baseline** under the curve of "
        f"Precision@k%: {' against '.join(f'{name} {value:.1%}' for value, name in areas)} of the "
        "ceiling. By ρ with NNL: "
        f"{' against '.join(f'{name} {value:.2f}' for value, name in rhos)}; {still:.1%} of the "
        "pages tie at no new link, so ρ favours a forecast with as many ties, and the area says "
        "more about a crawl."
    )


def _history(outcome: ModeResults, kind: str) -> str:
    """Does more history help, by more than splits differ?"""
    runs = [run["scores"] for run in outcome.runs(kind, "presence")]
    full = str(len(runs[0]) - 2)  # but for the baseline and no history

    def mean(name: str, metric: str = "accuracy (b)") -> float:
        return float(np.mean([run[name][metric] for run in runs]))

    gains = [run[full]["accuracy (b)"] - run["0"]["accuracy (b)"] for run in runs]
    surely = np.mean(gains) > (np.std(gains, ddof=1) if len(gains) > 1 else 0.0)
    shown = dict.fromkeys(["0", str(min(1, int(full))), full])
    steps = ", ".join(f"{mean(history):.2f} with {history}" for history in shown)
    return (
        f"**More history {'helps' if surely else 'does not surely help'} to say whether "
        f"new {kind} links come**: balanced accuracy {steps} intervals, and {mean('NNL-Pr'):.2f} "
        "of the class of the interval before (NNL-Pr). The paper finds the largest step from 0 to "
        f"1. Class weights buy recall: precision is {mean(full, 'precision'):.2f} at a recall of "
        f"{mean(full, 'recall'):.2f}, where NNL-Pr has {mean('NNL-Pr', 'precision'):.2f} at "
        f"{mean('NNL-Pr', 'recall'):.2f}."
    )


def _content(outcome: ModeResults) -> str:
    """Does a change of the text tell of new links?"""
    rhos = " and ".join(f"{kind} {rho(outcome, kind, 'LCR', 'CCR'):.2f}" for kind in outcome.kinds)
    return (
        "**How often the text changes (CCR)** ranks pages by how often new links come with a ρ of "
        f"{rhos}. The paper finds content change a poor predictor. Our pages are lists of links."
    )


def _leak(strict: ModeResults, paper: ModeResults) -> str:
    """What does it add to see the target?"""
    added = []
    for kind in strict.kinds:
        names = [n for n in strict.runs(kind, "rankings")[0]["area"] if n not in BASELINES]
        for truth in ("LCR", "NNL"):
            gains = [(rho(paper, kind, truth, n) - rho(strict, kind, truth, n), n) for n in names]
            most, name = max(gains)
            mean = float(np.mean([gain for gain, _ in gains]))
            added.append(f"{kind} {truth} {mean:+.2f} (most: {name} {most:+.2f})")
    first = "; ".join(
        f"{kind} {most_important(strict, kind, 'presence')[0][0]} (strict) and "
        f"{most_important(paper, kind, 'presence')[0][0]} (paper mode)"
        for kind in strict.kinds
    )
    return (
        "**What the leak of the paper's protocol adds** to ρ, mean over the learned rankings: "
        f"{'; '.join(added)}. There change rates of related pages count the target interval, "
        "and static features are of its end. The most important feature for whether links come, in "
        f"the paper the change rate of related pages, is here: {first}."
    )


def _events(outcome: ModeResults) -> str:
    """How much do these numbers bear?"""
    test = Split.of(len(outcome.study), 0).test
    came = " and ".join(
        f"{int((outcome.study.count[kind][test] > 0).sum())} with new {kind} links"
        for kind in outcome.kinds
    )
    return (
        f"**Few events.** The {len(test):,} test pages of the first split have {came}; those of "
        "the paper have some 27,000 and 7,300. Differences of the size of the ± are noise. Which "
        "policy finds most new links in a crawl is measured by replays, on the page of "
        "[results](../results.md)."
    )


def rho(outcome: ModeResults, kind: str, truth: str, name: str) -> float:
    """Spearman's ρ of a ranking, the mean over repetitions."""
    return float(np.mean([r["spearman"][truth][name] for r in outcome.runs(kind, "rankings")]))


def share(outcome: ModeResults, kind: str, name: str) -> float:
    """The area of a ranking as a share of the ceiling, the mean over repetitions."""
    runs = outcome.runs(kind, "rankings")
    return float(np.mean([run["area"][name] / run["ceiling"] for run in runs]))
