"""The share of visits that showed a change, with more or less weight on recent ones.

NAD, SAD, AAD and GAD of Tan & Mitra (2010): λ = Σ w·I. In the thesis that compares them (Santos
2013) text and code differ, so both are here. `*-text` weighs a page's compared visits in their
order, oldest first. `*-code` weighs the cycles 1 … c − 1, visited or not. All are changes a cycle
and may be 0: policies use the papers' zeros, the rates raise them.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp2
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

from recrawl.history.intervals import outcomes, past
from recrawl.model import DAY, owners

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from recrawl.model import FloatArray, IntArray, KeyArray, Pages, Time


@dataclass(frozen=True)
class Cycles:
    """Numbers of cycles. Cycle 0 took the first copies; `current` is the papers' c."""

    zero: Time
    length: float  #: seconds
    current: float

    @classmethod
    def at(cls, now: Time, pages: Pages, days: float) -> Cycles:
        """The cycle of `now`; never one in which a page was already visited."""
        visited = ~np.isnan(pages.first_visit)
        zero = float(np.min(pages.first_visit[visited], initial=now))
        latest = float(np.max(pages.last_visit[visited], initial=zero))
        clock = cls(zero, days * DAY, 0.0)
        current = max(clock.of(np.array(now)), clock.of(np.array(latest)) + 1.0)
        return cls(zero, days * DAY, float(current))

    def of(self, at: FloatArray) -> FloatArray:
        return np.rint((at - self.zero) / self.length)

    @property
    def done(self) -> float:
        """The papers' c − 1, at least 1."""
        return max(self.current - 1.0, 1.0)


def nad_text(pages: Pages, _: Cycles) -> FloatArray:
    """Every visit counts the same: X / n."""
    return pages.n_changes / np.maximum(pages.n_compared, 1)


def sad_text(pages: Pages, _: Cycles) -> FloatArray:
    """Only the last visit counts."""
    return (pages.recent & np.uint64(1)).astype(np.float64)


def aad_text(pages: Pages, _: Cycles) -> FloatArray:
    """The i-th visit counts i / Σi."""
    start, changed = outcomes(pages)
    page = owners(start)
    place = np.arange(len(changed)) - start[page] + 1
    n = np.maximum(pages.n_compared, 1).astype(np.float64)
    weight = np.bincount(page, np.where(changed, place, 0), minlength=len(pages))
    return weight / (n * (n + 1.0) / 2.0)


def gad_text(pages: Pages, _: Cycles) -> FloatArray:
    """The i-th visit counts 2^(i−1) / (2^n − 1); those older than 64 visits weigh < 2^−64."""
    return halving(pages.recent, pages.n_compared)


def nad_code(pages: Pages, cycles: Cycles) -> FloatArray:
    """X / (c − 1): within a cycle the ranking of t·X."""
    return pages.n_changes / cycles.done


def sad_code(pages: Pages, cycles: Cycles) -> FloatArray:
    """1 when the last change was seen in the cycle before this one."""
    return np.where(cycles.of(pages.last_change) == cycles.done, 1.0, 0.0)


def aad_code(pages: Pages, cycles: Cycles) -> FloatArray:
    """The sum of the cycles that saw a change, over 1 + … + (c − 1)."""
    visits = past(pages)
    weight = np.where(visits.changed, cycles.of(visits.at), 0.0)
    return visits.sums(weight) / (cycles.done * (cycles.done + 1.0) / 2.0)


def gad_code(pages: Pages, cycles: Cycles) -> FloatArray:
    """Σ 2^(cycle−1) / (2^(c−1) − 1), scaled by 2^(1−c) so that no power overflows."""
    visits = past(pages)
    weight = np.where(visits.changed, np.exp2(cycles.of(visits.at) - 1.0 - cycles.done), 0.0)
    return visits.sums(weight) / (1.0 - exp2(-cycles.done))


READINGS: Final[dict[str, Callable[[Pages, Cycles], FloatArray]]] = {
    "nad-text": nad_text,
    "sad-text": sad_text,
    "aad-text": aad_text,
    "gad-text": gad_text,
    "nad-code": nad_code,
    "sad-code": sad_code,
    "aad-code": aad_code,
    "gad-code": gad_code,
}


def named_parts(base: type, readings: Iterable[str]) -> list[type]:
    """One class per reading, with its name and docstring."""
    return [
        type(
            "".join(word.capitalize() for word in name.split("-")),
            (base,),
            {"name": name, "__doc__": READINGS[name].__doc__, "__module__": base.__module__},
        )
        for name in readings
    ]


@njit(cache=True)
def halving(recent: KeyArray, n: IntArray) -> FloatArray:
    """GAD of outcomes as bits, the newest in bit 0."""
    result = np.zeros(len(recent))
    for page in range(len(recent)):
        bits, weight = recent[page], 0.5 / (1.0 - 0.5 ** max(n[page], 1))
        while bits:
            if bits & np.uint64(1):
                result[page] += weight
            bits >>= np.uint64(1)
            weight /= 2.0
    return result
