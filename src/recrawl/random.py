"""Random numbers as a function of page, seed and time: no state, the same for any order of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from recrawl.model import FloatArray, KeyArray


def mix(values: KeyArray) -> KeyArray:
    """Scramble 64 bits, one to one (SplitMix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def random_bits(key: KeyArray, seed: int, now: float = 0.0) -> KeyArray:
    """64 random bits for each page; they depend on its key, the seed and the time only."""
    moment = np.array([now], dtype=np.float64).view(np.uint64)
    return mix(key ^ mix(moment ^ mix(np.array([seed % 2**64], dtype=np.uint64))))


def uniform(key: KeyArray, seed: int, now: float = 0.0) -> FloatArray:
    """A number in [0, 1) for each page; it depends on its key, the seed and the time only."""
    # 53 bits are what a float holds: with more, some would round up to 1
    return (random_bits(key, seed, now) >> np.uint64(11)).astype(np.float64) * 2.0**-53
