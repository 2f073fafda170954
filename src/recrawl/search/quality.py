"""How good are the answers from our copies? Repository quality Q, exactly (Pandey & Olston 2005).

Answers are ranked by our copies and valued by the live ones: what a searcher finds who follows
them. Q is that value as a share of what live copies alone would give. A repository, like the live
web, is for each page the document that it holds, −1 for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray
    from recrawl.search.matches import Matches


def usefulness(found: Matches, copies: IntArray, live: IntArray, looked: FloatArray) -> float:
    """The sum over queries and pages of frequency × inspection at our rank × live score.

    `looked` is the inspection by rank.
    """
    return float(
        _useful(
            found.start, found.document, found.score, found.frequency, found.page, looked,
            copies, live,
        )
    )  # fmt: skip


def quality(found: Matches, copies: IntArray, live: IntArray, looked: FloatArray) -> float:
    """Q, from 0 to 1; 1 where no query finds anything live."""
    best = usefulness(found, live, live, looked)
    return usefulness(found, copies, live, looked) / best if best > 0 else 1.0


def visibility(
    found: Matches, live: IntArray, looked: FloatArray, *, scored: bool = True
) -> FloatArray:
    """What each page contributes to the usefulness of answers; its looks alone, if not `scored`."""
    seen = np.zeros(len(live))
    _visible(
        found.start, found.document, found.score, found.frequency, found.page, looked, live,
        scored, seen,
    )  # fmt: skip
    return seen


def gains(found: Matches, stale: IntArray, live: IntArray, looked: FloatArray) -> FloatArray:
    """What refreshing each page alone would add to usefulness, all others being live; exactly.

    `stale` is what we hold of each page. 0 where that is the live copy.
    """
    gain = np.zeros(len(live))
    _gains(
        found.start, found.document, found.score, found.frequency, found.page, looked, stale,
        live, gain,
    )  # fmt: skip
    return gain


@njit(cache=True, nogil=True)
def _useful(start, document, score, frequency, page, looked, copies, live):  # type: ignore[no-untyped-def]
    value = np.zeros(len(live))
    total = 0.0
    for query in range(len(frequency)):
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if live[p] == document[at]:
                value[p] = score[at]
        rank, useful = 0, 0.0
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if copies[p] == document[at]:
                rank += 1
                useful += looked[rank] * value[p]
        total += frequency[query] * useful
        for at in range(start[query], start[query + 1]):
            value[page[document[at]]] = 0.0
    return total


@njit(cache=True, nogil=True)
def _visible(start, document, score, frequency, page, looked, live, scored, seen):  # type: ignore[no-untyped-def]
    for query in range(len(frequency)):
        rank = 0
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if live[p] == document[at]:
                rank += 1
                seen[p] += frequency[query] * looked[rank] * (score[at] if scored else 1.0)


@njit(cache=True, nogil=True)
def _gains(start, document, score, frequency, page, looked, stale, live, gain):  # type: ignore[no-untyped-def]
    """Where a page leaves the list or enters it elsewhere, those between move by one rank.

    So sums over ranks of I(r)·S(r), and of I(r ± 1)·S(r), tell what that is worth, for all pages of
    a query at once.
    """
    sums = np.zeros((3, len(looked)))
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
                    sums[i, rank] = sums[i, rank - 1] + looked[near] * score[at]
            elif stale[p] == document[at]:
                was[p] = rank + 1 - (place[p] > 0)  # as if it were not in the list itself
            moved = moved or stale[p] != live[p]
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            if moved and stale[p] != live[p] and place[p] != was[p]:
                own = (looked[place[p]] - looked[was[p]]) * value[p]
                gain[p] += frequency[query] * (own + _others(sums, place[p], was[p], rank))
                place[p], was[p] = 0, 0  # each page once
        for at in range(start[query], start[query + 1]):
            p = page[document[at]]
            place[p], was[p], value[p] = 0, 0, 0.0


@njit(cache=True, nogil=True)
def _others(sums, now, then, last):  # type: ignore[no-untyped-def]
    """What others gain if a page goes to a rank from another, or none, 0, in a list so long."""
    same, up, down = sums
    if now == 0:
        return (same[last] - same[then - 1]) - (down[last] - down[then - 1])
    if then == 0 or then > now:
        last = last if then == 0 else then
        return (same[last] - same[now]) - (up[last] - up[now])
    return (same[now - 1] - same[then - 1]) - (down[now - 1] - down[then - 1])
