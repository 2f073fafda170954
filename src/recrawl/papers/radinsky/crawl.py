"""The crawl of §8.3: how fresh do copies stay under each policy?"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

import recrawl
from recrawl.errors import BadInput
from recrawl.lab.detect import seen_by
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.lab.markdown import markdown
from recrawl.lab.replay import replay
from recrawl.lab.statistics import paired_difference
from recrawl.model import DAY, Budget
from recrawl.papers.radinsky.data import choose_targets
from recrawl.papers.radinsky.series.days import days_of, versions_by_day

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from recrawl.lab.experiment import Progress
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import BoolArray, FloatArray
    from recrawl.papers.radinsky.data import PredictionProtocol

WORKERS = 2
BUDGET_SHARE = 0.1  #: of the pages, per day
STEP = 20  #: days averaged in a cell of the table
MAX_DAYS = 180  #: the first of the trace; the paper has 160
SEEDS = 3  #: runs of each coin, averaged
LATE = 100  #: days after which 3D is above 2D in the paper
PAPER = {"1D": "coin", "2D": "coin:by=content", "3D": "coin:by=experts"}
#: The three of the paper; then ours: one SVM over weighted means of the experts; one model for all
#: pages, highest probability first; oldest first; the plain rate; the default policy.
POLICIES = (
    *PAPER.values(),
    "coin:by=mean-experts",
    "content",
    "experts",
    "oldest",
    "poisson",
    recrawl.DEFAULT_POLICY,
)


@dataclass(frozen=True)
class CrawlFreshness:
    """Results by policy; means over its runs."""

    fresh: dict[str, FloatArray]  #: share of runs in which a copy is up to date, pages × days
    change_ratio: dict[str, float]  #: share of fetches that showed a change

    def by_day(self, policy: str) -> FloatArray:
        """Share of copies that are up to date."""
        mean: FloatArray = self.fresh[policy].mean(axis=0)
        return mean

    def table(self) -> str:
        """Figure 8 as Markdown tables: freshness, and the differences of the paper's methods."""
        n_pages, days = self.fresh[PAPER["1D"]].shape
        ends = range(STEP, days + 1, max(STEP, days // 8 // STEP * STEP))
        lines = [
            f"### Figure 8: freshness by day, {BUDGET_SHARE:.0%} of the pages a day",
            "",
            f"Of {n_pages:,} pages. Means of the {STEP} days up to each day; coins are means of",
            f"{SEEDS} runs. 1D, 2D and 3D are the paper's; the others are ours. In the paper",
            "freshness is from 0.40 to 0.65; 2D is above 1D from day 50; 3D equals 2D at day 80",
            f"and is above it from day {LATE}. Found: share of fetches that showed a change.",
            "",
        ]
        names = {policy: f"{name}, `{policy}`" for name, policy in PAPER.items()}
        rows = []
        for policy in self.fresh:
            fresh = self.by_day(policy)
            cells = [names.get(policy, f"`{policy}`")]
            cells += [f"{fresh[end - STEP : end].mean():.4f}" for end in ends]
            rows.append([*cells, f"{fresh.mean():.4f}", f"{self.change_ratio[policy]:.2%}"])
        head = ["policy", *map(str, ends), "all days", "found"]
        lines += [*markdown(head, rows), "", *self._differences(), "", *self._verdicts()]
        return "\n".join(lines) + "\n"

    def _verdicts(self) -> Iterator[str]:
        """What the tables show, in sentences."""
        for ours, theirs, what in (("2D", "1D", "Content"), ("3D", "2D", "Experts")):
            gap = self.fresh[PAPER[ours]] - self.fresh[PAPER[theirs]]
            yield f"{what}: {ours} keeps copies {verdict(gap)} {theirs}."
        mean = {policy: float(fresh.mean()) for policy, fresh in self.fresh.items()}
        best, coin = max(mean, key=mean.__getitem__), max(PAPER.values(), key=mean.__getitem__)
        yield f"Freshest is `{best}`, {mean[best]:.4f}; of the paper's, `{coin}`, {mean[coin]:.4f}."

    def _differences(self) -> Iterator[str]:
        """What content adds to frequency, and experts to content; all days, and the late ones."""
        yield "Differences, with 95 % intervals: of a bootstrap of pages, and of one of weeks."
        yield ""
        rows = []
        for ours, theirs in (("2D", "1D"), ("3D", "2D"), ("3D", "1D")):
            for name, first in (("all", 0), (f"from {LATE + 1}", LATE)):
                gap = (self.fresh[PAPER[ours]] - self.fresh[PAPER[theirs]])[:, first:]
                if gap.shape[1] >= STEP:
                    rows.append([f"{ours} − {theirs}", name, *difference_cells(gap)])
        yield from markdown(
            ["difference", "days", "mean", "over pages", "p", "over weeks", "p"], rows
        )


def difference_cells(gap: FloatArray) -> list[str]:
    """The mean of pages × days; the interval and p of a bootstrap of pages, and of one of weeks."""
    zero = np.zeros(max(gap.shape))
    cells = [f"{gap.mean():+.4f}"]
    for values, block in ((gap.mean(axis=1), 1), (gap.mean(axis=0), 7)):
        test = paired_difference(values, zero[: len(values)], block=block)
        cells += [f"{test.low:+.4f} to {test.high:+.4f}", f"{test.p:.2g}"]
    return cells


def verdict(gap: FloatArray) -> str:
    """Whether the mean of pages × days is above 0, beyond the interval of a bootstrap of pages."""
    by_page = gap.mean(axis=1)
    test = paired_difference(by_page, np.zeros(len(by_page)), block=1)
    if test.low <= 0 <= test.high:
        return "neither fresher nor less fresh, beyond chance, than"
    return "fresher than" if test.mean > 0 else "less fresh than"


def replay_policies(
    trace: Trace, folder: Path, protocol: PredictionProtocol, *, progress: Progress | None = None
) -> CrawlFreshness:
    """Replay each policy on the targets of the experiment; `folder` keeps the results."""
    trace = crawled_pages(trace, protocol)
    settings = digest(trace.content, trace.window, asdict(protocol))
    seeds = {policy: SEEDS if policy.startswith("coin") else 1 for policy in POLICIES}
    tasks = {
        policy: [
            ExperimentTask(f"{policy}-{seed}", settings, _replay, (policy, seed), "npz")
            for seed in range(n)
        ]
        for policy, n in seeds.items()
    }
    every = [task for group in tasks.values() for task in group]
    results = run_experiment(every, folder, shared=trace, processes=WORKERS, progress=progress)
    runs = {policy: [results[task.key] for task in group] for policy, group in tasks.items()}
    return CrawlFreshness(
        {
            policy: np.mean([run["fresh"] for run in group], axis=0)
            for policy, group in runs.items()
        },
        {policy: float(np.mean([run["found"] for run in group])) for policy, group in runs.items()},
    )


def crawled_pages(trace: Trace, protocol: PredictionProtocol) -> Trace:
    """The first days of the targets present throughout, as the detector sees them.

    A crawler knows only the pages that it crawls, so these are also each other's experts.
    """
    target, _ = choose_targets(trace, versions_by_day(trace, days_of(trace)), protocol)
    begin, end = trace.window
    trace = replace(trace, window=(begin, min(end, begin + MAX_DAYS * DAY)))
    kept = trace.alive() & np.isin(np.arange(len(trace)), target)
    if kept.sum() < 2:
        raise BadInput(
            f"At least 2 of the targets must be present throughout {trace.name}. Got {kept.sum()}; "
            "give a smaller --alpha or more --pages."
        )
    trace = trace.take(kept)
    return trace if protocol.detector == "digest" else seen_by(trace, protocol.detector)


def _replay(trace: Trace, policy: str, seed: int) -> dict[str, FloatArray]:
    log = replay(trace, policy, Budget(share=BUDGET_SHARE), seed=seed)
    before, after = log.versions(trace)
    late = log.cycle > log.warm_up
    found = late & (before >= 0) & (after >= 0) & (trace.content[before] != trace.content[after])
    return {
        "fresh": fresh_copies(trace, log).astype(np.float64),
        "found": np.asarray(found.sum() / late.sum()),
    }


def fresh_copies(trace: Trace, log: FetchLog) -> BoolArray:
    """Whether the copy of each page equals the live page after each cycle past warm-up."""
    _, after = log.versions(trace)
    copy = np.full(len(trace), -1)
    fresh = np.empty((len(trace), len(log.times)), np.bool_)
    for cycle, spent in enumerate(log.by_cycle()):
        came = log.succeeded[spent]
        copy[log.page[spent][came]] = after[spent][came]
        live = trace.live_at(log.times[cycle])
        fresh[:, cycle] = (copy >= 0) & (live >= 0) & (trace.content[copy] == trace.content[live])
    return fresh[:, log.warm_up + 1 :]
