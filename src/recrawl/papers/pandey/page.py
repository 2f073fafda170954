"""Writes docs/papers/pandey.md: user-centric crawling on real traces and queries.

Run `python -m recrawl.papers.pandey.page` in a checkout. Finished runs are kept in the folder
`pandey`, so a second run continues the first.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl.lab.traces import open_trace
from recrawl.model import DAY
from recrawl.papers.pandey.data import prepare_study, title_workload
from recrawl.papers.pandey.experiment import needed, pandey
from recrawl.papers.pandey.figures import figures, overhead, write_figure
from recrawl.papers.pandey.overhead import batch_costs
from recrawl.papers.pandey.tables import overhead_table, recency_table, tables
from recrawl.search.queries import read_workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.lab.trace import Trace
    from recrawl.papers.pandey.data import SearchStudy
    from recrawl.papers.pandey.experiment import RefreshRun

HERE = Path("docs", "papers")  #: of a checkout, in whose root this runs
RESULTS = Path("pandey")
SHARED = Path("..", "shared")
QUERIES = SHARED / "queries" / "queries_terabyte05_efficiency.tsv"
TRACES = ("cloudflare_docs", "k8s", "ota_contrib", "mdn")
KINDS = ("general", "titles")
DRAWN = ("cloudflare_docs", "k8s")  #: traces with figures
INDEXED = "k8s"  #: the trace of Figure 2
#: Past refreshes that count in the paper's mean gain.
RECENCIES: dict[str, dict[str, Any]] = {
    "all past refreshes": {},
    "the last 4": {"window": 4},
    "the last 8": {"window": 8},
    "half-life of 2": {"half_life": 2.0},
    "half-life of 4": {"half_life": 4.0},
}
MAX_QUERIES = 10_000
MAX_SMALL_BUDGET = 0.04  #: largest budget in the findings on the split
MAX_BEHIND = 0.02  #: parts of the way by which what ships may be behind staleness

TITLE = """# User-centric crawling

"""

HEAD = """Made by `make papers`. Pandey & Olston (WWW 2005) refresh the pages whose staleness
distorts what people find. They compare this with refreshing for the fewest stale pages (SBR, Cho &
Garcia-Molina) and for the fewest embarrassing clicks (EBR, Wolf et al.), on 48 weeks of 15 sites
and queries of AltaVista. They find that it needs far fewer refreshes. They print no numbers, only
curves.

We use other data: four traces with weekly crawls, a general workload (the efficiency queries of the
TREC Terabyte track, those that find any page) and a workload made of the pages' titles.
`recrawl paper pandey TRACE --queries FILE` runs one of them. On two traces we also score answers by
the number of pages that link to a page, and keep only pages that change at least once, as the
paper's set of 15 sites does (`--scoring inlinks`, `--changed`). Quality is Q of their Eq. 5, exact:
many-word queries, ranked by our copies, valued by the live ones. Never refreshing already gives
most of it, so the tables show the *way*: 0 is never refreshing, 1 is always fresh.

*In-sample* is the paper's protocol: what policies know of the pages is fitted on the weeks that are
tested. In the *split* the first half of the weeks fits; the second half starts fresh and tests. For
staleness and embarrassment we take the best threshold τ of 0.1 … 1.0 for each budget after the
fact, as the paper does, which favours them; it is in brackets.

The policies, in the order of the tables:

- **user-centric, as it ships**: `--policy user-centric:queries=FILE`, the same code, fed only with
  copies that it fetched. It visits every page in each week of the first half, and goes on learning
  from what it fetches in the second. Its index is the gain of a change, shrunk towards the mean
  share of the page's visibility, × the freshness index. Frozen, it learns nothing in the weeks that
  are tested, as the rivals do.
- **the paper's**: mean gain a day × age, with gains by the paper's own estimate (§5): single words,
  and scores that fall evenly within a piece of a curve.
- **upper bounds: these know more than a crawl can**. Our index and the paper's priority with exact
  gains, computed from all live pages of every week.
- staleness and embarrassment with the best τ, and the oldest copy first.

