"""The data that all folders share: visits, pages, forecasts, budgets. Columns, not objects."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from recrawl.public import public

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Time = float  #: seconds since 1970-01-01 UTC
DAY = 86_400.0  #: seconds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.signedinteger[Any]]
BoolArray = NDArray[np.bool_]
KeyArray = NDArray[np.uint64]
Column = NDArray[Any]

#: Visits, one per row, as readers and engines give them to a store. Only `url` is required.
#: A row without `at` says that the page exists and was not visited.
VISITS = pa.schema(
    [
        pa.field("url", pa.string(), nullable=False),
        pa.field("at", pa.timestamp("us", tz="UTC")),
        # null: fetched, status not recorded; 0: no complete answer
        pa.field("status", pa.int16()),
        pa.field("digest", pa.uint64()),  # equal digests of the same kind = same content
        # kind of the digest: "text", "bytes", or the name of its source
        pa.field("digest_of", pa.string()),
        pa.field("reported", pa.bool_()),  # the source itself says: changed since its last visit
        pa.field("simhash", pa.uint64()),
        pa.field("title", pa.string()),
        pa.field("text", pa.string()),
        pa.field("links", pa.list_(pa.string())),  # null: not extracted; empty: no links
        pa.field("nofollow", pa.list_(pa.bool_())),  # parallel to links, or null
        pa.field("bytes", pa.int64()),  # of the body
        pa.field("seconds", pa.float64()),  # duration of the fetch
        pa.field("etag", pa.string()),
        pa.field("last_modified", pa.timestamp("us", tz="UTC")),
        pa.field("skipped", pa.bool_()),  # true: no request was sent, and the visit failed
        # why there was no answer or no request: "timeout", "dns", "robots.txt forbids it", …
        pa.field("problem", pa.string()),
        # where the answer leads: the target of a redirect, or the canonical URL of the page
        pa.field("leads_to", pa.string()),
    ]
)

#: Why a visit failed, from `failure_kinds`. The last kinds come from our side or from robots.txt.
FAILURES = (
    "none",
    "not found (404)",
    "gone (410)",
    "refused (4xx)",
    "server error",
    "timeout",
    "no such host",
    "no answer",
    "redirected",
    "robots.txt",
    "not public",
)


def starts(counts: IntArray) -> IntArray:
    """Where the rows of each page start, given how many it has; at the end, where the last stop."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def owners(start: IntArray) -> IntArray:
    """The page that owns each row: the inverse of `starts`."""
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def rows_of(key: Column, known: Column) -> IntArray:
    """The row of each key among the known ones, which are distinct; -1 for an unknown key."""
    if np.array_equal(key, known):
        return np.arange(len(known))
    if not len(known):
        return np.full(len(key), -1)
    order = np.argsort(known)
    row = order[np.minimum(np.searchsorted(known, key, sorter=order), len(known) - 1)]
    return np.where(known[row] == key, row, -1)


