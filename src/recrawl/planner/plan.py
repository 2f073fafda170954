"""What to fetch in this cycle? Scores, a budget and the user's rules → the chosen pages."""

from __future__ import annotations

from dataclasses import dataclass, fields
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import registry, units
from recrawl.errors import BadInput
from recrawl.model import DAY, Budget
from recrawl.planner.choose import Allowance
from recrawl.planner.rules import Rule, Ruled, apply
from recrawl.planner.signals import SignalEvidence, heard, odds, updated
from recrawl.protocols import Forecaster
from recrawl.random import drawn
from recrawl.rates.forecast import from_rate
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time
    from recrawl.protocols import History, Policy

DEFAULT_POLICY = "auto"  #: because it learns from all there is, and starves no page
#: Why a page is in a plan, in their order there.
PINNED, OVERDUE, DISCOVERED, SCORED, EXPLORED = range(5)
WHY = ("pinned; ", "overdue by rule; ", "new; ", "", "explored: unseen for longest; ")
RETRY_FIRST, RETRY_LAST = 3600.0, 30 * DAY  #: back-off of a failing page: doubles in between
AHEAD = DAY  #: by how much the clocks of those who record visits may be fast


@dataclass(frozen=True, repr=False)
class Plan:
    """The chosen pages of one cycle, best first, each with its reason."""

    pages: Pages
    score: FloatArray
    p_change: FloatArray
    why: NDArray[np.int8]  #: PINNED, OVERDUE, SCORED or EXPLORED
    now: Time

    def __len__(self) -> int:
        return len(self.score)

    def __repr__(self) -> str:
        return f"<Plan: {units.count(len(self), 'page')} at {units.show_time(self.now)}>"

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
        for i, url in enumerate(self.urls()):
            last = float(self.pages.last_visit[i])
            yield {
                "url": url,
                "rank": i + 1,
                "score": float(self.score[i]),
                "p_change": float(self.p_change[i]),
                "last_visit": None if np.isnan(last) else units.show_time(last),
                "reason": WHY[self.why[i]] + told(self.pages, i, self.now),
            }


def told(pages: Pages, row: int, now: Time) -> str:
    """What the history of one page says, in words."""
    n, x = int(pages.n_compared[row]), int(pages.n_changes[row])
    seen = pages.last_visit[row]
    tries = int(pages.failures[row])
    failed = f"; failed {units.count(tries, 'time')} since" if tries else ""
    if np.isnan(seen):
        known = units.show_days((now - float(pages.first_seen[row])) / DAY)
        return f"never {'reached' if tries else 'visited'}; known for {known}{failed}"
    ago = f"seen {units.show_days((now - float(seen)) / DAY)} ago{failed}"
    if n == 0:
        return f"never compared; {ago}"
    past = (
        f"changed {x} of {units.count(n, 'time')}" if x else f"unchanged {units.count(n, 'time')}"
    )
    return f"{past} in {units.show_days(float(pages.exposure[row]))}; {ago}"


