"""Simulates a score function on states instead of pages: pages with the same past share a score.

A state is created in the cycle that visits all its pages, and only loses pages afterwards. So its
pages are a slice of one pool, and those that are visited next are the front of the slice. Pages are
numbered by tie priority and slices keep that order; hence the choice is exactly that of scoring and
sorting all pages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.evolve.change_history import changed, lowest, update_turning
from recrawl.evolve.evaluate import CHUNK, evaluate
from recrawl.evolve.terminals import fill_terminals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    #: After warm-up: the pool, the states, their outcomes, and the rise of stale copies by cycle.
    Begin = tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]

#: Rows of the table of states: the slice of the pool, and what is known of its pages.
START, STOP, VISITS, CHANGES, LAST, RANKS = range(6)


@njit(cache=True)
def simulate(  # type: ignore[no-untyped-def]
    code, value, n_rows, codes, words, contents, cycles, days, begin, quotas, gain, keep
):
    """Changes found, copies left stale and NDCG by cycle, and the pages fetched.

    `begin`: see `Begin`. `quotas`: fetches by score, then by age. `gain`: of each rank, for NDCG;
    empty to skip it.
    """
    pages, warm_up = len(words), begin[1][LAST, 0]
    pool, table, past, live = _allocate(begin, quotas[0] + quotas[1])
    top = pages
    turning = begin[3].copy()
    results = np.zeros((3, cycles - warm_up))
    marks = np.zeros(pages // 64 + 1, np.uint64)
    child = np.empty(pages, np.int32)
    rows = np.empty((len(codes) + n_rows, CHUNK))
    picks = np.empty((cycles - warm_up if keep else 0, quotas[0] + quotas[1]), np.int32)
    stale = 0
    for now in range(warm_up + 1, cycles + 1):
        stale += turning[now]
        state, outcomes = table[:, :live], past[:live]
        terminals = np.empty((len(codes), live))
        n, x, last, ranks = state[VISITS], state[CHANGES], state[LAST], state[RANKS]
        fill_terminals(codes, n, x, last, outcomes, ranks, now, days, terminals)
        score = np.empty(live)
        evaluate(code, value, terminals, rows, score)
        taken = np.zeros((3, live), np.int64)
        _take(score, state, taken[0], taken[1], quotas[0], pool, pages)
        age = (now - last).astype(np.float64)
        _take(age, state, taken[1], taken[2], quotas[1], pool, pages)
        if len(gain):
            order = (pool, words, contents, now, gain)
            gained = _add_gain(0.0, score, state, taken[0], taken[1], 0, order)
            gained = _add_gain(gained, age, state, taken[1], taken[2], quotas[0], order)
            results[2, now - warm_up - 1] = ndcg(gained, gain, stale)
        if top + taken[2].sum() > len(pool):
            top = _compact(pool, state)
        live, hits, top = _visit(
            table, past, live, taken[2], pool, top, words, contents, now, marks, child, turning
        )
        stale -= hits
        results[0, now - warm_up - 1] = hits
        results[1, now - warm_up - 1] = stale
        if keep:
            picks[now - warm_up - 1] = np.sort(pool[top - picks.shape[1] : top])
        live = _drop_empty(table, past, live)
    return results, picks


@njit(cache=True)
def _allocate(begin, fetches):  # type: ignore[no-untyped-def]
    """The pool and the first states, with room to grow."""
    pool0, table0, past0, _turning = begin
    pages, live = len(pool0), table0.shape[1]
    pool = np.empty(2 * pages + fetches, np.int32)
    pool[:pages] = pool0
    table = np.empty((6, pages + 2 * fetches), np.int64)  # each visited state has two successors
    table[:, :live] = table0
    past = np.empty(pages + 2 * fetches, np.uint64)
    past[:live] = past0
    return pool, table, past, live


@njit(cache=True)
def _take(score, state, before, after, quota, pool, pages):  # type: ignore[no-untyped-def]
    """Set `after`, the pages taken of each state, to `before` plus those of the `quota` best."""
    after[:] = before
    if quota == 0:
        return
    left = state[STOP] - state[START] - before
    edge, above = _edge(score, left, quota)
    tied = np.empty(len(score), np.int64)
    count = 0
    for i in range(len(score)):
        if score[i] > edge:
            after[i] += left[i]
        elif score[i] == edge and left[i]:
            tied[count] = i
            count += 1
    if count == 1:
        after[tied[0]] += quota - above
    elif count:
        _split(tied[:count], state, before, after, quota - above, pool, pages)


@njit(cache=True)
def _edge(score, size, quota):  # type: ignore[no-untyped-def]
    """The score of the last of the `quota` best pages, and the number of pages above it."""
    some = np.flatnonzero(size)
    value, weight = score[some], size[some]
    low, high, above = 0, len(value), 0
    while True:
        pivot = _median(value[low], value[(low + high) // 2], value[high - 1])
        up, down, at = low, high, low  # larger ones before `up`, smaller ones from `down`
        heavier, equal = 0, 0
        while at < down:
            if value[at] > pivot:
                heavier += weight[at]
                value[at], value[up] = value[up], value[at]
                weight[at], weight[up] = weight[up], weight[at]
                up += 1
                at += 1
            elif value[at] < pivot:
                down -= 1
                value[at], value[down] = value[down], value[at]
                weight[at], weight[down] = weight[down], weight[at]
            else:
                equal += weight[at]
                at += 1
        if above + heavier >= quota:
            high = up
        elif above + heavier + equal >= quota or down == high:
            return pivot, above + heavier
        else:
            above += heavier + equal
            low = down


@njit(cache=True)
def _median(a, b, c):  # type: ignore[no-untyped-def]
    return max(min(a, b), min(max(a, b), c))


@njit(cache=True)
def _split(tied, state, before, after, quota, pool, pages):  # type: ignore[no-untyped-def]
    """Take the `quota` pages of highest priority from states with the same score.

    Bisects on the last page taken. Keeps for each state the range in which the cut falls, so that
    each state is searched only once.
    """
    low = state[START][tied] + before[tied]
    high = state[STOP][tied].copy()
    middle = np.empty(len(tied), np.int64)
    first, beyond, certain = -1, pages - 1, 0  # the last page taken is in (first, beyond]
    for i in range(len(tied)):
        certain += low[i]
    target = certain + quota
    while first + 1 < beyond:
        cut = (first + beyond) // 2
        total = 0
        for i in range(len(tied)):
            middle[i] = _after(pool, low[i], high[i], cut)
            total += middle[i]
        if total >= target:
            beyond = cut
            high[:] = middle
        else:
            first = cut
            low[:] = middle
    for i in range(len(tied)):
        after[tied[i]] = _after(pool, low[i], high[i], beyond) - state[START, tied[i]]


@njit(cache=True)
def _after(pool, low, high, page):  # type: ignore[no-untyped-def]
    """The first position from `low` on that holds a page after `page`."""
    while low < high:
        middle = (low + high) // 2
        if pool[middle] <= page:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def _visit(  # type: ignore[no-untyped-def]
    table, past, live, taken, pool, top, words, contents, now, marks, child, turning
):
    """Visit the taken pages, which move to new states; also returns how many had changed."""
    size, hits, born = 8, 0, live
    while size < 8 * np.count_nonzero(taken):
        size *= 2
    slots = np.full(size, -1, np.int64)
    for i in range(live):
        if taken[i] == 0:
            continue
        same, born = _successor(table, past, i, 0, now, slots, born)
        other, born = _successor(table, past, i, 1, now, slots, born)
        start, last = table[START, i], table[LAST, i]
        front = pool[start : start + taken[i]]
        changes = _mark_changed(front, words, contents, last, now, same, other, marks, child)
        _record_hits(front, words, contents, last, now, other, child, turning)
        table[STOP, same] += taken[i] - changes
        table[STOP, other] += changes
        table[START, i] += taken[i]
        hits += changes
    for i in range(live, born):  # their sizes become slices at the end of the pool
        size = table[STOP, i]
        table[START, i] = table[STOP, i] = top
        top += size
    _fill_slices(marks, child, table, pool)
    return born, hits, top


# Two loops, because numba counts array references in a loop with too many calls.
@njit(cache=True)
def _mark_changed(front, words, contents, last, now, same, other, marks, child):  # type: ignore[no-untyped-def]
    """Mark the pages and set their new state; returns how many had changed."""
    changes = 0
    for i in range(len(front)):
        page = front[i]
        marks[page >> 6] |= np.uint64(1) << np.uint64(page & 63)
        if changed(words, contents, page, last, now):
            child[page] = other
            changes += 1
        else:
            child[page] = same
    return changes


@njit(cache=True)
def _record_hits(front, words, contents, last, now, other, child, turning):  # type: ignore[no-untyped-def]
    for i in range(len(front)):
        if child[front[i]] == other:
            update_turning(words, contents, front[i], last, now, turning)


@njit(cache=True)
def _successor(table, past, parent, hit, now, slots, born):  # type: ignore[no-untyped-def]
    """The state that visited pages of `parent` move to; created if it does not exist."""
    n, x = table[VISITS, parent] + 1, table[CHANGES, parent] + hit
    ranks, outcomes = table[RANKS, parent], past[parent]
    if ranks >= 0:  # below 0: single outcomes do not matter
        ranks += hit * n
        outcomes = (outcomes << np.uint64(1)) | np.uint64(hit)
    mixed = np.uint64(n * 1_000_003 + x + ranks * 7919) ^ (outcomes * np.uint64(0x9E3779B97F4A7C15))
    at = np.int64((mixed ^ (mixed >> np.uint64(29))) & np.uint64(len(slots) - 1))
    while slots[at] >= 0:
        i = slots[at]
        same = table[VISITS, i] == n and table[CHANGES, i] == x
        if same and table[RANKS, i] == ranks and past[i] == outcomes:
            return i, born
        at = (at + 1) & (len(slots) - 1)
    slots[at] = born
    table[START, born] = table[STOP, born] = 0
    table[VISITS, born], table[CHANGES, born], table[LAST, born] = n, x, now
    table[RANKS, born], past[born] = ranks, outcomes
    return born, born + 1


@njit(cache=True)
def _fill_slices(marks, child, table, pool):  # type: ignore[no-untyped-def]
    """Put the marked pages into the slices of their states, in order of priority."""
    for i in range(len(marks)):
        word = marks[i]
        while word:
            page = i * 64 + lowest(word)
            state = child[page]
            pool[table[STOP, state]] = page
            table[STOP, state] += 1
            word &= word - np.uint64(1)
        marks[i] = 0


@njit(cache=True)
def _compact(pool, state):  # type: ignore[no-untyped-def]
    """Move all slices to the front of the pool, in the order of the states."""
    top = 0
    for i in range(state.shape[1]):
        size = state[STOP, i] - state[START, i]
        for at in range(size):
            pool[top + at] = pool[state[START, i] + at]
        state[START, i], state[STOP, i] = top, top + size
        top += size
    return top


@njit(cache=True)
def _drop_empty(table, past, live):  # type: ignore[no-untyped-def]
    kept = 0
    for i in range(live):
        if table[START, i] < table[STOP, i]:
            if kept < i:
                for row in range(len(table)):
                    table[row, kept] = table[row, i]
                past[kept] = past[i]
            kept += 1
    return kept


@njit(cache=True)
def _add_gain(total, score, state, before, after, rank, order):  # type: ignore[no-untyped-def]
    """`total` plus the discounted gain of the taken pages, best first, starting at `rank`."""
    pool, words, contents, now, gain = order
    some = np.flatnonzero(after > before)
    best = some[np.argsort(-score[some], kind="mergesort")]
    i = 0
    while i < len(best):
        j, size = i, 0
        while j < len(best) and score[best[j]] == score[best[i]]:
            size += after[best[j]] - before[best[j]]
            j += 1
        tied = np.empty((size, 2), np.int64)
        size = 0
        for state_ in best[i:j]:
            start = state[START, state_]
            for at in range(start + before[state_], start + after[state_]):
                tied[size, 0], tied[size, 1] = pool[at], state[LAST, state_]
                size += 1
        for at in np.argsort(tied[:, 0]) if j > i + 1 else np.arange(size):
            if changed(words, contents, tied[at, 0], tied[at, 1], now):
                total += gain[rank]
            rank += 1
        i = j
    return total


@njit(cache=True)
def ndcg(gained, gain, possible):  # type: ignore[no-untyped-def]
    """The gain as a share of that of the best order; 1 if there was nothing to find."""
    best = gain[: min(len(gain), possible)].sum()
    return gained / best if best > 0.0 else 1.0
