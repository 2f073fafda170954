"""What to fetch in this cycle? Scores, a budget and the user's rules → the chosen pages."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Required, TypedDict

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.model import DAY, FAILURES, Budget
from recrawl.planner.choose import Allowance
from recrawl.planner.failing import answer_chances, retry_seconds
from recrawl.planner.policy import find_policy
from recrawl.planner.rules import RuleColumns, rule_columns
from recrawl.planner.signals import with_signals
from recrawl.protocols import Forecaster
from recrawl.public import public
from recrawl.random import random_bits, uniform
from recrawl.rates.forecast import from_rate
from recrawl.rates.smoothed import smoothed
from recrawl.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Pages, Time
    from recrawl.planner.rules import Rule
    from recrawl.protocols import History, Policy

#: Why a page is in a plan, in their order there.
PINNED, OVERDUE, DISCOVERED, SCORED, EXPLORED, RETRIED = range(6)
WHY = ("pinned; ", "overdue by rule; ", "new; ", "", "explored: unseen for longest; ", "retried; ")
#: Failing pages get all of their share if their best return as often, and never less than a part.
USUAL_RETURN, MIN_RETRY_PART = 0.1, 1 / 3
LIKELY_ANSWER = 0.25  #: chance from which a failing page needs no share of its own
MAX_CLOCK_ERROR_SECONDS = DAY  #: by which `now` may be before the last visit


class PlanOptions(TypedDict, total=False):
    """The keyword arguments of `plan`, for functions that take the same."""

    now: Required[Time]
    policy: str | Policy | None
    objective: str | None
    queries: str | Path | None
    rules: Sequence[Rule]
    ties: str
    seed: int


@public
@dataclass(frozen=True, repr=False)
class Plan(Results):
    """The chosen pages of one cycle, best first, each with its reason."""

    pages: Pages
    score: FloatArray
    p_change: FloatArray
    why: NDArray[np.int8]  #: PINNED, OVERDUE, DISCOVERED, SCORED, EXPLORED or RETRIED
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
                "reason": WHY[self.why[i]] + describe(self.pages, i, self.now),
            }

    def _rows(self) -> Iterator[dict[str, Any]]:
        return self.records()

    def to_arrow(self) -> pa.Table:
        """The plan as an Arrow table, with the columns of `records` even where it is empty."""
        import pyarrow as pa

        types = {"rank": pa.int64(), "score": pa.float64(), "p_change": pa.float64()}
        names = ("url", "rank", "score", "p_change", "last_visit", "reason")
        schema = pa.schema([(name, types.get(name, pa.string())) for name in names])
        return pa.Table.from_pylist(list(self.records()), schema)


def describe(pages: Pages, row: int, now: Time) -> str:
    """The history of one page in words."""
    n, x = int(pages.n_compared[row]), int(pages.n_changes[row])
    seen = pages.last_visit[row]
    tries = int(pages.failures[row])
    kind = min(int(pages.failure[row]), len(FAILURES) - 1)
    reason = f": {FAILURES[kind]}" if kind else ""
    failed = f"; failed {units.count(tries, 'time')} since{reason}" if tries else ""
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


class _Stage(NamedTuple):
    """One step of the choice."""

    why: int
    rows: IntArray
    worth: FloatArray
    quota: int
    reserved: int = 0  #: fetches that are left to later stages


@dataclass(frozen=True)
class Candidates:
    """The pages to choose from, and all that the choice depends on."""

    pages: Pages  #: with what sitemaps and feeds say of them
    policy: Policy
    score: FloatArray  #: of the policy, times the weight of the rules and the chance of an answer
    answers: FloatArray  #: the chance that a visit gets an answer
    ties: KeyArray
    rules: RuleColumns
    eligible: BoolArray
    fetches: int
    budget: Budget
    now: Time

    def choose(self) -> tuple[IntArray, NDArray[np.int8]]:
        """The chosen rows, best first within each reason, and the reasons.

        Every stage has a fair turn. What is left goes to pages of hosts that have some of their
        share left; then each stage takes what it lacks from any host; then any page is taken.
        """
        allowance = _allowance(self.pages, self.budget, self.fetches)
        chosen, why, left = [], [], self.fetches

        def take(stage: _Stage, quota: int, *, is_fair: bool) -> int:
            taken = allowance.take(stage.rows, stage.worth, self.ties, quota, is_fair=is_fair)
            chosen.append(taken)
            why.append(np.full(len(taken), stage.why, np.int8))
            return len(taken)

        lacks: dict[int, int] = {}
        stages = {stage.why: stage for stage in self._stages()}
        for reason, stage in stages.items():
            quota = max(min(stage.quota, left - stage.reserved), 0)
            n = take(stage, quota, is_fair=reason not in (PINNED, OVERDUE))
            lacks[reason], left = quota - n, left - n
        if self.budget.host_share is not None:
            owed = lacks[EXPLORED] + lacks[RETRIED]
            for reason in (SCORED, DISCOVERED):
                left -= take(stages[reason], max(left - owed, 0), is_fair=True)
            for reason in (RETRIED, EXPLORED, SCORED, DISCOVERED):
                left -= take(stages[reason], min(lacks[reason], left), is_fair=False)
        for reason in (SCORED, DISCOVERED, RETRIED):
            left -= take(stages[reason], left, is_fair=False)
        return np.concatenate(chosen), np.concatenate(why)

    def _stages(self) -> Iterator[_Stage]:
        """Which pages are chosen from in turn, and how many of them."""
        rows, score, most = np.flatnonzero(self.eligible), self.score, self.fetches
        failing = self._failing
        known = rows[~self.is_retry[rows]] if failing.size else rows
        explored, retried = int(self.budget.explore * most), self.retries(most)
        overdue, days = rows[:0], score
        if explored or self.rules.max_interval.min(initial=np.inf) < np.inf:
            days = self.pages.copy_age(self.now)
            overdue = rows[days[rows] * DAY >= self.rules.max_interval[rows]]
        new = rows[:0]
        if self.budget.discover is not None:
            is_new = self.pages.n_visits[known] == 0
            new, known = known[is_new], known[~is_new]
        yield _Stage(PINNED, rows[self.rules.pin[rows]], score, most)
        yield _Stage(OVERDUE, overdue, score, most)
        yield _Stage(DISCOVERED, new, score, self._discovered(new), retried)
        yield _Stage(SCORED, known, score, most - explored - retried, retried)
        yield _Stage(EXPLORED, known, days, explored, retried)
        yield _Stage(RETRIED, failing, score, retried)

    def retries(self, fetches: int) -> int:
        """How many fetches of a plan are for failing pages: all of their share if they return.

        A share of one fetch or more is at least one: a host that was down is noticed soon.
        """
        wanted = self.budget.retry * fetches
        likely = max(self._likely(self._failing, wanted) / USUAL_RETURN, MIN_RETRY_PART)
        quota = max(wanted * min(likely, 1.0), min(wanted, 1.0))
        return min(self._whole(quota), len(self._failing))

    @cached_property
    def is_retry(self) -> BoolArray:
        """Failing pages that hardly answer; the others compete with the pages that do not fail."""
        return (self.pages.failures > 0) & (self.answers < LIKELY_ANSWER)

    @cached_property
    def _failing(self) -> IntArray:
        return np.flatnonzero(self.eligible & self.is_retry)

    def _discovered(self, new: IntArray) -> int:
        """How many fetches are for new pages: fewer, the fewer of the best are likely there."""
        wanted = (self.budget.discover or 0.0) * self.fetches
        return self._whole(wanted * self._likely(new, wanted))

    def _likely(self, rows: IntArray, wanted: float) -> float:
        """The mean chance of an answer from the best of these pages, as many as are wanted."""
        n = min(int(np.ceil(wanted)), len(rows))
        if n == 0:
            return 0.0
        best = rows[np.argpartition(-self.score[rows], n - 1)[:n]]
        return float(self.answers[best].mean())

    def _whole(self, quota: float) -> int:
        """The quota as a whole number, right on average over cycles: 0.2 is 1 in every fifth.

        It is drawn by the time of the last visit, so that two plans of one history agree.
        """
        latest = np.fmax.reduce(self.pages.last_attempt, initial=0.0)
        return int(quota + uniform(np.zeros(1, np.uint64), 0, float(latest))[0])

    def p_change(self, rows: IntArray) -> FloatArray:
        """The probability that a visit now shows a change, by the policy or the smoothed rate."""
        pages = self.pages.take(rows)
        if isinstance(self.policy, Forecaster):
            p_change = self.policy.forecast(pages, self.now).p_change
        else:
            p_change = from_rate(smoothed(pages), pages.days_since_visit(self.now)).p_change
        return p_change * self.answers[rows]


def plan(
    history: History,
    budget: Budget | str | int = "5%",
    *,
    now: Time,
    policy: str | Policy | None = None,
    objective: str | None = None,
    queries: str | Path | None = None,
    rules: Sequence[Rule] = (),
    ties: str = "hash",
    seed: int = 0,
) -> Plan:
    """Choose the pages to fetch now, best first.

    An `objective` stands for the policy that seeks it; the objective "search" needs `queries`, a
    file of what people search for. Equal scores go by a pseudo-random number of the page, drawn
    with `seed`, or with `ties="id"` to the lowest page id.
    """
    scorer = find_policy(policy, objective=objective, queries=queries, seed=seed)
    candidates = find_candidates(
        history, history.pages(), budget, now=now, policy=scorer, rules=rules, ties=ties, seed=seed
    )
    rows, why = candidates.choose()
    p = candidates.p_change(rows)
    return Plan(candidates.pages.take(rows), candidates.score[rows], p, why, candidates.now)


def find_candidates(
    history: History,
    pages: Pages,
    budget: Budget | str | int,
    *,
    now: Time,
    policy: str | Policy | None = None,
    objective: str | None = None,
    queries: str | Path | None = None,
    rules: Sequence[Rule] = (),
    ties: str = "hash",
    seed: int = 0,
) -> Candidates:
    """Score the pages of a history and apply the rules; the options are those of `plan`."""
    if ties not in ("hash", "id"):
        raise BadInput(f"ties must be 'hash' or 'id'. Got {ties!r}.")
    scorer = find_policy(policy, objective=objective, queries=queries, seed=seed)
    budget = budget if isinstance(budget, Budget) else units.budget(budget)
    now = _checked(now, pages)
    scorer.learn(history, pages, now)
    columns = rule_columns(rules, pages)
    pages = with_signals(pages, history.signals())
    answers = answer_chances(pages, now)
    return Candidates(
        pages=pages,
        policy=scorer,
        score=expected(scorer.score(pages, now) * columns.weight, answers),
        answers=answers,
        ties=random_bits(pages.key, seed) if ties == "hash" else pages.page_id.astype(np.uint64),
        rules=columns,
        eligible=~columns.never & (columns.pin | (now >= due(pages, columns))),
        fetches=fetches(budget, len(pages)),
        budget=budget,
        now=now,
    )


def expected(score: FloatArray, answers: FloatArray) -> FloatArray:
    """Scores times the chance of an answer. A score below 0 falls too if that is unlikely."""
    return np.where(score < 0, score / np.maximum(answers, 1e-12), score * answers)


def fetches(budget: Budget, pages: int) -> int:
    """How many fetches the budget allows where there are this many pages."""
    _check_budget(budget)
    if budget.share is not None:
        least = 1 if budget.share > 0 and pages else 0  # a share of a few pages is still a plan
        return max(int(budget.share * pages + 1e-9), least)
    return pages if budget.fetches is None else min(int(budget.fetches), pages)


def due(pages: Pages, rules: RuleColumns) -> FloatArray:
    """When each page may be visited again: its least interval, and back-off while it fails."""
    if not (pages.failures.any() or rules.min_interval.any()):
        return np.full(len(pages), -np.inf)
    wait = np.maximum(retry_seconds(pages), rules.min_interval)
    last = np.where(np.isnan(pages.last_attempt), -np.inf, pages.last_attempt)
    return np.where(wait > 0, last + wait, -np.inf)


def _checked(now: Time, pages: Pages) -> Time:
    """The time to plan for: `now`, or that of the last visit if `now` is up to a day before it."""
    latest = float(np.fmax.reduce(pages.last_attempt, initial=-np.inf))
    if not isinstance(now, int | float):
        raise BadInput(f"now must be seconds since 1970. Got {now!r}; try datetime.timestamp().")
    if not (np.isfinite(now) and now >= latest - MAX_CLOCK_ERROR_SECONDS):
        raise BadInput(
            f"now must be at most a day before the last visit, {units.show_time(latest)}. "
            f"Got {units.show_time(now)}; leave it out, or give a later one."
        )
    return max(now, latest)


def _check_budget(budget: Budget) -> None:
    """Raise BadInput for a negative or contradictory budget."""
    limits = dict.fromkeys(("share", "explore", "discover", "retry", "host_share"), 1.0)
    for name in (f.name for f in fields(budget) if f.name != "host_delays"):
        value, most = getattr(budget, name), limits.get(name, np.inf)
        if value is not None and not (
            isinstance(value, int | float) and 0 <= value <= most and value < np.inf
        ):
            rule = f"a number from 0 to {most:g}" if most < np.inf else "a number, 0 or more"
            raise BadInput(f"Budget: {name} must be {rule}. Got {value!r}.")
    if budget.fetches is not None and budget.share is not None:
        raise BadInput("Budget: give fetches or share, not both.")


def _allowance(pages: Pages, budget: Budget, fetches: int) -> Allowance:
    limits = np.array([np.inf if x is None else x for x in (budget.bytes, budget.seconds)])
    cost = np.empty((0, 2))
    if not np.isinf(limits).all():
        known = {"bytes": pages.bytes, "seconds": pages.seconds}
        cost = np.column_stack([_costs(n, c, getattr(budget, n)) for n, c in known.items()])
    share = np.inf if budget.host_share is None else max(int(budget.host_share * fetches), 1)
    return Allowance(
        host=pages.host,
        host_left=_host_caps(pages, budget, is_limited=share < fetches),
        host_share=share,
        cost=cost,
        cost_left=limits,
        taken=np.zeros(len(pages), np.bool_),
    )


def _host_caps(pages: Pages, budget: Budget, *, is_limited: bool) -> NDArray[np.int64]:
    """The most fetches from each host, by its number; empty where nothing limits them.

    A fetch takes the delay of its host and the time that the host took to answer so far.
    """
    delays = budget.host_delays
    if not (is_limited or budget.host_cap is not None or budget.host_delay > 0 or delays):
        return np.empty(0, np.int64)
    n = int(pages.host.max(initial=-1)) + 1
    delay = np.full(n, budget.host_delay)
    for host, seconds in delays.items():
        if 0 <= host < n:
            delay[host] = max(delay[host], seconds)
    timed = pages.host[pages.seconds >= 0]
    took = np.bincount(timed, pages.seconds[pages.seconds >= 0], n) / np.maximum(
        np.bincount(timed, minlength=n), 1
    )
    caps = np.full(n, len(pages) if budget.host_cap is None else budget.host_cap, np.float64)
    slow = delay > 0
    caps[slow] = np.minimum(caps[slow], np.maximum(budget.every // (delay + took)[slow], 1.0))
    return caps.astype(np.int64)


def _costs(name: str, cost: FloatArray, limit: float | None) -> FloatArray:
    """The cost of each page; the mean of the others where it is unknown."""
    known = np.isfinite(cost) & (cost >= 0)
    if limit is None:
        return np.zeros(len(cost))
    if not known.any():
        raise BadInput(
            f"Budget: {name} can be limited only if some visits recorded it. Got {limit:,.0f}, but "
            "no visit did; limit the fetches instead."
        )
    return np.where(known, cost, cost[known].mean())
