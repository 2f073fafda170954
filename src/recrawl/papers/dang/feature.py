"""What is a feature, and how are features derived from others?

A feature is static or dynamic (of one crawl, or of its past too), and of the page or the network
(of the page alone, or of others too): SP, SN, DP, DN (Dang et al. 2021). `lag` makes any of them
dynamic, `around` makes any of them one of the network.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.model import FloatArray, Neighbours
    from recrawl.papers.dang.crawls import Crawl, Interval, Snapshot

DYNAMIC = {"SP": "DP", "SN": "DN", "DP": "DP", "DN": "DN"}
NETWORK = {"SP": "SN", "SN": "SN", "DP": "DN", "DN": "DN"}


@dataclass(frozen=True)
class Feature:
    """A function that gives a column of a snapshot, some crawls back."""

    name: str
    family: str
    read: Callable[[Snapshot, int], FloatArray]


def static(family: str) -> Callable[[Callable[[Crawl], FloatArray]], Feature]:
    """Decorator: makes a feature of a function of a crawl."""

    def made(function: Callable[[Crawl], FloatArray]) -> Feature:
        def read(snapshot: Snapshot, back: int) -> FloatArray:
            return function(snapshot.crawls[snapshot.present - back])

        return Feature(function.__name__, family, read)

    return made


def counted(function: Callable[[Interval], FloatArray]) -> Feature:
    """Decorator: makes a feature of a function that counts in an interval; scaled to `unit` days.

    The interval 0 back is the target, which a strict snapshot does not show.
    """

    def read(snapshot: Snapshot, back: int) -> FloatArray:
        interval = snapshot.interval(back)
        return function(interval) * snapshot.unit / interval.days

    return Feature(function.__name__, "DP", read)


def lag(feature: Feature, back: int) -> Feature:
    """The same feature, `back` crawls earlier."""
    return Feature(
        f"{feature.name}-{back}",
        DYNAMIC[feature.family],
        lambda snapshot, more: feature.read(snapshot, back + more),
    )


def average(feature: Feature, history: int) -> Feature:
    """The mean of a count over the last `history` intervals, weighted by their length."""

    def read(snapshot: Snapshot, _: int) -> FloatArray:
        return _by_exposure(
            snapshot, range(1, history + 1), lambda back: feature.read(snapshot, back)
        )

    return Feature(f"mean_{feature.name}-1..{history}", "DP", read)


def change_rate(feature: Feature) -> Feature:
    """The share of the known intervals in which a count is above 0, weighted by their length."""

    def read(snapshot: Snapshot, _: int) -> FloatArray:
        def has_any(back: int) -> FloatArray:
            count = feature.read(snapshot, back)
            happens = snapshot.unit / snapshot.interval(back).days
            return np.where(np.isnan(count), np.nan, (count > 0) * happens)

        return _by_exposure(snapshot, range(snapshot.strict, snapshot.history + 1), has_any)

    return Feature(f"{feature.name}_rate", "DP", read)


def around(feature: Feature) -> Feature:
    """The weighted mean of the feature over related pages."""
    return Feature(
        f"related_{feature.name}",
        NETWORK[feature.family],
        lambda snapshot, back: mean_around(snapshot.near, feature.read(snapshot, back)),
    )


def mean_around(near: Neighbours, column: FloatArray) -> FloatArray:
    """The weighted mean over the neighbours with a known value; NaN without any."""
    known = near.mean(np.isfinite(column).astype(np.float64))
    return _quotient(near.mean(np.nan_to_num(column, nan=0.0)), known)


def _by_exposure(
    snapshot: Snapshot, backs: Sequence[int], column: Callable[[int], FloatArray]
) -> FloatArray:
    """The mean over intervals, weighted by their length; NaN where none is known."""
    columns = [column(back) for back in backs]
    if not columns:
        raise BadInput("history must hold an interval before the target. Got none.")
    days = [
        np.where(np.isnan(values), 0.0, snapshot.interval(back).days)
        for values, back in zip(columns, backs, strict=True)
    ]
    sums = np.sum(np.nan_to_num(columns, nan=0.0) * days, axis=0)
    return _quotient(sums, np.sum(days, axis=0))


def _quotient(part: FloatArray, whole: FloatArray) -> FloatArray:
    ratio: FloatArray = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return ratio


def table(snapshot: Snapshot, features: Sequence[Feature]) -> FloatArray:
    """One row per page, one column per feature."""
    return np.column_stack([feature.read(snapshot, 0) for feature in features])
