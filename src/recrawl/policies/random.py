"""Which pages now, if we do not care? The baseline below all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.policies.unlearned import Unlearned

if TYPE_CHECKING:
    from recrawl.model import FloatArray, KeyArray, Pages, Time


def mix(values: KeyArray) -> KeyArray:
    """A bijection of 64 bits in which each input bit flips half of the output (SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class Random(Unlearned):
    """Uniform in [0, 1), drawn anew at each `now`; a page's draw does not depend on the others."""

    name: ClassVar[str] = "random"

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed

    def score(self, pages: Pages, now: Time) -> FloatArray:
        moment = np.array([now], dtype=np.float64).view(np.uint64)
        seed = np.array([self.seed & 0xFFFF_FFFF_FFFF_FFFF], dtype=np.uint64)
        drawn = mix(pages.key ^ mix(moment ^ mix(seed)))
        return (drawn >> np.uint64(11)).astype(np.float64) * 2.0**-53