@dataclass(frozen=True)
class Candidates:
    """All that a choice depends on; `explain` looks into it."""

    pages: Pages
    policy: Policy
    heard: list[SignalEvidence]  #: what signals say of the pages
    score: FloatArray
    ties: KeyArray
    ruled: Ruled
    eligible: BoolArray
    fetches: int
    budget: Budget
    now: Time

    def choose(self) -> tuple[IntArray, NDArray[np.int8]]:
        """The winning rows, best first within each reason, and the reasons."""
        allowance = _allowance(self.pages, self.budget)
        rows = np.flatnonzero(self.eligible)
        explored = int(self.budget.explore * self.fetches)
        overdue, days = rows[:0], self.score
        if explored or self.ruled.max_interval.min(initial=np.inf) < np.inf:
            days = self.pages.days_since_visit(self.now)
            overdue = rows[days[rows] * DAY >= self.ruled.max_interval[rows]]
        new, known, discovered = rows[:0], rows, 0
        if self.budget.discover is not None:
            unseen = self.pages.n_visits[rows] == 0
            new, known = rows[unseen], rows[~unseen]
            discovered = _whole(self.budget.discover * self.fetches, self.now)
        stages = (
            (PINNED, rows[self.ruled.pin[rows]], self.score, self.fetches),
            (OVERDUE, overdue, self.score, self.fetches),
            (DISCOVERED, new, self.score, discovered),
            (SCORED, known, self.score, self.fetches - explored),
            (EXPLORED, known, days, explored),
            (DISCOVERED, new, self.score, self.fetches),  # what the known pages leave over
        )
        chosen, why, left = [], [], self.fetches
        for reason, candidates, worth, quota in stages:
            taken = allowance.take(candidates, worth, self.ties, min(quota, left))
            chosen.append(taken)
            why.append(np.full(len(taken), reason, np.int8))
            left -= len(taken)
        return np.concatenate(chosen), np.concatenate(why)


