"""The terminals: what a formula may know of a page, or of a state that pages share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from recrawl.errors import BadInput
from recrawl.rates.cho import cho
from recrawl.rates.smoothed import smoothed
from recrawl.rates.weighted import READINGS, Cycles, halving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recrawl.model import FloatArray, IntArray, Pages, Time

#: The terminals and their meaning. The four weighted ones are the rates `nad-text`, … of
#: `rates.weighted`.
TERMINALS: Final = {
    "n": "compared visits",
    "X": "visits that showed a change",
    "t": "cycles since the last visit",
    "cho": "changes a visit, by Cho & Garcia-Molina's estimator",
    "nad": "share of the visits that showed a change",
    "sad": "whether the last visit showed a change",
    "aad": "that share, with more weight on recent visits",
    "gad": "that share, each visit weighing half of the next",
    "rate": "changes a day, smoothed: above 0 for every page",
}
BASIC: Final = ("n", "X", "t")
#: Codes of the terminals in `fill_terminals`, in the order of TERMINALS.
N, X, T, CHO, NAD, SAD, AAD, GAD, RATE = range(9)
#: Columns of `model.Pages` that a formula may also name.
COLUMNS: Final = ("bytes", "seconds", "failures", "flips", "n_visits", "exposure", "host", "site")


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names without repetitions; an error for an unknown name, or for none."""
    distinct = tuple(dict.fromkeys(names))
    for name in distinct:
        if name not in TERMINALS and name not in COLUMNS:
            known = ", ".join((*TERMINALS, *COLUMNS))
            raise BadInput(f"terminals must be among {known}. Got {name!r}.")
    if not distinct:
        raise BadInput("terminals must name at least one. Got none; try n,X,t.")
    return distinct


def page_terminals(
    names: tuple[str, ...], pages: Pages, now: Time, *, cycle_days: float
) -> FloatArray:
    """One row per terminal, one column per page; an unknown size or time counts as 0."""
    rows = np.empty((len(names), len(pages)))
    for row, name in zip(rows, names, strict=True):
        read = _READERS.get(name)
        row[:] = getattr(pages, name) if read is None else read(pages, now, cycle_days)
    return np.nan_to_num(rows, copy=False, nan=0.0)


def _weighted(name: str) -> Callable[[Pages, Time, float], FloatArray]:
    def read(pages: Pages, now: Time, cycle_days: float) -> FloatArray:
        return READINGS[f"{name}-text"](pages, Cycles.at(now, pages, cycle_days))

    return read


_READERS: Final[dict[str, Callable[[Pages, Time, float], FloatArray]]] = {
    "n": lambda pages, _now, _days: pages.n_compared.astype(np.float64),
    "X": lambda pages, _now, _days: pages.n_changes.astype(np.float64),
    "t": lambda pages, now, days: pages.days_since_visit(now) / days,
    "cho": lambda pages, _now, _days: cho(pages.n_compared, pages.n_changes),
    "rate": lambda pages, _now, _days: smoothed(pages),
    **{name: _weighted(name) for name in ("nad", "sad", "aad", "gad")},
}


def terminal_codes(names: tuple[str, ...]) -> IntArray:
    """The code of each terminal; −1 for a column of pages, which states do not share."""
    code = {name: number for number, name in enumerate(TERMINALS)}
    return np.array([code.get(name, -1) for name in names], np.int64)


def needs_outcomes(names: tuple[str, ...]) -> bool:
    """Whether a terminal depends on single outcomes, not only on their counts."""
    return bool({"sad", "aad", "gad"} & set(names))


_cho = njit(cache=True)(cho)


@njit(cache=True)
def fill_terminals(codes, n, x, last, past, ranks, now, days, rows):  # type: ignore[no-untyped-def]
    """Fill row i of `rows` with the terminal codes[i] of each state at cycle `now`; skip code −1.

    A state is n visits, x of them with a change, the last in cycle `last`. `past` has the outcomes
    as bits, the newest in bit 0; `ranks` is the sum of the places of the changed ones.
    """
    for i in range(len(codes)):
        kind, row = codes[i], rows[i]
        if kind == N:
            row[:] = n
        elif kind == X:
            row[:] = x
        elif kind == T:
            row[:] = now - last
        elif kind == CHO:
            row[:] = _cho(n, x)
        elif kind == RATE:
            row[:] = (x + 0.5) / (last * days + 0.5)
        elif kind >= 0:
            _fill_weighted(kind, n, x, past, ranks, row)


@njit(cache=True)
def _fill_weighted(kind, n, x, past, ranks, row):  # type: ignore[no-untyped-def]
    visits = np.maximum(n, 1)
    if kind == NAD:
        row[:] = x / visits
    elif kind == SAD:
        row[:] = past & np.uint64(1)
    elif kind == AAD:
        row[:] = ranks / (visits * (visits + 1.0) / 2.0)
    else:
        row[:] = halving(past, n)
