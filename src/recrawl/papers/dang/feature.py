"""What is a feature, and how does one make others of it?

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
    """A column for every look, some crawls back."""

    name: str
    family: str
    read: Callable[[Snapshot, int], FloatArray]


def static(family: str) -> Callable[[Callable[[Crawl], FloatArray]], Feature]:
    """Make a function of a crawl the feature of its name."""

    def made(function: Callable[[Crawl], FloatArray]) -> Feature:
        def read(look: Snapshot, back: int) -> FloatArray:
            return function(look.crawls[look.present - back])

        return Feature(function.__name__, family, read)

    return made


def counted(function: Callable[[Interval], FloatArray]) -> Feature:
    """Make a function of an interval the feature of its name: a count, by exposure.

    The interval to be told is 0 back: the target, which no strict look shows.
    """

    def read(look: Snapshot, back: int) -> FloatArray:
        interval = look.interval(back)
        return function(interval) * look.unit / interval.days

    return Feature(function.__name__, "DP", read)


def lag(feature: Feature, back: int) -> Feature:
    """The same, so many crawls before."""
    return Feature(
        f"{feature.name}-{back}",
        DYNAMIC[feature.family],
        lambda look, more: feature.read(look, back + more),
    )


def average(feature: Feature, history: int) -> Feature:
    """The mean of a count over the last so many intervals, by exposure."""

    def read(look: Snapshot, _: int) -> FloatArray:
        return _by_exposure(look, range(1, history + 1), lambda back: feature.read(look, back))

    return Feature(f"mean_{feature.name}", "DP", read)


def change_rate(feature: Feature) -> Feature:
    """How many of the known intervals show any of what a feature counts, by exposure."""

    def read(look: Snapshot, _: int) -> FloatArray:
        def shown(back: int) -> FloatArray:
            count = feature.read(look, back)
            happens = look.unit / look.interval(back).days
            return np.where(np.isnan(count), np.nan, (count > 0) * happens)

        return _by_exposure(look, range(look.strict, look.history + 1), shown)

    return Feature(f"{feature.name}_rate", "DP", read)


def around(feature: Feature) -> Feature:
    """The same of related pages: its weighted mean."""
    return Feature(
        f"related_{feature.name}",
        NETWORK[feature.family],
        lambda look, back: mean_around(look.near, feature.read(look, back)),
    )


def mean_around(near: Neighbours, column: FloatArray) -> FloatArray:
    """The weighted mean over those neighbours of which the column is known; NaN without any."""
    known = near.mean(np.isfinite(column).astype(np.float64))
    return _quotient(near.mean(np.nan_to_num(column, nan=0.0)), known)


def _by_exposure(
    look: Snapshot, backs: Sequence[int], shown: Callable[[int], FloatArray]
) -> FloatArray:
    """The mean over intervals, the long ones counting more; NaN where none is known."""
    columns = [shown(back) for back in backs]
    if not columns:
        raise BadInput("history must hold an interval before the one to be told. Got none.")
    days = [
        np.where(np.isnan(column), 0.0, look.interval(back).days)
        for column, back in zip(columns, backs, strict=True)
    ]
    sums = np.sum(np.nan_to_num(columns, nan=0.0) * days, axis=0)
    return _quotient(sums, np.sum(days, axis=0))


def _quotient(part: FloatArray, whole: FloatArray) -> FloatArray:
    found: FloatArray = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
    return found


def table(look: Snapshot, features: Sequence[Feature]) -> FloatArray:
    """A row a page, a column a feature."""
    return np.column_stack([feature.read(look, 0) for feature in features])