def contest(
    history: History,
    budget: Budget | str | int,
    *,
    now: Time,
    policy: str | Policy = DEFAULT_POLICY,
    rules: Sequence[Rule] = (),
    ties: str = "hash",
    seed: int = 0,
) -> Candidates:
    """Score the pages of a history and apply the rules."""
    if ties not in ("hash", "id"):
        raise BadInput(f"ties must be 'hash' or 'id'. Got {ties!r}.")
    judge = scorer(policy, seed) if isinstance(policy, str) else policy
    spend = budget if isinstance(budget, Budget) else units.budget(budget)
    pages = history.pages()
    now = _checked(now, pages)
    judge.learn(history, pages, now)
    ruled = apply(rules, pages)
    claims = history.signals()
    said = heard(claims, pages) if claims is not None else []
    return Candidates(
        pages=pages,
        policy=judge,
        heard=said,
        score=judge.score(pages, now) * ruled.weight * boost(judge, said, pages, now),
        ties=drawn(pages.key, seed) if ties == "hash" else pages.page_id.astype(np.uint64),
        ruled=ruled,
        eligible=~ruled.never & (ruled.pin | (now >= due(pages, ruled))),
        fetches=fetches(spend, len(pages)),
        budget=spend,
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
    game = contest(history, budget, now=now, policy=policy, rules=rules, ties=ties, seed=seed)
    rows, why = game.choose()
    chosen = game.pages.take(rows)
    p = updated(p_change(game.policy, chosen, game.now), odds(game.heard, len(game.pages))[rows])
    return Plan(chosen, game.score[rows], p, why, game.now)


def p_change(policy: Policy, pages: Pages, now: Time) -> FloatArray:
    """The probability that a visit now shows a change, by the policy or by the smoothed rate."""
    if isinstance(policy, Forecaster):
        return policy.forecast(pages, now).p_change
    return from_rate(smoothed(pages), pages.days_since_visit(now)).p_change


def boost(
    policy: Policy, said: list[SignalEvidence], pages: Pages, now: Time
) -> FloatArray | float:
    """What signals make of scores: as much as of the probability of a change."""
    if not said:
        return 1.0
    p = np.clip(p_change(policy, pages, now), 1e-9, 1.0)
    return updated(p, odds(said, len(pages))) / p


def fetches(budget: Budget, pages: int) -> int:
    """How many pages the budget allows, of so many."""
    _check_budget(budget)
    if budget.share is not None:
        least = 1 if budget.share > 0 and pages else 0  # a share of a few pages is still a plan
        return max(int(budget.share * pages + 1e-9), least)
    return pages if budget.fetches is None else min(int(budget.fetches), pages)


def due(pages: Pages, ruled: Ruled) -> FloatArray:
    """When each page may be visited again: its least interval, and back-off while it fails."""
    if not (pages.failures.any() or ruled.min_interval.any()):
        return np.full(len(pages), -np.inf)
    doublings = np.minimum(np.maximum(pages.failures - 1, 0), 30)
    retry = np.where(pages.failures > 0, np.minimum(RETRY_FIRST * 2.0**doublings, RETRY_LAST), 0.0)
    wait = np.maximum(retry, ruled.min_interval)
    last = np.where(np.isnan(pages.last_attempt), -np.inf, pages.last_attempt)
    return np.where(wait > 0, last + wait, -np.inf)


def scorer(name: str, seed: int) -> Policy:
    """A policy by name; one that draws at random draws with the same seed as the ties."""
    part = registry.part_class("policy", name)
    arguments = {"seed": seed} if "seed" in signature(part).parameters else {}
    found: Policy = registry.make("policy", name, **arguments)
    return found


def _whole(quota: float, now: Time) -> int:
    """The quota as a whole number, which over many plans it is in the mean: 0.2 is a 1 at times.

    >>> round(sum(_whole(0.2, now=cycle) for cycle in range(10_000)) / 10_000, 1)
    0.2
    """
    chance = float(drawn(np.zeros(1, np.uint64), 0, now)[0]) * 2.0**-64
    return int(quota + chance)


def _checked(now: Time, pages: Pages) -> Time:
    """A plan may not see what comes after it; if clocks differ, it is as of the last visit."""
    latest = float(np.fmax.reduce(pages.last_attempt, initial=-np.inf))
    if not isinstance(now, int | float):
        raise BadInput(f"now must be seconds since 1970. Got {now!r}; try datetime.timestamp().")
    if not (np.isfinite(now) and now >= latest - AHEAD):
        raise BadInput(
            f"now must be a time not before the last visit, {units.show_time(latest)}. "
            f"Got {units.show_time(now)}; leave it out, or give a later one."
        )
    return max(now, latest)


def _check_budget(budget: Budget) -> None:
    """Refuse a budget that cannot be meant."""
    limits = {"share": 1.0, "explore": 1.0, "discover": 1.0}
    for name in (f.name for f in fields(budget)):
        value, most = getattr(budget, name), limits.get(name, np.inf)
        if value is not None and not (
            isinstance(value, int | float) and 0 <= value <= most and value < np.inf
        ):
            rule = f"a number from 0 to {most:g}" if most < np.inf else "a number, 0 or more"
            raise BadInput(f"Budget: {name} must be {rule}. Got {value!r}.")
    if budget.fetches is not None and budget.share is not None:
        raise BadInput("Budget: give fetches or share, not both.")


def _allowance(pages: Pages, budget: Budget) -> Allowance:
    caps = [] if budget.host_cap is None else [budget.host_cap]
    if budget.host_delay > 0:
        caps.append(int(min(budget.every / budget.host_delay, len(pages))))
    limits = np.array([np.inf if x is None else x for x in (budget.bytes, budget.seconds)])
    cost = np.empty((0, 2))
    if not np.isinf(limits).all():
        known = {"bytes": pages.bytes, "seconds": pages.seconds}
        cost = np.column_stack([_costs(n, c, getattr(budget, n)) for n, c in known.items()])
    hosts = int(pages.host.max(initial=-1)) + 1 if caps else 0
    return Allowance(
        host=pages.host,
        host_left=np.full(hosts, min(caps, default=0), np.int64),
        cost=cost,
        cost_left=limits,
        taken=np.zeros(len(pages), np.bool_),
    )


def _costs(name: str, cost: FloatArray, limit: float | None) -> FloatArray:
    """What each page costs; those of unknown cost are taken to cost the mean of the others."""
    known = np.isfinite(cost) & (cost >= 0)
    if limit is None:
        return np.zeros(len(cost))
    if not known.any():
        raise BadInput(
            f"Budget: {name} can be limited only if some visits recorded it. Got {limit:,.0f}, but "
            "no visit did; limit the fetches instead."
        )
    return np.where(known, cost, cost[known].mean())
