"""What features are computed from: the same pages at several times, and what came between."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.neighbours.graph import pagerank, trustrank

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from recrawl.model import BoolArray, FloatArray, IntArray, Neighbours


@dataclass(frozen=True)
class Crawl:
    """The pages at one time: one column per fact, one row per page."""

    urls: pa.Array
    bytes: FloatArray  #: of the page
    text_bytes: FloatArray
    words: FloatArray
    distinct: FloatArray  #: words
    internal: FloatArray  #: links on the page that stay on its host and scheme
    external: FloatArray  #: links that leave it
    source: IntArray  #: row of the page that each link between these pages is on
    target: IntArray  #: row of the page that it leads to
    inside: BoolArray  #: whether it is internal
    trusted: IntArray  #: rows that TrustRank starts at
    meaning: FloatArray  #: what the pages are about, one column for each group of dimensions

    @cached_property
    def trust(self) -> FloatArray:
        return trustrank(self.source, self.target, len(self.bytes), self.trusted)

    @cached_property
    def rank(self) -> FloatArray:
        return pagerank(self.source, self.target, len(self.bytes))


@dataclass(frozen=True)
class Interval:
    """New links of the later of two visits; NaN if unknown."""

    days: FloatArray  #: between the two, by page
    new_internal: FloatArray
    new_external: FloatArray

    @property
    def new(self) -> FloatArray:
        return self.new_internal + self.new_external


@dataclass(frozen=True)
class Snapshot:
    """What is known at one time; the last interval is the prediction target.

    If `strict`, features use nothing of that interval, and the present is the crawl before it. If
    not, the present is the crawl that ends it, and the change rates of related pages include it, as
    in the study of Dang et al. (2021). Counts are scaled to an interval of `unit` days.
    """

    crawls: Sequence[Crawl]  #: oldest first; one more than intervals, or none
    intervals: Sequence[Interval]
    near: Neighbours
    unit: float = 1.0
    strict: bool = True

    @property
    def present(self) -> int:
        """The index of the crawl that static features use."""
        return len(self.crawls) - 1 - self.strict

    @property
    def history(self) -> int:
        """How many intervals come before the target."""
        return len(self.intervals) - 1

    def interval(self, back: int) -> Interval:
        """The interval `back` before the target."""
        if back < self.strict or back > self.history:
            raise BadInput(
                f"history must be within the {self.history} intervals that came before. "
                f"Got the one {back} before; ask for less."
            )
        return self.intervals[self.history - back]
