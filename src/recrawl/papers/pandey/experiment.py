"""User-centric crawling (Pandey & Olston 2005): how many refreshes does good search need?

All copies are fresh at first. Then each cycle refreshes a fixed number of pages, and quality is
measured after it. What policies know of the pages is fitted on the same cycles, as in the paper
("in-sample"), or on the cycles before ("split"). Results are kept in a folder; an interrupted
experiment continues from them.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from recrawl.allocate.whole import spread, whole_visits
from recrawl.lab.experiment import ExperimentTask, run_experiment
from recrawl.model import DAY
from recrawl.papers.pandey.forecasts import recency_weights
from recrawl.papers.pandey.shipped import ShippedCrawl
from recrawl.policies.user_centric import gain_per_change, refresh_worth, shrunk_rate
from recrawl.random import random_bits
from recrawl.rates.cho import cho
from recrawl.search.quality import share_of_best, visibility
from recrawl.urls import keys

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from recrawl.lab.experiment import Progress
    from recrawl.model import FloatArray, IntArray
    from recrawl.papers.pandey.data import SearchStudy

    Priority = Callable[[FloatArray], FloatArray]  #: of pages, given days since their refresh

TAUS: Final = tuple(round(0.1 * i, 1) for i in range(1, 11))
BUDGETS: Final = (0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6)
POLICIES: Final = (
    "user-centric",
    "user-centric frozen",
    "raw",
    "index exact",
    "raw exact",
    "staleness",
    "embarrassment",
    "oldest",
)
MODES: Final = ("in-sample", "split")
N_THREADS = 2


@dataclass(frozen=True)
class RefreshRun:
    """The result of one policy at one budget, as it is kept."""

    mode: str
    policy: str
    share: float  #: pages refreshed a cycle, as a share of all
    refreshes: int  #: pages refreshed a cycle
    tau: float | None  #: best threshold of a rival
    quality: float  #: mean over the cycles
    never: float  #: quality without any refresh

    @property
    def way(self) -> float:
        """Quality on a scale from 0, never refreshed, to 1, always fresh."""
        return (self.quality - self.never) / (1.0 - self.never) if self.never < 1.0 else 1.0


@dataclass(frozen=True)
class Trial:
    """The cycles that test policies, and those whose changes policies know."""

    study: SearchStudy
    fitted: range  #: cycles whose changes are known
    tested: range  #: cycles that are tested, after the first one, in which all copies are fresh
    key: IntArray  #: order of pages in ties
    recency: FloatArray  #: weight of each fitted cycle in the paper's mean gain

    @staticmethod
    def of(
        study: SearchStudy,
        mode: str,
        window: int | None = None,
        half_life: float | None = None,
    ) -> Trial:
        last = len(study.live) - 1
        half = last // 2
        end, begin = (last, 0) if mode == "in-sample" else (half, half)
        key = np.argsort(np.argsort(random_bits(keys(study.urls), 0)))
        recency = recency_weights(end, window, half_life)
        return Trial(study, range(1, end + 1), range(begin, last + 1), key, recency)

    @cached_property
    def known(self) -> NDArray[np.bool_]:
        """Whether each change is known."""
        return (self.study.cycle >= self.fitted[0]) & (self.study.cycle <= self.fitted[-1])

    def over_page(self, column: FloatArray | None = None) -> FloatArray:
        """The sum over each page's known changes of a column; without one, their number."""
        known = self.known
        column = None if column is None else column[known]
        return np.bincount(self.study.page[known], column, self.study.pages).astype(np.float64)

    def daily_gain(self, gain: FloatArray) -> FloatArray:
        """The paper's forecast: mean gain a day of each page's past refreshes, one a cycle."""
        known = self.known
        weight = self.recency[self.study.cycle[known] - self.fitted[0]]
        total = np.bincount(self.study.page[known], weight * gain[known], self.study.pages)
        return np.asarray(total / (self.recency.sum() * self.study.every / DAY))

    @cached_property
    def visibility(self) -> FloatArray:
        """What pages contribute to answers when the tested cycles begin."""
        return visibility(self.study.matches, self.study.live[self.tested[0]], self.study.p_view)

    @cached_property
    def views(self) -> FloatArray:
        """How often pages are viewed when the tested cycles begin."""
        live = self.study.live[self.tested[0]]
        return visibility(self.study.matches, live, self.study.p_view, scored=False)

    @cached_property
    def shipped(self) -> ShippedCrawl:
        """The policy that ships, after it visited all pages in all fitted cycles."""
        crawl = ShippedCrawl.start(self.study)
        crawl.visit_all(range(self.fitted[-1] + 1))
        return crawl

    @cached_property
    def never(self) -> float:
        """The quality without any refresh."""
        nothing = np.empty(0, np.int64)
        return self.mean_quality(lambda _: nothing)

    def mean_quality(self, refreshed: Callable[[int], IntArray]) -> float:
        """The mean quality if tested cycle i = 1, 2, … refreshes the pages `refreshed(i)`."""
        copies = self.study.live[self.tested[0]].copy()
        tracker, useful = self.study.tracker(), []
        for number, cycle in enumerate(self.tested[1:], 1):
            pages = refreshed(number)
            copies[pages] = self.study.live[cycle, pages]
            useful.append(tracker.usefulness(copies, self.study.live[cycle]))
        return float(share_of_best(np.array(useful), self.study.best[self.tested[1:]]).mean())

    def by_shipped(self, refreshes: int) -> float:
        """Mean quality if the policy that ships chooses, and goes on learning from what it fetches.

        What it knows must be of the cycles before those tested.
        """
        crawl = self.shipped.copy()

        def refreshed(number: int) -> IntArray:
            cycle = self.tested[number]
            chosen = np.lexsort((self.key, -crawl.scores(cycle)))[:refreshes]
            crawl.visit(chosen, cycle)
            return chosen

        return self.mean_quality(refreshed)

    def by_priority(self, priority: Priority, refreshes: int) -> float:
        """Mean quality if each cycle refreshes the pages of highest priority."""
        last = np.zeros(self.study.pages)

        def refreshed(number: int) -> IntArray:
            score = priority((number - last) * self.study.every / DAY)
            chosen = np.lexsort((self.key, -score))[:refreshes]
            last[chosen] = number
            return chosen

        return self.mean_quality(refreshed)

    def by_allocation(self, rate: FloatArray, weight: FloatArray, refreshes: int) -> float:
        """Mean quality of the allocation with the least weighted staleness, in whole visits."""
        cycles = len(self.tested) - 1
        visits = whole_visits(rate * cycles, weight, refreshes * cycles, cycles, self.key)
        page, cycle = np.repeat(np.arange(len(visits)), visits), spread(visits, cycles, self.key)
        return self.mean_quality(lambda number: page[cycle == number - 1])


