"""Answer every query of a workload once: its curve, and what pages are viewed in its answer.

A query at a time, so the memory needed is that of the terms and not that of all matches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.search.curves import PIECES, curves_through, pick_knots

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.query_scores import QueryLists
    from recrawl.search.terms import TermCounts

FEW = 64  #: keys that are sorted fastest by comparing them
MANY = 16  #: times as many places are searched by halves and not one by one
PLACE = np.uint64(0xFFFFFFFF)  #: the lower half of a key


def answer_queries(
    counts: TermCounts,
    term_score: FloatArray,
    lists: QueryLists,
    p_view: FloatArray,
    frequency: FloatArray,
) -> tuple[NDArray[np.float32], FloatArray, FloatArray]:
    """The curve of each query; the views of each text and its visibility, views × score.

    `p_view` is the view probability by rank, `frequency` how often each query is asked. Of texts
    with the same score the first has the better rank.
    """
    begin = np.zeros(len(lists.begin), np.int64)
    text, score = np.empty(len(counts.term), np.int32), np.empty(len(counts.term))
    _post((counts.start, counts.term, term_score), begin, text, score)
    n_matches = np.zeros(len(lists.query), np.int64)
    knots = np.ones((len(lists.query), PIECES + 1, 2), np.float32)
    views, visibility = np.zeros((2, len(counts.length)))
    _answer(
        (begin, text, score), lists.columns, p_view, frequency,
        (n_matches, knots), views, visibility,
    )  # fmt: skip
    return curves_through(n_matches, knots), views, visibility


@njit(cache=True, nogil=True)
def _post(texts, begin, text, score):  # type: ignore[no-untyped-def]
    """Term t is held by text[begin[t]:begin[t + 1]], ascending, with scores > 0."""
    start, term, term_score = texts
    for i in range(len(term)):
        begin[term[i] + 1] += term_score[i] > 0.0
    for t in range(1, len(begin)):
        begin[t] += begin[t - 1]
    room = begin.copy()
    for row in range(len(start) - 1):
        for i in range(start[row], start[row + 1]):
            if term_score[i] > 0.0:
                at = room[term[i]]
                text[at], score[at] = row, term_score[i]
                room[term[i]] += 1


@njit(cache=True, nogil=True)
def _answer(postings, queries, p_view, frequency, fits, views, visibility):  # type: ignore[no-untyped-def]
    _, query, start, term, weight = queries
    n_matches, knots = fits
    most = np.diff(postings[0]).max() if len(query) else 0
    text, score = np.empty(most, np.int32), np.empty(most)
    rounded, keys = np.empty(most, np.float32), np.empty((2, most), np.uint64)
    for at in range(len(query)):
        n, number = _match(term[start[at] : start[at + 1]], postings, text, score), query[at]
        for i in range(n):
            score[i] *= weight[at]
            rounded[i] = score[i]
        places = keys[0, :n]
        _rank(rounded[:n], places, keys[1, :n])
        for i in range(n):
            place = places[i]
            often = p_view[i + 1] * frequency[number]
            views[text[place]] += often
            visibility[text[place]] += often * score[place]
        n_matches[number] = n
        pick_knots(rounded, places, knots[number])


@njit(cache=True, nogil=True)
def _match(terms, postings, text, score):  # type: ignore[no-untyped-def]
    """Write the texts that hold all terms, and the sums of their scores; say how many they are."""
    begin, held_by, term_score = postings
    first, last = begin[terms[0]], begin[terms[0] + 1]
    n = last - first
    text[:n], score[:n] = held_by[first:last], term_score[first:last]
    for t in terms[1:]:
        at, last, some = begin[t], begin[t + 1], n
        n = 0
        for i in range(some):
            if last - at > MANY * (some - i):
                at += np.searchsorted(held_by[at:last], text[i])
            while at < last and held_by[at] < text[i]:
                at += 1
            if at < last and held_by[at] == text[i]:
                text[n], score[n] = text[i], score[i] + term_score[at]
                n += 1
    return n


@njit(cache=True, nogil=True)
def _rank(score, key, room):  # type: ignore[no-untyped-def]
    """Write the places of the scores into `key`, best first.

    A key is a score, then a place: the bits of positive floats sort like these.
    """
    bits = score.view(np.uint32)
    for i in range(len(key)):
        key[i] = np.uint64(~bits[i]) << np.uint64(32) | np.uint64(i)
    if len(key) < FEW:
        key.sort()
    else:
        counts = np.empty(256, np.int64)
        for shift in (32, 48):  # two bytes a turn; where they are the same the order stays
            _sort_by_byte(key, room, np.uint64(shift), counts)
            _sort_by_byte(room, key, np.uint64(shift + 8), counts)
    for i in range(len(key)):
        key[i] &= PLACE


@njit(cache=True, nogil=True)
def _sort_by_byte(key, into, shift, counts):  # type: ignore[no-untyped-def]
    counts[:] = 0
    for i in range(len(key)):
        counts[(key[i] >> shift) & np.uint64(255)] += 1
    end = 0
    for byte in range(256):
        end, counts[byte] = end + counts[byte], end
    for i in range(len(key)):
        byte = (key[i] >> shift) & np.uint64(255)
        into[counts[byte]] = key[i]
        counts[byte] += 1
