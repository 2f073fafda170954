"""What to fetch in this cycle? Scores, a budget and the user's rules → the chosen pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import registry, units
from recrawl.errors import BadInput
from recrawl.forecast import from_rate
from recrawl.model import DAY, Budget
from recrawl.planner.choose import Allowance, tie_order
from recrawl.planner.rules import Rule, Ruled, apply

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time
    from recrawl.protocols import History, Policy

DEFAULT_POLICY = "poisson"  #: because it never starves a page
SCORED, EXPLORED, OVERDUE, PINNED = range(4)  #: why a page is in a plan
WHY = ("", "explored: unseen for longest; ", "overdue by rule; ", "pinned; ")
RETRY_FIRST, RETRY_LAST = 3600.0, 30 * DAY  #: back-off of a failing page: doubles in between


@dataclass(frozen=True)
class Plan:
    """The chosen pages of one cycle, best first, each with its reason."""

    pages: Pages
    score: FloatArray
    p_change: FloatArray
    why: NDArray[np.int8]  #: SCORED, EXPLORED, OVERDUE or PINNED
    now: Time

    def __len__(self) -> int:
        return len(self.score)

    def urls(self) -> Sequence[str]:
        return self.pages.urls()

    def head(self, n: int) -> Plan:
        """The best `n`."""
        best = np.arange(min(n, len(self)))
        return Plan(
            self.pages.take(best), self.score[:n], self.p_change[:n], self.why[:n], self.now
        )

    def records(self) -> Iterator[dict[str, Any]]:
        """The plan row by row, for people and files."""
        days = self.pages.days_since_visit(self.now)
        for i, url in enumerate(self.urls()):
            last = float(self.pages.last_visit[i])
            yield {
                "url": url,
                "rank": i + 1,
                "score": float(self.score[i]),
                "p_change": float(self.p_change[i]),
                "last_visit": None if np.isnan(last) else units.show_time(last),
                "reason": WHY[self.why[i]] + past(self.pages, i, float(days[i])),
            }


def past(pages: Pages, row: int, days: float) -> str:
    """What the history of one page says, in words."""
    n, x = int(pages.n_compared[row]), int(pages.n_changes[row])
    if np.isnan(pages.last_visit[row]):
        return f"never visited; known for {units.show_days(days)}"
    if n == 0:
        return f"never compared; seen {units.show_days(days)} ago"
    seen = f"changed {x} of {n} times" if x else f"unchanged {n} times"
    span = units.show_days(float(pages.exposure[row]))
    return f"{seen} in {span}; seen {units.show_days(days)} ago"


@dataclass(frozen=True)
class Contest:
    """Everything a choice depends on; `explain` looks into it."""

    pages: Pages
    score: FloatArray
    ties: KeyArray
    ruled: Ruled
    eligible: BoolArray
    fetches: int
    budget: Budget
    now: Time

    def choose(self) -> tuple[IntArray, NDArray[np.int8]]:
        """The winning rows, and why each."""
        allowance = _allowance(self.pages, self.budget)
        rows = np.flatnonzero(self.eligible)
        oldest = self.pages.days_since_visit(self.now)
        overdue = rows[oldest[rows] * DAY >= self.ruled.max_interval[rows]]
        explored = int(self.budget.explore * self.fetches)
        stages = (
            (PINNED, rows[self.ruled.pin[rows]], self.score, self.fetches),
            (OVERDUE, overdue, self.score, self.fetches),
            (EXPLORED, rows, oldest, explored),
            (SCORED, rows, self.score, self.fetches),
        )
        chosen, why, left = [], [], self.fetches
        for reason, candidates, worth, quota in stages:
            taken = allowance.take(candidates, worth, self.ties, min(quota, left))
            chosen.append(taken)
            why.append(np.full(len(taken), reason, np.int8))
            left -= len(taken)
        return np.concatenate(chosen), np.concatenate(why)


def contest(
    pages: Pages,
    policy: Policy,
    budget: Budget,
    now: Time,
    *,
    rules: Sequence[Rule] = (),
    ties: str = "hash",
    seed: int = 0,
) -> Contest:
    """Score the pages and apply the rules."""
    ruled = apply(rules, pages)
    order = tie_order(pages.key, seed) if ties == "hash" else pages.page_id.astype(np.uint64)
    return Contest(
        pages=pages,
        score=policy.score(pages, now) * ruled.weight,
        ties=order,
        ruled=ruled,
        eligible=~ruled.never & (now >= due(pages, ruled)),
        fetches=fetches(budget, len(pages)),
        budget=budget,
        now=now,
    )


def plan(
    history: History,
    budget: Budget | str | int,
    *,
    now: Time,
    policy: str | Policy = DEFAULT_POLICY,
    rules: Sequence[Rule] = (),
    ties: str = "hash",
    seed: int = 0,
) -> Plan:
    """Choose the pages to fetch now, best first.

    Ties go by a fixed pseudo-random number of the page drawn with `seed`, or by `ties="id"` to
    the lowest page id.
    """
    if ties not in ("hash", "id"):
        raise BadInput(f"ties must be 'hash' or 'id'. Got {ties!r}.")
    judge = registry.make("policy", policy) if isinstance(policy, str) else policy
    spend = budget if isinstance(budget, Budget) else units.budget(budget)
    judge.learn(history, now)
    game = contest(history.pages(), judge, spend, now, rules=rules, ties=ties, seed=seed)
    rows, why = game.choose()
    order = np.argsort(-why, kind="stable")  # pins first; within a reason best first
    rows, why = rows[order], why[order]
    chosen = game.pages.take(rows)
    return Plan(chosen, game.score[rows], p_change(chosen, now), why, now)


def p_change(pages: Pages, now: Time) -> FloatArray:
    """The probability that a visit now shows a change, by the smoothed rate."""
    rate = registry.make("rate", "smoothed").rate(pages)
    return from_rate(rate, pages.days_since_visit(now)).p_change


def fetches(budget: Budget, pages: int) -> int:
    """How many pages the budget allows, of so many."""
    _check(budget)
    if budget.share is not None:
        return int(budget.share * pages + 1e-9)
    return pages if budget.fetches is None else min(budget.fetches, pages)


def _check(budget: Budget) -> None:
    """Refuse a budget that cannot be meant."""
    limits = {"fetches": None, "share": 1.0, "host_cap": None, "host_delay": None, "every": None}
    limits |= {"bytes": None, "seconds": None, "explore": 1.0}
    for name, most in limits.items():
        value = getattr(budget, name)
        if value is not None and not (0 <= value <= (most or np.inf)):
            rule = f"between 0 and {most:g}" if most else "0 or more"
            raise BadInput(f"Budget: {name} must be {rule}. Got {value!r}.")
    if budget.fetches is not None and budget.share is not None:
        raise BadInput("Budget: give fetches or share, not both.")


def due(pages: Pages, ruled: Ruled) -> FloatArray:
    """When each page may be visited again: its least interval, and back-off while it fails."""
    if not (pages.failures.any() or ruled.min_interval.any()):
        return np.full(len(pages), -np.inf)
    doublings = np.minimum(np.maximum(pages.failures - 1, 0), 30)
    retry = np.where(pages.failures > 0, np.minimum(RETRY_FIRST * 2.0**doublings, RETRY_LAST), 0.0)
    wait = np.maximum(retry, ruled.min_interval)
    last = np.where(np.isnan(pages.last_attempt), -np.inf, pages.last_attempt)
    return np.where(wait > 0, last + wait, -np.inf)


def _allowance(pages: Pages, budget: Budget) -> Allowance:
    caps = [] if budget.host_cap is None else [budget.host_cap]
    if budget.host_delay > 0:
        caps.append(int(budget.every / budget.host_delay))
    limits = np.array([np.inf if x is None else x for x in (budget.bytes, budget.seconds)])
    cost = np.empty((0, 2))
    if not np.isinf(limits).all():
        cost = np.column_stack([_filled(pages.bytes), _filled(pages.seconds)])
    hosts = int(pages.host.max(initial=-1)) + 1 if caps else 0
    return Allowance(
        host=pages.host,
        host_left=np.full(hosts, min(caps, default=0), np.int64),
        cost=cost,
        cost_left=limits,
        taken=np.zeros(len(pages), np.bool_),
    )


def _filled(cost: FloatArray) -> FloatArray:
    """Unknown costs are taken to be the mean of the known ones."""
    known = cost[~np.isnan(cost)]
    return np.where(np.isnan(cost), known.mean() if known.size else 0.0, cost)