def priorities(trial: Trial) -> dict[str, Priority]:
    """The policies that rank pages by a priority."""
    gain, changes = trial.over_page(trial.study.gain), trial.over_page()
    days = len(trial.fitted) * trial.study.every / DAY
    worth = gain_per_change(gain, changes, trial.visibility)
    rate = shrunk_rate(changes, np.full(len(gain), days))
    raw = trial.daily_gain(trial.study.estimated_gain)
    exact = trial.daily_gain(trial.study.gain)
    return {
        "user-centric frozen": trial.shipped.scores_after,
        "raw": lambda since: raw * since,
        "index exact": lambda since: refresh_worth(worth, rate, since),
        "raw exact": lambda since: exact * since,
        "oldest": lambda since: since,
    }


def rival(trial: Trial, policy: str, tau: float, refreshes: int) -> float:
    """Mean quality of staleness- or embarrassment-based refreshing, given its threshold."""
    cycles = np.full(trial.study.pages, len(trial.fitted))
    if policy == "staleness":
        changes = trial.over_page(np.where(trial.study.distance > tau, 1.0, 0.0))
        return trial.by_allocation(cho(cycles, changes), np.ones(len(changes)), refreshes)
    changes, large = (
        trial.over_page(),
        trial.over_page(np.where(trial.study.distance >= tau, 1.0, 0.0)),
    )
    part = np.divide(large, changes, out=np.zeros(len(changes)), where=changes > 0)
    return trial.by_allocation(cho(cycles, changes), part * trial.views, refreshes)


def pandey(
    study: SearchStudy,
    folder: Path,
    *,
    modes: tuple[str, ...] = MODES,
    budgets: tuple[float, ...] = BUDGETS,
    policies: tuple[str, ...] = POLICIES,
    window: int | None = None,
    half_life: float | None = None,
    progress: Progress | None = None,
) -> list[RefreshRun]:
    """Run what is left of the experiment; `folder` keeps the results.

    `window` and `half_life` say which past refreshes count in the paper's mean gain, in cycles.
    """
    recent = f"-{window}-{half_life}" if window or half_life else ""
    tasks = [
        ExperimentTask(f"{mode}-{share:g}-{policy}{recent}", study.key, _run, (mode, share, policy))
        for mode in modes
        for share in budgets
        for policy in policies
        if (mode, policy) != ("in-sample", "user-centric")
    ]
    results = run_experiment(
        tasks,
        folder,
        shared={mode: Trial.of(study, mode, window, half_life) for mode in modes},
        progress=progress,
        describe=lambda key, result: f"{key}: {RefreshRun(**result).way:.3f}",
    )
    return [RefreshRun(**result) for result in results.values()]


def _run(trials: dict[str, Trial], mode: str, share: float, policy: str) -> dict[str, Any]:
    trial = trials[mode]
    refreshes = max(int(share * trial.study.pages), 1)
    tau, ranked = None, priorities(trial)
    if policy == "user-centric":
        quality = trial.by_shipped(refreshes)
    elif policy in ranked:
        quality = trial.by_priority(ranked[policy], refreshes)
    else:
        with ThreadPoolExecutor(N_THREADS) as pool:  # the kernels run in parallel
            each = list(pool.map(lambda tau: rival(trial, policy, tau, refreshes), TAUS))
        quality, tau = max(each), TAUS[int(np.argmax(each))]
    return asdict(RefreshRun(mode, policy, share, refreshes, tau, quality, trial.never))


def needed(runs: list[RefreshRun], mode: str, policy: str, way: float) -> float:
    """Refreshes a cycle that reach this `way`, log-linear between budgets; NaN if none does."""
    own = sorted(
        (r for r in runs if (r.mode, r.policy) == (mode, policy)), key=lambda r: r.refreshes
    )
    before = None
    for run in own:
        if run.way >= way:
            if before is None:
                return float(run.refreshes)
            part = (way - before.way) / (run.way - before.way)
            return float(before.refreshes * (run.refreshes / before.refreshes) ** part)
        before = run
    return np.nan