How far to trust it: what ships was chosen after seeing the split of all four traces, so its numbers
are optimistic. Tried with exact gains, and dropped: shrinking towards the whole visibility with a
weight of two changes, as before (18 of 20 cells below; 13 with the single words that shipped then);
visibility to the power 0.5, 0.7 or fitted to the gains (12 to 15 cells); the mean gain of tenths of
pages by visibility (15); weights of 2 and of infinitely many changes in place of 10 (16, 19); all
of the mean visibility added to each page's in place of a tenth (16). That tenth is there for pages
that no query finds yet: without it they would never be visited.

A single page may hold most of the gain in the split. If even oldest-first does well at one budget
and badly at a larger one, as on the titles of k8s and mdn, that is luck. On the titles of mdn two
pages hold half of the gain of the second half; they had not changed before, and few view them. The
rivals' rates are Cho & Garcia-Molina's estimates. With rates smoothed as by our default, staleness
is weaker in-sample. At τ = 1 staleness sees no change at all and visits the pages in turn.

"""

FOOTNOTE = """## Which past refreshes count

The paper's footnote 4 leaves to later work whether the mean gain should favour recent refreshes of
a page. Here only its last refreshes count, or older ones count less, in the paper's priority with
its own estimate of gains (`recrawl paper pandey --window 4`, `--half-life 4`).

"""


def verdict(runs_by_title: dict[str, list[RefreshRun]]) -> str:
    """Markdown: what ships against staleness in the split, the first thing to know."""

    def lead(policy: str, traces: tuple[str, ...]) -> dict[tuple[str, float], float]:
        """How far a policy is ahead of staleness, by workload and budget, in parts of the way."""
        titles = [f"{name}, {kind} queries" for name in traces for kind in KINDS]
        ways = {
            (title, run.policy, run.share): run.way
            for title in titles
            for run in runs_by_title.get(title, [])
            if run.mode == "split"
        }
        return {
            (title, share): way - ways[title, "staleness", share]
            for (title, which, share), way in ways.items()
            if which == policy
        }

    small = {
        policy: [
            ahead >= 0 for (_, s), ahead in lead(policy, DRAWN).items() if s <= MAX_SMALL_BUDGET
        ]
        for policy in ("user-centric", "user-centric frozen", "index exact", "raw")
    }
    won = {policy: f"{sum(cells)} of {len(cells)}" for policy, cells in small.items()}
    others = tuple(name for name in TRACES if name not in DRAWN)
    behind = {cell: -ahead for cell, ahead in lead("user-centric", others).items()}
    lost = [cell for cell, by in behind.items() if by > MAX_BEHIND]
    text = (
        f"**In short.** In the split, at budgets up to {MAX_SMALL_BUDGET:.0%}, the policy that "
        f"ships is at least as good as best-τ staleness in {won['user-centric']} cells of "
        f"{' and '.join(DRAWN)}; {won['user-centric frozen']} if it learns nothing while tested, "
        f"{won['index exact']} with exact gains, {won['raw']} for the paper's priority. "
    )
    if not behind:
        return f"{text}\n\n"
    (title, share), most = max(behind.items(), key=lambda item: item[1])
    where = sorted({cell[0] for cell in lost})
    return (
        f"{text}On {' and '.join(others)} it is behind by more than {MAX_BEHIND} of the way in "
        f"{len(lost)} of {len(behind)} cells (all budgets)"
        + (f": {'; '.join(where)}. " if where else ". ")
        + f"At worst it is {most:.3f} behind ({title}, {share:.2%}).\n\n"
    )


def findings(runs_by_title: dict[str, list[RefreshRun]]) -> str:
    """Markdown: how the paper's claims fared, one line for each trace and workload."""
    lines = ["## Findings", ""]
    for name, runs in runs_by_title.items():
        best = {(r.mode, r.policy, r.share): r.quality for r in runs}
        shares = sorted({r.share for r in runs})
        ratios = [
            needed(runs, "in-sample", "staleness", level) / needed(runs, "in-sample", "raw", level)
            for level in (0.95, 0.97, 0.99)
        ]
        less = sum(best["in-sample", "raw", s] < best["in-sample", "staleness", s] for s in shares)
        small = [s for s in shares if s <= MAX_SMALL_BUDGET]
        won = sum(best["split", "user-centric", s] >= best["split", "staleness", s] for s in small)
        half = needed(runs, "split", "staleness", 0.5) / needed(runs, "split", "user-centric", 0.5)
        raw = needed(runs, "split", "staleness", 0.5) / needed(runs, "split", "raw", 0.5)
        other = "cannot be said" if raw != raw else f"needs {raw:.2f} times the refreshes"
        times = " / ".join(_times(ratio) for ratio in ratios)
        lines.append(
            f"- **{name}**: in-sample staleness needs {times} "
            "times the refreshes of the paper's priority for 95 / 97 / 99 % of the way, and is "
            f"better at {less} of {len(shares)} budgets. In the split what ships is at least as "
            f"good at {won} of {len(small)} budgets up to {MAX_SMALL_BUDGET:.0%}, and staleness "
            f"needs {_times(half)} times its refreshes for half the way; of the paper's priority "
            f"it {other}."
        )
    return "\n".join([*lines, "", ""])


