"""What do the terminals say of a state? Pages with the same past share all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.evolve.terminals import TERMINALS
from recrawl.rates.cho import cho
from recrawl.rates.weighted import halving

if TYPE_CHECKING:
    from recrawl.model import IntArray

N, X, T, CHO, NAD, SAD, AAD, GAD, RATE = range(9)
_cho = njit(cache=True)(cho)


def kinds(names: tuple[str, ...]) -> IntArray:
    """Terminals by number, as `fill` takes them; −1 for what is a fact of single pages."""
    known = {name: kind for kind, name in enumerate(TERMINALS)}
    return np.array([known.get(name, -1) for name in names], np.int64)


def needs_past(names: tuple[str, ...]) -> bool:
    """Whether a terminal looks at single outcomes, and not only at their counts."""
    return bool({"sad", "aad", "gad"} & set(names))


@njit(cache=True)
def fill(asked, n, x, last, past, ranks, now, days, rows):  # type: ignore[no-untyped-def]
    """A row of `rows` for each terminal asked for, at cycle `now`; others are left alone.

    A state is n visits, x of them with a change, the last in cycle `last`; `past` has the
    outcomes as bits, the newest in bit 0, and `ranks` the sum of the places of the changed ones.
    """
    for i in range(len(asked)):
        kind, row = asked[i], rows[i]
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
    some = np.maximum(n, 1)
    if kind == NAD:
        row[:] = x / some
    elif kind == SAD:
        row[:] = past & np.uint64(1)
    elif kind == AAD:
        row[:] = ranks / (some * (some + 1.0) / 2.0)
    else:
        row[:] = halving(past, n)
