"""Writes docs/papers/santos.md: the thesis's experiment, and evolution on real traces.

Run `python -m recrawl.papers.santos.page` in a checkout. Finished runs are kept in the folder
`santos`, so a second run continues the first.
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from textwrap import fill
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.evolve.fitness import Fitness
from recrawl.evolve.formula_file import Formula, save_formula
from recrawl.evolve.generations import evolve
from recrawl.evolve.presets import PRESETS, Preset
from recrawl.evolve.selection import select_tree, validate
from recrawl.evolve.simulator import Simulator
from recrawl.evolve.text import write
from recrawl.lab.changes import changes_of
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.metrics import daily, starved, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace
from recrawl.model import DAY, Budget
from recrawl.papers.santos.experiment import WORKERS, ThesisProtocol, changes_from, santos
from recrawl.papers.santos.figures import figures
from recrawl.papers.santos.tables import BEST, TABLE_43, same_choices, significant_days, tables
from recrawl.planner.plan import fetches
from recrawl.units import count

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.papers.santos.experiment import ThesisResults

CLASSIC = ["oldest", "random", "poisson", "freshness", "age", "cho", "tx"]
CLASSIC += ["nad-text", "sad-text", "aad-text", "gad-text"]
BUDGET = Budget(share=0.02)
TERMINALS = ("n", "X", "t", "rate")
WAYS = ("simple", "best")  #: to select among the evolved functions
THESIS = ThesisProtocol()
BREEDING = replace(PRESETS["modern"], individuals=200, generations=25, patience=8)
STARVING = 0.9  #: share of pages unvisited that the text calls "nearly all"


@dataclass(frozen=True)
class PageSetup:
    """What the page is made of, and where its files are."""

    source: str = "brdc"
    protocol: ThesisProtocol = THESIS
    breeding: Preset = BREEDING
    traces: Path = Path("..", "shared") / "traces"
    kept: Path = Path("santos")
    docs: Path = Path("docs", "papers")  #: of a checkout, in whose root this runs


HEAD = """# GP4C: evolving a score function

Made by `make papers`. Santos (MSc thesis, UFMG 2013) bred score functions of n
(visits), X (changes seen) and t (days since the last visit) by genetic programming, on 417,048
pages of the Brazilian web watched for 57 days, and found them better than the classic ones.

## The thesis's experiment

Its pages are not available. We use the world `brdc`, which resembles them but is not the same: 5 %
of its pages change nearly daily, just what the budget can fetch. So only the order of the methods
can be compared.
`recrawl paper santos brdc` runs all of it: 5 folds, 5 seeds, 300 trees, 50 generations, with the
preset `thesis`. NAD, SAD, AAD and GAD are as the text of the thesis defines them, over the visits
of a page; those with *(code)* are as the program behind the thesis computes them, over all cycles.
NAD (code) ranks like t · X.

"""

FIGURES = """### Figures 4.1 and 4.2: change ratio by day, mean over folds

![Figure 4.1: the three selections](santos-figure-4.1.svg)

![Figure 4.2: the best function and the baselines of the text](santos-figure-4.2.svg)

![Figure 4.2 with the baselines of the program](santos-figure-4.2-code.svg)

"""

NOTES = """- When few pages are left whose last visit showed a change, SAD follows the order of
  ties, which here is the same every day. The thesis does not say how it breaks ties.
- Seconds are from another machine than the thesis's, with two runs at a time. Pages with the same
  past share a score, and trees that rank a thousand probe states alike are simulated once: hence
  fewer simulations than the 76,750 trees of a seed. Reported functions are simulated themselves.
- The training numbers of the thesis differ in every fold. The blocks of its published program would
  train folds 1 to 3 on the same pages; ours wrap around, so that each fold trains on other pages.
