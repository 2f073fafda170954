"""What may a score function know of a page? Its terminals, as columns of pages give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.errors import BadInput
from recrawl.rates.cho import cho
from recrawl.rates.smoothed import smoothed
from recrawl.rates.weighted import READINGS, Cycles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recrawl.model import FloatArray, Pages, Time

#: What each terminal is. The four weighted ones are the rates of `rates.weighted`, read as text.
TERMINALS: Final = {
    "n": "compared visits",
    "X": "visits that showed a change",
    "t": "cycles since the last visit",
    "cho": "changes a visit, by Cho & Garcia-Molina's estimator",
    "nad": "share of the visits that showed a change",
    "sad": "whether the last visit did",
    "aad": "the share, recent visits counting more",
    "gad": "the share, each visit counting half of the next",
    "rate": "changes a day, smoothed: above 0 for every page",
}
BASIC: Final = ("n", "X", "t")
#: Columns of `model.Pages` that a formula may also name.
COLUMNS: Final = ("bytes", "seconds", "failures", "flips", "n_visits", "exposure", "host", "site")


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """The terminals asked for, each once; refuses a name that is none."""
    asked = tuple(dict.fromkeys(names))
    for name in asked:
        if name not in TERMINALS and name not in COLUMNS:
            known = ", ".join((*TERMINALS, *COLUMNS))
            raise BadInput(f"terminals must be among {known}. Got {name!r}.")
    if not asked:
        raise BadInput("terminals must name at least one. Got none; try n,X,t.")
    return asked


def of_pages(names: tuple[str, ...], pages: Pages, now: Time, *, cycle_days: float) -> FloatArray:
    """A row a terminal, a column a page; a size or time that is not known counts as 0."""
    rows = np.empty((len(names), len(pages)))
    for row, name in zip(rows, names, strict=True):
        row[:] = _READ[name](pages, now, cycle_days) if name in _READ else getattr(pages, name)
    return np.nan_to_num(rows, copy=False, nan=0.0)


def _weighted(name: str) -> Callable[[Pages, Time, float], FloatArray]:
    def read(pages: Pages, now: Time, cycle_days: float) -> FloatArray:
        return READINGS[f"{name}-text"](pages, Cycles.at(now, pages, cycle_days))

    return read


_READ: Final[dict[str, Callable[[Pages, Time, float], FloatArray]]] = {
    "n": lambda pages, _now, _days: pages.n_compared.astype(np.float64),
    "X": lambda pages, _now, _days: pages.n_changes.astype(np.float64),
    "t": lambda pages, now, days: pages.days_since_visit(now) / days,
    "cho": lambda pages, _now, _days: cho(pages.n_compared, pages.n_changes),
    "rate": lambda pages, _now, _days: smoothed(pages),
    **{name: _weighted(name) for name in ("nad", "sad", "aad", "gad")},
}
