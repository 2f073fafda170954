"""Why is this page in the plan, or why not, and what would put it there?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl import registry, units
from recrawl.errors import BadInput
from recrawl.model import DAY, Budget
from recrawl.planner.plan import DEFAULT_POLICY, contest, due, p_change, past

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import Time
    from recrawl.planner.plan import Contest
    from recrawl.planner.rules import Rule
    from recrawl.protocols import History, Policy

FAR = 3650.0  #: days to look ahead


@dataclass(frozen=True)
class Explanation:
    """What is known of one page and how it stands."""

    url: str
    history: str
    rate: float  #: changes a day
    rate_low: float  #: 5 % quantile
    rate_high: float  #: 95 % quantile
    p_change: float
    score: float
    rank: int  #: among all pages, by score
    of: int
    picked: bool
    verdict: str  #: what would have to happen for it to be picked


def explain(
    history: History,
    page_id: int,
    budget: Budget | str | int,
    *,
    now: Time,
    policy: str | Policy = DEFAULT_POLICY,
    rules: Sequence[Rule] = (),
    seed: int = 0,
) -> Explanation:
    """Explain one page against the plan for this budget."""
    judge = registry.make("policy", policy) if isinstance(policy, str) else policy
    spend = budget if isinstance(budget, Budget) else units.budget(budget)
    pages = history.pages()
    found = np.flatnonzero(pages.page_id == page_id)
    if not found.size:
        raise BadInput(f"page_id must be that of a known page. Got {page_id!r}.")
    row = int(found[0])
    judge.learn(history, now)
    game = contest(pages, judge, spend, now, rules=rules, seed=seed)
    one = pages.take(found)
    gamma = registry.make("rate", "gamma")
    low, high = gamma.quantiles(pages, (0.05, 0.95))[row]
    picked = bool(np.isin(row, game.choose()[0]))
    return Explanation(
        url=one.urls()[0],
        history=past(pages, row, float(one.days_since_visit(now)[0])),
        rate=float(gamma.rate(pages)[row]),
        rate_low=float(low),
        rate_high=float(high),
        p_change=float(p_change(one, now)[0]),
        score=float(game.score[row]),
        rank=_rank(game, row),
        of=len(pages),
        picked=picked,
        verdict="It is in the plan." if picked else _verdict(game, row, judge),
    )


def _rank(game: Contest, row: int) -> int:
    score, ties = game.score, game.ties
    ahead = (score > score[row]) | ((score == score[row]) & (ties < ties[row]))
    return int(ahead.sum()) + 1


def _verdict(game: Contest, row: int, judge: Policy) -> str:
    if game.ruled.never[row]:
        return "A rule says never; remove the rule to have it picked."
    if not game.eligible[row]:
        when = units.show_time(float(due(game.pages, game.ruled)[row]))
        why = "it keeps failing" if game.pages.failures[row] else "a rule sets its least interval"
        return f"Not before {when}, because {why}."
    rows, _ = game.choose()
    if len(rows) == 0:
        return "The budget allows no fetch at all; raise it."
    if game.budget.host_cap is not None and _rank(game, row) <= game.fetches:
        return "Better pages of its host use up the host's cap; raise the cap."
    needed = float(np.nanmin(game.score[rows]))
    return f"{_wait(game, row, judge, needed)} Or with a budget of {_rank(game, row):,} fetches."


def _wait(game: Contest, row: int, judge: Policy, needed: float) -> str:
    """How long it would have to stay unseen, the others standing still."""

    def score(days: float) -> float:
        last = game.pages.last_visit.copy()
        seen = game.pages.first_seen.copy()
        last[row] -= days * DAY
        seen[row] -= days * DAY
        older = replace(game.pages, last_visit=last, first_seen=seen)
        return float(judge.score(older, game.now)[row] * game.ruled.weight[row])

    if not score(FAR) > needed:
        return "Waiting alone would not do it under this policy: it must be seen to change."
    low, high = 0.0, FAR
    while high - low > max(0.01, 0.001 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if score(middle) > needed else (middle, high)
    return f"It would be picked after another {units.show_days(high)} unseen."