"""

REMARKS = """The rule *simple* was made after the second half of cloudflare_docs had shown that the
best of the first half need not be the best later. The table shows both, so that readers can judge.
`--explore` would prevent starving with any function; it was not used here.
"""


def findings(results: ThesisResults) -> list[str]:
    """What the tables show, in sentences that are computed from them."""
    mean = {name: float(ratios.mean()) for name, ratios in results.by_fold.items()}
    classic = [name for name in mean if name not in results.chosen]
    rival = max(classic, key=lambda name: mean[name])
    better, worse = significant_days(results.daily[BEST], results.daily[rival])
    days, folds = results.daily[BEST].shape[1], len(results.chosen[BEST])
    ahead = "In the thesis, too, GP4C" if mean[BEST] > mean[rival] else "In the thesis GP4C"
    with_n = sum("n" in tree.expression.used() for tree in results.chosen[BEST])
    lines = [
        f"- GP4C best finds {mean[BEST]:.4f}, the best baseline, {rival}, {mean[rival]:.4f}. "
        f"It is surely better than this one on {len(better)} of {days} days, and surely worse on "
        f"{len(worse)}. {ahead} is ahead, by {TABLE_43[BEST] - TABLE_43['NAD']:.4f} of NAD.",
        f"- n occurs in {with_n} of our {folds} functions. The thesis saw little use for it.",
        f"- SAD finds {mean['SAD']:.2f}, in the program's reading {mean['SAD (code)']:.2f}, in the "
        f"thesis {TABLE_43['SAD']:.2f}.",
    ]
    lines += [
        f"- {name} chooses the function of Best in {same_choices(results, name)} of {folds} folds "
        f"and finds {mean[name] - mean[BEST]:+.4f}."
        for name in results.chosen
        if name != BEST
    ]
    return [_wrapped(line) for line in lines]


def _wrapped(line: str) -> str:
    return fill(line, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


@dataclass(frozen=True)
class HalfTraceResult:
    """Formulas bred on the first half of a trace, and every policy on the second half."""

    trace: str
    pages: int
    formulas: dict[str, str]  #: evolved ones, by how they were selected
    ratio: dict[str, float]  #: change ratio by policy, or by how an evolved one was selected
    starved: dict[str, float]  #: share of pages not visited in the later half of the cycles


def halves(trace: Trace) -> tuple[Trace, Trace]:
    """The trace before and after a midnight in the middle of its window."""
    begin, end = trace.window
    middle = begin + round((end - begin) / 2 / DAY) * DAY
    return replace(trace, window=(begin, middle)), replace(trace, window=(middle, end))


def try_trace(_: None, path: Path, kept: Path, breeding: Preset) -> dict[str, Any]:
    """Breed on the first half of a trace; replay all policies on the second half."""
    first, second = halves(open_trace(path))
    world = Simulator(changes_of(first), fetches(BUDGET, len(first)))
    trees = evolve(world, TERMINALS, [Fitness()], breeding, seed=1).kept
    candidates = validate(trees, replace(world, seed=1), Fitness())
    policies, formulas = {name: name for name in CLASSIC}, {}
    for way in WAYS:
        chosen = select_tree(candidates, way).expression
        policies[way], formulas[way] = str(kept / f"{path.name}-{way}-policy.json"), write(chosen)
        save_formula(Formula(chosen), policies[way])
    ratio, unseen = {}, {}
    for name, policy in policies.items():
        cycles = replay(second, policy, BUDGET)
        ratio[name] = summary(daily(second, cycles))["change_ratio"]
        unseen[name] = len(starved(second, cycles)) / len(second)
    return asdict(HalfTraceResult(path.name, len(first), formulas, ratio, unseen))


def report(results: list[HalfTraceResult], breeding: Preset) -> list[str]:
    lines = [
        f"Bred on the first half of the window (preset `modern` with {breeding.individuals} trees",
        f"and {breeding.generations} generations, one seed, terminals {', '.join(TERMINALS)}),",
        "replayed on the second; 2 % of the pages a day. *Simple*: the shortest function no worse",
        "than the best by more than a standard error on the first half; *best*: the best there.",
        "Change ratio; in brackets the share of pages not visited in the later half of the cycles.",
        "",
        "| trace | simple | best | best classic | t · X | simple function |",
        "|---|---|---|---|---|---|",
    ]
    for each in results:
        name = best_classic(each)
        cells = [_cell(each, way) for way in WAYS]
        cells += [
            f"{_cell(each, name)} `{name}`",
            _cell(each, "tx"),
            f"`{each.formulas['simple']}`",
        ]
        lines.append(f"| {each.trace} | {' | '.join(cells)} |")
    remarks = [*(_count(results, way) for way in WAYS), *_remarks(results)]
    return [*lines, "", *map(_wrapped, remarks), "", REMARKS]


def _remarks(results: list[HalfTraceResult]) -> list[str]:
    """Sentences on functions that were known before, and on pages that are never visited."""
    known = [each.trace for each in results if each.formulas["simple"] in ("t * rate", "rate * t")]
    starving = [each.trace for each in results if each.starved["tx"] >= STARVING]
    return [
        f"- On {len(known)} of {len(results)} traces *simple* is `t * rate`, the policy `poisson`, "
        "which is in the preset's first generation: no bred function was surely better on the "
        "first half.",
        "- t · X, like every function that is 0 until a change was seen, leaves at least "
        f"{STARVING:.0%} of the pages unvisited on {len(starving)} of {len(results)} traces: see "
        "the brackets.",
    ]


def best_classic(each: HalfTraceResult) -> str:
    """The classic policy that found the most changes."""
    return max(CLASSIC, key=lambda policy: each.ratio[policy])


def _count(results: list[HalfTraceResult], way: str) -> str:
    gaps = {each.trace: each.ratio[way] - each.ratio[best_classic(each)] for each in results}
    more = [trace for trace, gap in gaps.items() if gap > 0]
    fewer = [f"{trace} ({gap:+.4f})" for trace, gap in gaps.items() if gap < 0]
    equal = len(gaps) - len(more) - len(fewer)
    return (
        f"- *{way.capitalize()}* finds more than every classic policy on "
        f"{', '.join(more) or 'none'}; as much as the best of them on {count(equal, 'trace')}; "
        f"less on {', '.join(fewer) or 'none'}."
    )


def _cell(each: HalfTraceResult, name: str) -> str:
    return f"{each.ratio[name]:.4f} ({each.starved[name]:.0%})"


def _task(path: Path, setup: PageSetup) -> ExperimentTask:
    versions = np.fromfile(path / "versions.parquet", np.uint8)
    settings = digest(versions, CLASSIC, BUDGET, TERMINALS, WAYS, setup.breeding)
    return ExperimentTask(path.name, settings, try_trace, (path, setup.kept, setup.breeding))


def main(setup: PageSetup = PageSetup()) -> None:  # frozen
    paths = sorted(path.parent for path in setup.traces.glob("*/versions.parquet"))
    if not paths:
        sys.exit(f"No traces in {setup.traces}; docs/papers/santos.md stays as it is.")
    changes = changes_from(setup.source)
    thesis = santos(changes, setup.kept, setup.protocol, clock=perf_counter, progress=_tell)
    tasks = [_task(path, setup) for path in paths]
    kept = run_experiment(tasks, setup.kept, processes=WORKERS, progress=_tell)
    results = [HalfTraceResult(**result) for result in kept.values()]
    figures(thesis, setup.docs)
    lines = [*findings(thesis), NOTES, "## Real traces", "", *report(results, setup.breeding)]
    text = HEAD + tables(thesis) + "\n" + FIGURES + "## What to make of it\n\n" + "\n".join(lines)
    (setup.docs / "santos.md").write_text(text)


def _tell(done: int, of: int, news: str) -> None:
    print(f"{done} of {of}  {news}", file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