def _times(ratio: float) -> str:
    """A ratio of refreshes; a dash if one of the two never gets there."""
    return "–" if ratio != ratio else f"{ratio:.1f}"


@dataclass(frozen=True)
class Setting:
    """A trace and a workload, how answers are scored, and which pages count."""

    trace: str
    kind: str = "general"
    by: str = "tfidf"
    changed: bool = False  #: only pages that change at least once

    @property
    def title(self) -> str:
        scores = "" if self.by == "tfidf" else f", scored by {self.by}"
        return f"{self.trace}, {self.kind} queries{scores}" + ", pages that change" * self.changed

    @property
    def file(self) -> str:
        scores = "" if self.by == "tfidf" else f"-{self.by}"
        return f"pandey-{self.trace}-{self.kind}{scores}" + "-changed" * self.changed

    def study(self, trace: Trace) -> SearchStudy:
        workload = title_workload(trace) if self.kind == "titles" else read_workload(QUERIES)
        return prepare_study(
            trace, workload, every=7 * DAY, by=self.by, most=MAX_QUERIES, changed=self.changed
        )


def settings(name: str) -> Iterator[Setting]:
    """What is studied of a trace; of those with figures also the paper's other three graphs."""
    for kind in KINDS:
        yield Setting(name, kind)
    if name in DRAWN:
        yield Setting(name, by="inlinks")
        yield Setting(name, changed=True)
        yield Setting(name, by="inlinks", changed=True)


def recency(setting: Setting, study: SearchStudy) -> str:
    """Markdown: the paper's priority in the split, by which past refreshes count."""
    runs = {
        label: pandey(study, RESULTS, modes=("split",), policies=("raw",), **counted)
        for label, counted in RECENCIES.items()
    }
    return recency_table(setting.title, runs)


def overheads(trace: Trace) -> str:
    """Markdown: Figure 2."""
    costs = batch_costs(trace, read_workload(QUERIES), RESULTS)
    drawn = write_figure(HERE / "pandey-figure-2.svg", overhead("pandey", costs))
    return (
        "## Figure 2: what measuring costs\n\n"
        f"Seconds to index a batch of copies of {trace.name}, without and with measuring what each "
        "gains; one batch in two also fits the curves again. The two take turns in one run. "
        "Measuring runs beside the thread that writes the index, so elapsed time hides part of it "
        "on two processors; the paper reports 7 to 8 % of the running time.\n\n"
        f"{overhead_table(costs)}\n![figure 2]({drawn.name})\n\n"
    )


def main() -> None:
    if not QUERIES.exists():
        sys.exit(f"No queries in {SHARED}; docs/papers/pandey.md stays as it is.")
    runs_by_title: dict[str, list[RefreshRun]] = {}
    results, recencies, costs = [], [], ""
    for name in TRACES:
        trace = open_trace(SHARED / "traces" / name)
        for setting in settings(name):
            study = setting.study(trace)
            runs = runs_by_title[setting.title] = pandey(study, RESULTS)
            results.append(tables(setting.title, study, runs))
            if name in DRAWN:
                drawn = figures(setting.file, study, runs, HERE)
                results += [f"![{file.stem}]({file.name})\n" for file in drawn]
            if setting in (Setting(drawn) for drawn in DRAWN):
                recencies.append(recency(setting, study))
        if name == INDEXED:
            costs = overheads(trace)
    text = (
        TITLE
        + verdict(runs_by_title)
        + HEAD
        + findings(runs_by_title)
        + costs
        + FOOTNOTE
        + "\n".join(recencies)
    )
    (HERE / "pandey.md").write_text(f"{text}\n## Results\n\n" + "\n".join(results))


if __name__ == "__main__":
    main()
