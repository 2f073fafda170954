"""Makes a trace of a store, to replay other policies on one's own crawl.

The truth is what visits showed. Between two visits that agree, a page is known to be unchanged.
Between two that differ, and after the last, it is assumed to be as last seen; the trace marks that
version as not certain. With `impute`, a failed visit between two that differ may have missed the
change: if the page's past says so, the new version begins there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recrawl import units
from recrawl.errors import BadInput
from recrawl.history.database import connect
from recrawl.history.fold import FAILED, GONE, OK, status_outcomes
from recrawl.history.store import Store
from recrawl.lab.imputation import find_missed
from recrawl.lab.links import LinkTableBuilder
from recrawl.lab.trace import Trace, check_window, trace_name
from recrawl.model import DAY

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.lab.links import LinkTable
    from recrawl.model import BoolArray, FloatArray, IntArray, Time


@dataclass(frozen=True)
class Observations:
    """What visits showed, sorted by page and time, without failed visits."""

    page: IntArray
    at: NDArray[np.int64]  #: microseconds
    status: NDArray[np.int16]
    content: NDArray[np.uint64]
    links: IntArray  #: a number that stays the same while the links do
    body_bytes: FloatArray  #: size of the last body seen so far; NaN: unknown

    def first(self) -> BoolArray:
        """Which visits are the first of their page?"""
        first: BoolArray = np.diff(self.page, prepend=-1) != 0
        return first

    def new(self) -> BoolArray:
        """Which visits are the first of their page, or differ from the one before?"""
        new = self.first()
        for column in (self.status, self.content, self.links):
            new |= np.diff(column, prepend=column[:1]) != 0
        return new


def read_store(
    path: str | Path, window: tuple[Time, Time] | None = None, *, impute: bool = False
) -> Trace:
    """The trace of a store; the default window covers the most pages times days."""
    store = Store.open(path)
    with connect(store.path) as connection:
        pages = connection.execute(_PAGES).fetchnumpy()
        visits = connection.execute(_VISITS).fetchnumpy()
    if not len(pages["url"]):
        raise BadInput(f"A store must hold successful visits to be replayed. {path} holds none.")
    seen = _seen(visits, pages["page_id"])
    missed = _missed(seen, visits, pages["page_id"]) if impute else (np.empty(0, np.int64),) * 2
    row, began, certain = _versions(seen, missed)
    window = window or _window(seen)
    check_window(window, began / 1e6)
    urls = pages["url"].tolist()
    return Trace(
        name=trace_name(Path(path)),
        urls=urls,
        start=np.searchsorted(seen.page[row], np.arange(len(urls) + 1)),
        valid_from=began / 1e6,
        status=seen.status[row],
        content=seen.content[row],
        links=_links(store, seen, row, pages),
        window=window,
        certain=certain,
        body_bytes=seen.body_bytes[row],
    )


def _seen(visits: dict[str, Any], page_id: IntArray) -> Observations:
    """The useful visits. Content is the digest of the last change, or its time if it has none."""
    page = _places(visits["page_id"], page_id)
    order = np.lexsort((visits["at"], page))
    outcome = status_outcomes(np.ma.filled(visits["status"], -1).astype(np.int16))[order]
    page = page[order]
    compared = ~np.ma.getmaskarray(visits["changed"])[order]
    successes = np.cumsum(outcome == OK)
    successes -= np.concatenate([[0], successes])[np.searchsorted(page, page)]  # of the page so far
    useful = (page >= 0) & (successes > 0) & ((outcome == GONE) | compared | (successes == 1))
    useful &= (outcome == GONE) | (outcome == OK)
    order, page, outcome = order[useful], page[useful], outcome[useful]
    at, changed, moved = (
        np.ma.filled(visits[name], 0)[order].astype(np.int64) for name in ("at", "changed", "moved")
    )
    anchor = np.where((changed > 0) | (np.diff(page, prepend=-1) != 0), np.arange(len(page)), 0)
    anchor = np.maximum.accumulate(anchor)
    digest = visits["digest"][order][anchor]
    sizes = np.ma.filled(visits["bytes"].astype(np.float64), np.nan)[order]
    return Observations(
        page=page,
        at=at,
        status=np.where(outcome == GONE, 410, 200).astype(np.int16),
        content=np.where(  # both unsigned: else NumPy makes floats, which lose digits
            np.ma.getmaskarray(digest),
            at[anchor].astype(np.uint64),
            np.ma.getdata(digest).astype(np.uint64),
        ),
        links=np.cumsum(moved),
        body_bytes=_last_known(np.where(outcome == OK, sizes, np.nan), page),
    )


def _last_known(sizes: FloatArray, page: IntArray) -> FloatArray:
    """For each visit the last known size of its page, as the store folds it: 304 tells none."""
    known = ~np.isnan(sizes) | (np.diff(page, prepend=-1) != 0)
    return sizes[np.maximum.accumulate(np.where(known, np.arange(len(sizes)), 0))]


def _places(visited: IntArray, page_id: IntArray) -> IntArray:
    """The place of each visited page among `page_id`; -1 for one without a successful visit."""
    place = np.full(int(visited.max()) + 1, -1)
    place[page_id] = np.arange(len(page_id))
    return place[visited]


def _missed(
    seen: Observations, visits: dict[str, Any], page_id: IntArray
) -> tuple[IntArray, NDArray[np.int64]]:
    """Changes that failed visits missed: the visit that showed each, and the time of the failed."""
    outcome = status_outcomes(np.ma.filled(visits["status"], -1).astype(np.int16))
    page = _places(visits["page_id"], page_id)
    failed = (page >= 0) & (outcome == FAILED)
    differs = (np.diff(seen.content, prepend=seen.content[:1]) != 0) & ~seen.first()
    differs &= (seen.status == 200) & (np.roll(seen.status, 1) == 200)
    at = np.ma.getdata(visits["at"]).astype(np.int64)
    return find_missed(seen.page, seen.at, differs, page[failed], at[failed])


def _versions(
    seen: Observations, missed: tuple[IntArray, NDArray[np.int64]]
) -> tuple[IntArray, NDArray[np.int64], BoolArray]:
    """For each version its visit, when it begins in microseconds, and whether it is certain."""
    new = seen.new()
    last = np.append(seen.first()[1:], True)
    gap = last | np.append(new[1:], False)  # nobody knows what came after it
    certain, assumed = np.flatnonzero(new), np.flatnonzero(gap)
    row = np.concatenate([certain, assumed, missed[0]])
    began = np.concatenate([seen.at[certain], seen.at[assumed] + 1, missed[1]])
    is_certain = np.arange(len(row)) < len(certain)
    order = np.lexsort((began, seen.page[row]))
    return row[order], began[order], is_certain[order]


def _window(seen: Observations) -> tuple[Time, Time]:
    """The window of whole days with the most days times pages that are known when it begins."""
    first = np.sort(seen.at[seen.first()]) / 1e6
    begins = np.ceil(first / DAY) * DAY
    end = np.floor(seen.at.max() / 1e6 / DAY) * DAY
    if end <= begins[0]:
        raise BadInput(
            "The visits of a store must span a whole day, from midnight to midnight UTC, to be "
            f"replayed. Got {units.show_time(first[0])} .. {units.show_time(seen.at.max() / 1e6)}; "
            "visit for longer, or give --window."
        )
    covered = np.arange(1, len(first) + 1) * (end - begins)
    return float(begins[np.argmax(covered)]), float(end)


def _links(store: Store, seen: Observations, row: IntArray, pages: dict[str, Any]) -> LinkTable:
    """The links of each version, from the times during which the store saw them."""
    visits = np.unique(row)  # a certain version and the assumed one after it share their visit
    page = seen.page[visits]
    wanted = pa.table(
        {
            "number": np.arange(len(visits)),
            "page_id": pages["page_id"][page],
            "seen": pa.array(seen.at[visits]).cast(pa.timestamp("us")),
        }
    )
    with connect(store.path) as connection:
        connection.register("wanted", wanted)
        links = connection.sql(_LINKS).to_arrow_table()
    builder = LinkTableBuilder()
    builder.add(pages["url"][page].tolist(), links["links"].combine_chunks())
    return builder.done(pages["url"].tolist()).take(np.searchsorted(visits, row))


_PAGES = "SELECT page_id, url FROM pages WHERE first_visit IS NOT NULL ORDER BY url"
_VISITS = """
SELECT page_id, epoch_us("at") AS "at", status, changed, digest, bytes,
       new_internal + new_external > 0 OR
       internal_links + external_links != lag(internal_links + external_links IGNORE NULLS)
           OVER (PARTITION BY page_id ORDER BY visits.at) AS moved
FROM visits
"""
_LINKS = """
SELECT number, list(target) FILTER (target IS NOT NULL) AS links
FROM wanted LEFT JOIN links ON links.page_id = wanted.page_id AND first_seen <= seen
                           AND (last_seen IS NULL OR last_seen >= seen)
GROUP BY number ORDER BY number
"""
