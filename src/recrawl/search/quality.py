"""How good are the answers from our copies? Repository quality Q, exact (Pandey & Olston 2005).

Answers are ranked by our copies and valued by the live ones: that is what a searcher gets who
follows them. Q is their value as a share of what live copies would give. A repository, like the
live web, is an array: the document held of each page, −1 for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray
    from recrawl.search.matches import Matches

LIVE, HELD = 1, 2  #: roles of a document, as bits


def usefulness(matches: Matches, copies: IntArray, live: IntArray, p_view: FloatArray) -> float:
    """Sum over queries and pages of frequency × view probability at our rank × live score (Eq. 5).

    `p_view` is the view probability by rank.
    """
    return float(query_usefulness(matches, copies, live, p_view, np.arange(len(matches))).sum())


def query_usefulness(
    matches: Matches, copies: IntArray, live: IntArray, p_view: FloatArray, queries: IntArray
) -> FloatArray:
    """The part of each of these queries in `usefulness`."""
    role = np.zeros(len(matches.page), np.uint8)  # of each document
    role[live[live >= 0]] |= LIVE
    role[copies[copies >= 0]] |= HELD
    useful = np.zeros(len(queries))
    _usefulness(*_columns(matches), p_view, role, np.zeros(len(live)), queries, useful)
    return useful


def quality(matches: Matches, copies: IntArray, live: IntArray, p_view: FloatArray) -> float:
    """Q, from 0 to 1; 1 if no query matches anything live."""
    useful, best = (usefulness(matches, held, live, p_view) for held in (copies, live))
    return float(share_of_best(np.array(useful), np.array(best)))


def share_of_best(useful: FloatArray, best: FloatArray) -> FloatArray:
    """Q, given the usefulness of our copies and of live ones; 1 where live ones have none."""
    return np.divide(useful, best, out=np.ones(best.shape), where=best > 0)


class UsefulnessTracker:
    """Usefulness of copies that change step by step: ranks only what a step touches again."""

    def __init__(self, matches: Matches, pages: int, p_view: FloatArray) -> None:
        self.matches, self.p_view = matches, p_view
        self._copies = self._live = np.full(pages, -1)
        self._useful = np.zeros(len(matches))  # by query

    def usefulness(self, copies: IntArray, live: IntArray) -> float:
        """The same as from scratch."""
        came = [now[was != now] for was, now in ((self._copies, copies), (self._live, live))]
        went = [was[was != now] for was, now in ((self._copies, copies), (self._live, live))]
        queries = self.matches.queries_of(np.concatenate([*came, *went]))
        useful = query_usefulness(self.matches, copies, live, self.p_view, queries)
        self._useful[queries] = useful
        self._copies, self._live = copies.copy(), live.copy()
        return float(self._useful.sum())


def visibility(
    matches: Matches, live: IntArray, p_view: FloatArray, *, scored: bool = True
) -> FloatArray:
    """What each page contributes to the usefulness of answers; its views only, if not `scored`."""
    visible = np.zeros(len(live))
    _visibility(*_columns(matches), p_view, live, scored, visible)
    return visible


def exact_gains(
    matches: Matches, stale: IntArray, live: IntArray, p_view: FloatArray
) -> FloatArray:
    """What refreshing each page alone would add to usefulness if all others were live.

    `stale` is the document we hold of each page. 0 where that is the live one.
    """
    gain = np.zeros(len(live))
    _gains(*_columns(matches), p_view, stale, live, gain)
    return gain


def _columns(matches: Matches) -> tuple[Any, Any, Any, Any, Any]:
    return matches.start, matches.document, matches.score, matches.frequency, matches.page


@njit(cache=True, nogil=True)
def _usefulness(start, document, score, frequency, page, p_view, role, value, queries, useful):  # type: ignore[no-untyped-def]
    """`value` comes filled with zeros: the live score of pages whose copy is another document."""
    for i, query in enumerate(queries):
        for at in range(start[query], start[query + 1]):
            if role[document[at]] == LIVE:
                value[page[document[at]]] = score[at]
        rank, total = 0, 0.0
        for at in range(start[query], start[query + 1]):
            what = role[document[at]]
            if what & HELD:
                rank += 1
                total += p_view[rank] * (score[at] if what & LIVE else value[page[document[at]]])
        useful[i] = frequency[query] * total
        for at in range(start[query], start[query + 1]):
            if role[document[at]] == LIVE:
                value[page[document[at]]] = 0.0


@njit(cache=True, nogil=True)
def _visibility(start, document, score, frequency, page, p_view, live, scored, visible):  # type: ignore[no-untyped-def]
    for query in range(len(frequency)):
        rank = 0
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if live[p] == document[at]:
                rank += 1
                visible[p] += frequency[query] * p_view[rank] * (score[at] if scored else 1.0)


@njit(cache=True, nogil=True)
def _gains(start, document, score, frequency, page, p_view, stale, live, gain):  # type: ignore[no-untyped-def]
    """When a page moves to another place of the list, the pages between move by one rank.

    Running sums of I(r)·S(r) and I(r ± 1)·S(r) give their gain, for all pages of a query at once.
    """
    sums = np.zeros((3, len(p_view)))
    place, was = np.zeros(len(live), np.int64), np.zeros(len(live), np.int64)
    value = np.zeros(len(live))
    for query in range(len(frequency)):
        rank, moved = 0, False
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if live[p] == document[at]:
                rank += 1
                place[p], value[p] = rank, score[at]
                for i, near in enumerate((rank, rank - 1, rank + 1)):
                    sums[i, rank] = sums[i, rank - 1] + p_view[near] * score[at]
            elif stale[p] == document[at]:
                was[p] = rank + 1 - (place[p] > 0)  # its rank if the live copy were not listed
            moved = moved or stale[p] != live[p]
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if moved and stale[p] != live[p] and place[p] != was[p]:
                own = (p_view[place[p]] - p_view[was[p]]) * value[p]
                gain[p] += frequency[query] * (own + _others(sums, place[p], was[p], rank))
                place[p], was[p] = 0, 0  # each page once
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            place[p], was[p], value[p] = 0, 0, 0.0


@njit(cache=True, nogil=True)
def _others(sums, now, then, last):  # type: ignore[no-untyped-def]
    """What other pages gain if a page moves from rank `then` to `now`; 0 is no rank.

    `last` is the length of the list.
    """
    same, up, down = sums
    if now == 0:
        return (same[last] - same[then - 1]) - (down[last] - down[then - 1])
    if then == 0 or then > now:
        last = last if then == 0 else then
        return (same[last] - same[now]) - (up[last] - up[now])
    return (same[now - 1] - same[then - 1]) - (down[now - 1] - down[then - 1])
