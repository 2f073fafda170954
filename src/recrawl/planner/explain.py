"""Why is this page in the plan, or why not, and what would put it there?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.model import DAY
from recrawl.planner.plan import (
    DEFAULT_POLICY,
    DISCOVERED,
    SCORED,
    boost,
    contest,
    due,
    p_change,
    told,
)
from recrawl.planner.signals import odds, updated
from recrawl.protocols import Reasoner
from recrawl.rates.smoothed import quantiles, smoothed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import Budget, Time
    from recrawl.planner.plan import Candidates
    from recrawl.planner.rules import Rule
    from recrawl.planner.signals import SignalEvidence
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
    signals: list[str]  #: what sitemaps and feeds say, and what that is worth
    reasons: list[str]  #: why the policy wants it or not, the strongest first, if it can say
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
    ties: str = "hash",
    seed: int = 0,
) -> Explanation:
    """Explain one page against the plan for this budget."""
    game = contest(history, budget, now=now, policy=policy, rules=rules, ties=ties, seed=seed)
    found = np.flatnonzero(game.pages.page_id == page_id)
    if not found.size:
        raise BadInput(f"page_id must be that of a known page. Got {page_id!r}.")
    one, row = game.pages.take(found), int(found[0])
    rows, why = game.choose()
    picked = bool(np.isin(row, rows))
    apart = game.budget.discover is not None and game.pages.n_visits[row] == 0
    rivals = rows[why == (DISCOVERED if apart else SCORED)]
    low, high = quantiles(one, (0.05, 0.95))[0]
    return Explanation(
        url=one.urls()[0],
        history=told(one, 0, game.now),
        rate=float(smoothed(one)[0]),
        rate_low=float(low),
        rate_high=float(high),
        p_change=float(
            updated(p_change(game.policy, one, game.now), odds(game.heard, len(game.pages))[found])[
                0
            ]
        ),
        signals=[_signal(said, row, game.now) for said in game.heard if row in said.rows],
        reasons=_reasons(game, row),
        score=float(game.score[row]),
        rank=_rank(game, row),
        of=len(game.pages),
        picked=picked,
        verdict="It is in the plan." if picked else _verdict(game, row, rivals),
    )


def _reasons(game: Candidates, row: int) -> list[str]:
    return game.policy.reasons(game.pages, row) if isinstance(game.policy, Reasoner) else []


def _signal(said: SignalEvidence, row: int, now: Time) -> str:
    """What one kind of signal says of a page, and how far it can be believed on its host."""
    at = int(np.flatnonzero(said.rows == row)[0])
    ago = units.show_days((now - float(said.said[at])) / DAY)
    seen = "since our last visit" if said.claimed[at] else "before our last visit"
    return (
        f"{said.kind} says it changed {ago} ago, {seen}; on this host it tells "
        f"{said.recall[at]:.0%} of the changes, and claims one in {said.false_alarms[at]:.0%} of "
        f"the cases without: odds × {said.odds()[at]:.2g}"
    )


def _rank(game: Candidates, row: int) -> int:
    score, ties = game.score, game.ties
    ahead = (score > score[row]) | ((score == score[row]) & (ties < ties[row]))
    return int(ahead.sum()) + 1


def _verdict(game: Candidates, row: int, winners: np.ndarray) -> str:
    """Why the page is not in the plan; `winners` are the rows that are there for their score."""
    if game.ruled.never[row]:
        return "A rule says never; remove the rule to have it picked."
    if not game.eligible[row]:
        when = units.show_time(float(due(game.pages, game.ruled)[row]))
        why = "its visits fail" if game.pages.failures[row] else "a rule sets its least interval"
        return f"Not before {when}, because {why}."
    if not winners.size:
        return "The budget leaves nothing for scored pages; raise it."
    if game.budget.bytes is not None or game.budget.seconds is not None:
        return "Better pages use up the bytes or the time, or it does not fit into the rest."
    rivals = winners[game.pages.host[winners] == game.pages.host[row]]
    caps = game.budget.host_cap is not None or game.budget.host_delay > 0
    capped = caps and (game.score[row] > game.score[winners].min() or len(winners) < game.fetches)
    if capped and not rivals.size:
        return "Its host's cap or delay allows no visit; raise it."
    needed = float(game.score[rivals if capped else winners].min())
    wait = _wait(game, row, needed)
    if capped:
        return f"Better pages of its host use up the host's cap. {wait}"
    apart = caps or game.budget.discover is not None
    return wait if apart else f"{wait} Or with a budget of {_rank(game, row):,} fetches."


def _wait(game: Candidates, row: int, needed: float) -> str:
    """How long it would have to stay unseen."""

    def score(days: float) -> float:
        last = game.pages.last_visit.copy()
        seen = game.pages.first_seen.copy()
        last[row] -= days * DAY
        seen[row] -= days * DAY
        older = replace(game.pages, last_visit=last, first_seen=seen)
        worth = game.policy.score(older, game.now) * game.ruled.weight
        return float((worth * boost(game.policy, game.heard, older, game.now))[row])

    if not score(FAR) > needed:
        return "Waiting alone would not do it under this policy: it must be seen to change."
    low, high = 0.0, FAR
    while high - low > max(0.01, 0.001 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if score(middle) > needed else (middle, high)
    return (
        f"It would be picked after another {units.show_days(high)} unseen, all else standing still."
    )
