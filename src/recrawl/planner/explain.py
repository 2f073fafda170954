"""Why is this page in the plan, or why not, and what would put it there?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from recrawl import units, urls
from recrawl.errors import BadInput
from recrawl.model import DAY, rows_of
from recrawl.planner.plan import (
    DISCOVERED,
    RETRIED,
    SCORED,
    describe,
    due,
    expected,
    find_candidates,
)
from recrawl.protocols import Reasoner
from recrawl.public import public
from recrawl.rates.smoothed import quantiles, smoothed
from recrawl.results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import BoolArray, Budget, IntArray, Pages, Time
    from recrawl.planner.plan import Candidates, PlanOptions
    from recrawl.protocols import History

MAX_WAIT_DAYS = 3650.0  #: how far ahead to look for the day on which the page would be picked


@public
@dataclass(frozen=True, repr=False)
class Explanation(Results):
    """What is known of one page and how it ranks."""

    url: str
    history: str
    rate: float  #: changes a day
    rate_low: float  #: 5 % quantile
    rate_high: float  #: 95 % quantile
    p_change: float
    p_answer: float  #: the probability that a visit gets an answer
    signals: list[str]  #: what sitemaps and feeds claim, and how far that can be believed
    reasons: list[str]  #: the policy's reasons, the strongest first; empty if it gives none
    score: float
    rank: int  #: its place in the plan; behind the plan, by score
    of: int
    picked: bool
    verdict: str  #: what would have to happen for it to be picked

    def _rows(self) -> Iterator[dict[str, str]]:
        """The explanation line by line, as the command prints it."""
        likely = f"90 % between {self.rate_low:.2g} and {self.rate_high:.2g}"
        lines = [
            ("page", self.url),
            ("history", self.history),
            ("rate", f"{self.rate:.3g} changes a day ({likely})"),
            ("a visit now", f"shows a change with probability {self.p_change:.2f}"),
            *([("answers", self._answers())] if self.p_answer < 1.0 else []),
            *(("signal", signal) for signal in self.signals),
            *(("because", reason) for reason in self.reasons),
            ("score", f"{self.score:.4g}, rank {self.rank:,} of {self.of:,}"),
            ("in the plan", self.verdict),
        ]
        return ({"about": about, "text": text} for about, text in lines)

    def _answers(self) -> str:
        return (
            f"with probability {self.p_answer:.2g}, by how such pages and their host fared; "
            "this is part of the probability and the score"
        )

    def __str__(self) -> str:
        return "\n".join(f"{line['about']:<11}  {line['text']}" for line in self)

    def __repr__(self) -> str:
        return f"<Explanation: {self.url}, rank {self.rank:,} of {self.of:,}>"


def explain(
    history: History,
    page: str | int,
    budget: Budget | str | int = "5%",
    **options: Unpack[PlanOptions],
) -> Explanation:
    """Explain one page, given by URL or page id, against the plan for this budget.

    The options are those of `plan`.
    """
    pages = history.pages()
    row = _row_of(pages, page)
    rows = np.array([row])
    candidates = find_candidates(history, pages, budget, **options)
    now, one = candidates.now, pages.take(rows)
    chosen, why = candidates.choose()
    picked = bool(np.isin(row, chosen))
    rivals = chosen[why == _reason_to_pick(candidates, row)]
    low, high = quantiles(one, (0.05, 0.95))[0]
    return Explanation(
        url=one.urls()[0],
        history=describe(one, 0, now),
        rate=float(smoothed(one)[0]),
        rate_low=float(low),
        rate_high=float(high),
        p_change=float(candidates.p_change(rows)[0]),
        p_answer=float(candidates.answers[row]),
        signals=_signals(candidates.pages.take(rows), now),
        reasons=_reasons(candidates, row),
        score=float(candidates.score[row]),
        rank=_rank(candidates, row, chosen),
        of=len(pages),
        picked=picked,
        verdict="It is in the plan." if picked else _verdict(candidates, row, rivals),
    )


def _row_of(pages: Pages, page: str | int) -> int:
    if isinstance(page, str):
        row = pages.rows_of(urls.keys([urls.canonical(page)]))[0]
    else:
        row = rows_of(np.array([page]), pages.page_id)[0]
    if row < 0:
        raise BadInput(
            "The page must be a URL or page_id of the store. "
            f"Got {page!r}, which it has never seen."
        )
    return int(row)


def _reasons(candidates: Candidates, row: int) -> list[str]:
    return (
        candidates.policy.reasons(candidates.pages, row)
        if isinstance(candidates.policy, Reasoner)
        else []
    )


def _signals(page: Pages, now: Time) -> list[str]:
    """What each kind of signal claims about a page, and how far it can be believed on its host."""
    if page.signals is None:
        return []
    own, (effective,), (age,) = page.signals, page.days_since_visit(now), page.copy_age(now)
    lines = []
    for column in np.flatnonzero(np.isfinite(own.said[0])).tolist():
        ago = units.show_days((now - float(own.said[0, column])) / DAY)
        times = units.count(int(own.claims[0, column]), "change")
        lines.append(
            f"{own.kinds[column]} claims {times} since our last visit, the last {ago} ago; on this "
            f"host it reports {own.recall[0, column]:.0%} of the changes, and claims "
            f"{own.noise[0, column]:.2g} a day that are none"
        )
    if lines:
        days = units.show_days(float(age)), units.show_days(float(effective))
        lines.append(f"so that {days[0]} unseen count as {days[1]}")
    return lines


def _reason_to_pick(candidates: Candidates, row: int) -> int:
    """Which part of the plan the page competes for."""
    if candidates.is_retry[row]:
        return RETRIED
    is_new = candidates.budget.discover is not None and candidates.pages.n_visits[row] == 0
    return DISCOVERED if is_new else SCORED


def _rank(candidates: Candidates, row: int, chosen: IntArray) -> int:
    place = np.flatnonzero(chosen == row)
    if place.size:
        return int(place[0]) + 1
    rest = np.ones(len(candidates.score), np.bool_)
    rest[chosen] = False
    return len(chosen) + int((_ahead(candidates, row) & rest).sum()) + 1


def _ahead(candidates: Candidates, row: int) -> BoolArray:
    """Whether each page comes before this one, by score and ties."""
    score, ties = candidates.score, candidates.ties
    ahead: BoolArray = (score > score[row]) | ((score == score[row]) & (ties < ties[row]))
    return ahead


def _enough_fetches(candidates: Candidates, row: int) -> int:
    """The least budget, in fetches, that picks a page which competes by its score."""
    rivals = candidates.eligible & ~candidates.is_retry
    ahead = int((_ahead(candidates, row) & rivals).sum())
    low, high = ahead, int((ahead + 2) / (1.0 - min(candidates.budget.retry, 0.999))) + 1
    while high - low > 1:
        middle = (low + high) // 2
        is_enough = middle - candidates.retries(middle) > ahead
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _verdict(candidates: Candidates, row: int, winners: IntArray) -> str:
    """Why the page is not in the plan; `winners` are the rows that are there for their score."""
    if candidates.rules.never[row]:
        return "A rule says never; remove the rule to have it picked."
    if not candidates.eligible[row]:
        when = units.show_time(float(due(candidates.pages, candidates.rules)[row]))
        why = (
            f"its visits fail, and one is answered with probability {candidates.answers[row]:.2g}"
            if candidates.pages.failures[row]
            else "a rule sets its least interval"
        )
        return f"Not before {when}, because {why}."
    if not winners.size:
        return "The budget leaves nothing for pages of its kind; raise it."
    if candidates.budget.bytes is not None or candidates.budget.seconds is not None:
        return "Better pages use up the bytes or the time, or it does not fit into the rest."
    rivals = winners[candidates.pages.host[winners] == candidates.pages.host[row]]
    limits = candidates.budget
    caps = limits.host_cap is not None or limits.host_delay > 0 or limits.host_share is not None
    capped = caps and _is_chosen_without_caps(candidates, row)
    if capped and not rivals.size:
        return "Its host's cap or delay allows no visit; raise it."
    needed = float(candidates.score[rivals if capped else winners].min())
    wait = _wait(candidates, row, needed)
    if capped:
        return f"Better pages of its host use up the host's cap. {wait}"
    if caps or candidates.budget.discover is not None or candidates.is_retry[row]:
        return wait
    return f"{wait} Or with a budget of {_enough_fetches(candidates, row):,} fetches."


def _is_chosen_without_caps(candidates: Candidates, row: int) -> bool:
    """Whether the page would be in the plan if no host had a cap, a delay or a share."""
    free = replace(
        candidates.budget, host_cap=None, host_delay=0.0, host_delays={}, host_share=None
    )
    chosen, _ = replace(candidates, budget=free).choose()
    return bool(np.isin(row, chosen))


def _wait(candidates: Candidates, row: int, needed: float) -> str:
    """How long the page would have to stay unseen to score more than `needed`."""

    def score(days: float) -> float:
        last = candidates.pages.last_visit.copy()
        seen = candidates.pages.first_seen.copy()
        last[row] -= days * DAY
        seen[row] -= days * DAY
        older = replace(candidates.pages, last_visit=last, first_seen=seen)
        worth = candidates.policy.score(older, candidates.now) * candidates.rules.weight
        return float(expected(worth, candidates.answers)[row])

    if not score(MAX_WAIT_DAYS) > needed:
        return "Waiting alone would not do it under this policy: it must be seen to change."
    low, high = 0.0, MAX_WAIT_DAYS
    while high - low > max(0.01, 0.001 * high):
        middle = (low + high) / 2
        low, high = (low, middle) if score(middle) > needed else (middle, high)
    return (
        f"It would be picked after another {units.show_days(high)} unseen, all else standing still."
    )