@dataclass(frozen=True)
class Intervals:
    """The past of each page as intervals between compared visits, oldest first.

    Row `i` of the pages owns `days[start[i]:start[i + 1]]`, and likewise the other columns.
    """

    start: IntArray
    days: FloatArray  #: length of the interval
    changed: BoolArray  #: the visit that closed it showed a change
    at: FloatArray  #: time of that visit
    modified: FloatArray  #: Last-Modified seen by that visit; NaN where the server sent none
    new_internal: FloatArray  #: links of that visit that the copy before did not have, same host
    new_external: FloatArray  #: the same to other hosts; NaN where links were not compared
    links: FloatArray  #: all links of that visit; NaN where they were not extracted

    @cached_property
    def page(self) -> IntArray:
        """The row of the page that owns each interval."""
        return owners(self.start)

    @property
    def place(self) -> IntArray:
        """The position of each interval among those of its page, from 0."""
        return np.arange(len(self.days)) - self.start[self.page]

    @property
    def new_links(self) -> FloatArray:
        """Internal and external together; NaN where links were not compared."""
        return self.new_internal + self.new_external

    def columns(self) -> dict[str, Column]:
        """The columns by name, without `start`."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "start"}

    def where(self, keep: BoolArray) -> Intervals:
        """Some of the intervals; the pages stay the same."""
        counts = np.bincount(self.page[keep], minlength=len(self.start) - 1)
        columns = {name: column[keep] for name, column in self.columns().items()}
        return Intervals(start=starts(counts), **columns)

    def sums(self, column: Column) -> FloatArray:
        """The sum of a column over the intervals of each page."""
        return np.bincount(self.page, column, minlength=len(self.start) - 1).astype(np.float64)


@dataclass(frozen=True)
class Outlinks:
    """The links on our copy of each page; row `i` has the targets `target[start[i]:start[i + 1]]`.

    A target is the hash of its URL: the `key` of the page, where it is one.
    """

    start: IntArray
    target: KeyArray


@dataclass(frozen=True)
class Neighbours:
    """For each page the most similar pages, nearest first, and their weights."""

    row: IntArray  #: rows of the neighbours, one line per page; -1 where there are fewer
    weight: FloatArray  #: >= 0; 0 where there is no neighbour

    def mean(self, column: FloatArray) -> FloatArray:
        """The weighted mean of a column over the neighbours; NaN without any."""
        total = self.weight.sum(axis=1)
        values = np.where(self.weight > 0, column[self.row], 0.0)
        sums = np.einsum("ij,ij->i", self.weight, values)
        mean: FloatArray = np.divide(sums, total, out=np.full(len(total), np.nan), where=total > 0)
        return mean


class PageSource(Protocol):
    """Loads the columns of pages that are too large to load every time."""

    def urls(self, page_id: IntArray) -> Sequence[str]: ...
    def intervals(self, page_id: IntArray, *, never_seen: bool = False) -> Intervals: ...
    def texts(self, page_id: IntArray, characters: int | None = None) -> pa.Array: ...
    def outlinks(self, page_id: IntArray) -> Outlinks: ...
    def n_links(self, page_id: IntArray) -> IntArray: ...
    def first_modified(self, page_id: IntArray) -> FloatArray: ...


@public
@dataclass(frozen=True)
class Pages:
    """What the history knows of each page: one row per page, one column per fact.

    A visit is *compared* when its outcome (changed or not) is known: it has an earlier copy to
    compare with, and did not fail. Times are seconds, NaN for "never"; exposure is in days.
    """

    page_id: IntArray
    key: KeyArray  #: hash of the URL: the page's identity in ties and samples
    host: IntArray  #: pages of one host share a number
    site: IntArray  #: pages of one registrable domain share a number
    first_seen: FloatArray
    first_visit: FloatArray  #: first successful
    last_visit: FloatArray  #: last successful: our copy was right then
    last_attempt: FloatArray  #: last visit of any outcome
    last_change: FloatArray  #: last visit that showed a change
    n_visits: IntArray  #: attempts, failures included
    n_compared: IntArray  #: the papers' n
    n_changes: IntArray  #: the papers' X
    exposure: FloatArray  #: days over which a change would have been seen
    recent: KeyArray  #: last 64 compared visits, newest in bit 0; 1 = changed
    failures: IntArray  #: failed visits since the last success
    failure: IntArray  #: why the last failed visit failed: a place in FAILURES
    retries: IntArray  #: visits made while the page was failing
    returns: IntArray  #: those of them that succeeded
    flips: IntArray  #: times it was gone (4xx), or back again
    bytes: FloatArray  #: size at the last success; NaN unknown
    seconds: FloatArray  #: duration of the last success; NaN unknown
    source: PageSource = field(repr=False, compare=False)
    signals: PageSignals | None = field(default=None, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.page_id)

    def columns(self) -> dict[str, Column]:
        """The columns by name."""
        others = ("source", "signals")
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in others}

    def take(self, rows: IntArray | BoolArray) -> Pages:
        """The same columns for some rows, in the order given."""
        signals = self.signals and self.signals.take(rows)
        columns = {n: c[rows] for n, c in self.columns().items()}
        return Pages(**columns, source=self.source, signals=signals)

    def rows_of(self, key: KeyArray) -> IntArray:
        """The row of the page with each key; -1 where there is none."""
        return rows_of(key, self.key)

    def copy_age(self, now: Time) -> FloatArray:
        """Days since the last visit, or since first seen where there is none."""
        since = np.where(np.isnan(self.last_visit), self.first_seen, self.last_visit)
        return np.maximum(now - since, 0.0) / DAY

    def days_since_visit(self, now: Time, rate: FloatArray | None = None) -> FloatArray:
        """The papers' t: `copy_age`, or the effective time where signals report on a page.

        `rate` is the changes a day of each page; the smoothed rate if it is left out.
        """
        days = self.copy_age(now)
        return days if self.signals is None else self.signals.effective_days(days, rate)

    def over_host(self, column: Column) -> FloatArray:
        """For each page the sum of a column over all pages of its host."""
        return np.bincount(self.host, weights=column)[self.host].astype(np.float64)

    def urls(self) -> Sequence[str]:
        return self.source.urls(self.page_id)

    def intervals(self, *, never_seen: bool = False) -> Intervals:
        """What past visits showed; with `never_seen`, only links that no page had held are new."""
        return self.source.intervals(self.page_id, never_seen=never_seen)

    def texts(self, characters: int | None = None) -> pa.Array:
        """The text of our copy of each page (large_string), or its first `characters`.

        Null where it was not kept.
        """
        return self.source.texts(self.page_id, characters)

    def outlinks(self) -> Outlinks:
        """The links on our copy of each page; none where they were not kept."""
        return self.source.outlinks(self.page_id)

    def n_links(self) -> IntArray:
        """How many links our copy of each page has; 0 where they were not kept."""
        return self.source.n_links(self.page_id)

    def first_modified(self) -> FloatArray:
        """Last-Modified of the first successful visit to each page, seconds; NaN: not sent."""
        return self.source.first_modified(self.page_id)


@dataclass(frozen=True)
class Signals:
    """What sitemaps and feeds claim, and how their claims fared: a row for each page and kind.

    The last five columns sum up the compared visits since the first claim of that kind.
    """

    page_id: IntArray
    kind: NDArray[np.object_]
    said: FloatArray  #: the last change that it claims, seconds
    claims: FloatArray  #: of changes after our last visit
    changed: FloatArray  #: visits that showed a change
    missed: FloatArray  #: those of them before which no change was claimed
    changed_days: FloatArray  #: the sum of their intervals
    false_claims: FloatArray  #: claims of a change before visits that showed none
    quiet_days: FloatArray  #: the sum of the intervals of these visits


@dataclass(frozen=True)
class PageSignals:
    """What each kind of signal says of each page: a row for each page, a column for each kind.

    Busa-Fekete et al. 2025: a kind reports a change with probability `recall`, and claims a change
    that is none `noise` times a day. Of a page it never mentions it reports nothing.
    """

    kinds: tuple[str, ...]
    said: FloatArray  #: the last change that it claims, seconds; NaN: it never mentions the page
    claims: FloatArray  #: of changes since our last visit
    recall: FloatArray  #: from 0 to below 1; 0 where it never mentions the page
    noise: FloatArray  #: false claims a day, above 0
    rate: FloatArray  #: changes a day of each page, for policies without a rate of their own

    def take(self, rows: IntArray | BoolArray) -> PageSignals:
        """The same for some pages."""
        return PageSignals(
            self.kinds,
            **{f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "kinds"},
        )

    def effective_days(self, days: FloatArray, rate: FloatArray | None = None) -> FloatArray:
        """Days after which a page without signals is as likely to have changed as each page now.

        After T days and m claims a copy is right with probability e^{−(1−r)ΔT}·(ν/(rΔ + ν))^m,
        with recall r, noise ν and rate Δ. That is e^{−Δt} at t = (1−r)T + m·ln(1 + rΔ/ν)/Δ.
        Several kinds are taken as independent.
        """
        change = np.maximum(self.rate if rate is None else rate, 1e-12)
        said = self.claims * np.log1p(self.recall * change[:, None] / self.noise)
        unreported: FloatArray = np.prod(1.0 - self.recall, axis=1)
        effective: FloatArray = unreported * days + said.sum(axis=1) / change
        return effective


@dataclass(frozen=True)
class Forecast:
    """What a visit to each page at a given time would show."""

    p_change: FloatArray  #: probability that it shows a change


@public
@dataclass(frozen=True)
class Budget:
    """What one cycle may spend: `fetches`, or a `share` of the pages; the rest are limits."""

    fetches: int | None = None
    share: float | None = None
    host_cap: int | None = None  #: maximum of fetches from one host in a cycle
    host_delay: float = 0.0  #: minimum of seconds between two fetches from one host
    host_delays: Mapping[int, float] = field(default_factory=dict)  #: longer ones, by host number
    host_share: float | None = None  #: most of the fetches for one host while others have pages
    every: float = DAY  #: length of a cycle, seconds
    bytes: float | None = None
    seconds: float | None = None
    explore: float = 0.0  #: part of the fetches for the pages not seen for the longest time
    discover: float | None = (
        None  #: part for pages never visited; None: they compete with the others
    )
    retry: float = 0.03  #: part for failing pages
