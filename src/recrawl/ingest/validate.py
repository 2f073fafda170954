"""Which visits can be kept? The one place where they are judged, whatever file they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import BadUrl
from recrawl.model import DAY, VISITS
from recrawl.urls import canonical

if TYPE_CHECKING:
    from recrawl.model import Column, Time


def checked(visits: pa.Table, now: Time) -> tuple[pa.Table, dict[int, str]]:
    """The visits that can be kept, under canonical URLs, and why each other row cannot."""
    reasons = np.full(len(visits), "", dtype=object)
    _judge_times(visits["at"], now, reasons)
    _judge_status(visits["status"], reasons)
    urls = _canonical(visits["url"], reasons)
    kept = visits.set_column(0, VISITS.field("url"), urls)
    kept = _without(kept, "last_modified", 0, int((now + DAY) * 1e6))
    kept = _without(_without(kept, "bytes", 0, 2**63 - 1), "seconds", 0.0, 1e9)
    bad = np.flatnonzero(reasons != "")
    if len(bad):
        kept = kept.filter(pa.array(reasons == ""))
    return kept, {int(row): reasons[row] for row in bad}


def _judge_times(at: pa.ChunkedArray, now: Time, reasons: Column) -> None:
    times = _integers(at.cast(pa.int64()))
    reasons[times < 0] = "The time is negative: before 1970."
    reasons[times > (now + DAY) * 1e6] = "The time is in the future: more than a day from now."


def _judge_status(status: pa.ChunkedArray, reasons: Column) -> None:
    codes = _integers(status)
    reasons[(codes < 0) | (codes > 999)] = "The status is not between 0 and 999."


def _integers(column: pa.ChunkedArray) -> Column:
    values: Column = pc.fill_null(column, 0).to_numpy()
    return values


def _canonical(urls: pa.ChunkedArray, reasons: Column) -> pa.Array:
    """Each different URL is worked out once: histories repeat them."""
    coded = urls.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    known: list[str] = []
    why: dict[int, str] = {}
    for i, url in enumerate(coded.dictionary.to_pylist()):
        try:
            known.append(canonical(url))
        except BadUrl as error:
            known.append("")
            why[i] = str(error)
    if why:
        told = np.full(len(known), "", dtype=object)
        told[list(why)] = list(why.values())
        found = told[coded.indices.to_numpy()]
        reasons[found != ""] = found[found != ""]
    return pa.array(known, pa.string()).take(coded.indices)


def _without(visits: pa.Table, name: str, least: float, most: float) -> pa.Table:
    """Without values that cannot be; a server's lie is no reason to lose the visit."""
    column = visits[name]
    if column.null_count == len(column):
        return visits
    number = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    sane = pc.and_(pc.greater_equal(number, least), pc.less_equal(number, most))
    kept = pc.if_else(sane, column, pa.scalar(None, column.type))
    return visits.set_column(VISITS.get_field_index(name), name, kept)
