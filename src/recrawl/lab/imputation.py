"""Guesses whether pages changed on days whose visit failed (Santos 2013, section 4.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.history.fold import DAY_US

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import BoolArray, IntArray


def impute(bits: BoolArray, failed: BoolArray) -> BoolArray:
    """Changes by page and day, with those of failed days guessed from the days before.

    A page changed on a failed day if the time since its last change is its most frequent time
    between changes; the shortest of equally frequent ones. With fewer than two changes it did not.

    >>> impute(np.array([[1, 0, 1, 0, 0]]) == 1, np.array([[0, 0, 0, 0, 1]]) == 1)[0].astype(int)
    array([1, 0, 1, 0, 1])
    """
    if bits.shape != failed.shape:
        raise BadInput(
            f"bits and failed must have the same shape. Got {bits.shape} and {failed.shape}."
        )
    guessed: BoolArray = bits & ~failed
    _impute(guessed, failed)
    return guessed


@njit(cache=True)
def _impute(bits, failed):  # type: ignore[no-untyped-def]
    for page in range(len(bits)):
        last, gaps = -1, np.zeros(bits.shape[1] + 1, np.int64)
        for day in range(bits.shape[1]):
            if failed[page, day]:
                bits[page, day] = day - last == np.argmax(gaps)  # no gap yet: 0, which never fits
            if bits[page, day]:
                if last >= 0:
                    gaps[day - last] += 1
                last = day


def find_missed(
    page: IntArray,
    at: NDArray[np.int64],
    differs: BoolArray,
    failed_page: IntArray,
    failed_at: NDArray[np.int64],
) -> tuple[IntArray, NDArray[np.int64]]:
    """Failed visits that, by the page's past, would have been the first to show a change.

    Visits are sorted by page and time, which is in microseconds; `differs` says which showed a
    change, which no first visit does. Returns the visits that showed it later, and the times of the
    failed ones before them. A failed visit between two visits that agree missed nothing.
    """
    order = np.lexsort((failed_at, failed_page))
    failed_page, failed_at = failed_page[order], failed_at[order]
    later = _next_visits(page, at, failed_page, failed_at)
    shown = np.append(differs, False)[later]
    failed_page, failed_at, later = failed_page[shown], failed_at[shown], later[shown]
    pages, row = np.unique(failed_page, return_inverse=True)
    mine = np.flatnonzero(np.isin(page, pages))
    day = at[mine] // DAY_US
    first = np.full(len(pages), np.iinfo(np.int64).max)
    place = np.searchsorted(pages, page[mine])
    np.minimum.at(first, place, day)
    day, failed_day = day - first[place], failed_at // DAY_US - first[row]
    bits = np.zeros((len(pages), int(day.max(initial=-1)) + 1), np.bool_)
    failed = bits.copy()
    failed[row, failed_day] = True
    failed[place, day] = False  # a visit of the same day succeeded
    bits[place[differs[mine]], day[differs[mine]]] = True
    guessed = impute(bits, failed)[row, failed_day] & failed[row, failed_day]
    shown_by, earliest = np.unique(later[guessed], return_index=True)
    return shown_by, failed_at[guessed][earliest]


def _next_visits(
    page: IntArray, at: NDArray[np.int64], failed_page: IntArray, failed_at: NDArray[np.int64]
) -> IntArray:
    """The number of the visit after each failed one, in the order of page and time."""
    merged = np.lexsort((np.concatenate([at, failed_at]), np.concatenate([page, failed_page])))
    is_visit = merged < len(page)
    before = np.cumsum(is_visit)[~is_visit]
    later = np.empty(len(failed_page), np.int64)
    later[merged[~is_visit] - len(page)] = before
    return later
