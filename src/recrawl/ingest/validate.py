"""Validates visits: the one place that decides which are stored, whatever file they are from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import BadUrl
from recrawl.model import DAY, VISITS
from recrawl.page.responses import MAX_ETAG_CHARACTERS
from recrawl.urls import MAX_URL_LENGTH, canonical

if TYPE_CHECKING:
    from recrawl.model import Column, Time


def validated(visits: pa.Table, now: Time) -> tuple[pa.Table, dict[int, str]]:
    """The valid visits, with canonical URLs; and row → reason for the invalid ones."""
    reasons = np.full(len(visits), "", dtype=object)
    _check_times(visits["at"], now, reasons)
    _check_status(visits["status"], reasons)
    urls = _canonical_urls(visits["url"], reasons)
    valid = visits.set_column(0, VISITS.field("url"), urls)
    valid = _blank_outside(valid, "last_modified", 0, int((now + DAY) * 1e6))
    valid = _blank_outside(valid, "bytes", 0, 2**63 - 1)
    valid = _blank_outside(valid, "seconds", 0.0, 1e9)
    valid = _blank_where(valid, "etag", _cannot_be_sent(valid["etag"]))
    valid = _blank_where(valid, "leads_to", _is_longer(valid["leads_to"], MAX_URL_LENGTH))
    invalid = np.flatnonzero(reasons != "")
    if len(invalid):
        valid = valid.filter(pa.array(reasons == ""))
    return valid, {int(row): reasons[row] for row in invalid}


def _check_times(at: pa.ChunkedArray, now: Time, reasons: Column) -> None:
    times = _integers(at.cast(pa.int64()))
    reasons[times < 0] = "The time is negative: before 1970."
    reasons[times > (now + DAY) * 1e6] = "The time is in the future: more than a day from now."


def _check_status(status: pa.ChunkedArray, reasons: Column) -> None:
    codes = _integers(status)
    reasons[(codes < 0) | (codes > 999)] = "The status is not between 0 and 999."


def _integers(column: pa.ChunkedArray) -> Column:
    values: Column = pc.fill_null(column, 0).to_numpy()
    return values


def _canonical_urls(urls: pa.ChunkedArray, reasons: Column) -> pa.Array:
    """The canonical form of each URL, empty for an invalid one. Each distinct URL is read once."""
    coded = urls.combine_chunks().dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    distinct: list[str] = []
    errors = np.full(len(coded.dictionary), "", dtype=object)
    for i, url in enumerate(coded.dictionary.to_pylist()):
        try:
            distinct.append(page := canonical(url))
        except BadUrl as error:
            distinct.append("")
            errors[i] = str(error)
        else:
            if len(page) > MAX_URL_LENGTH:
                errors[i] = f"The URL has more than {MAX_URL_LENGTH} characters."
    if any(errors):
        by_row = errors[coded.indices.to_numpy()]
        reasons[by_row != ""] = by_row[by_row != ""]
    return pa.array(distinct, pa.string()).take(coded.indices)


def _blank_outside(visits: pa.Table, name: str, low: float, high: float) -> pa.Table:
    """The visits without values outside a range: a server's lie is no reason to lose the visit."""
    column = visits[name]
    if column.null_count == len(column):
        return visits
    number = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
    is_inside = pc.and_(pc.greater_equal(number, low), pc.less_equal(number, high))
    return _blank_where(visits, name, pc.invert(is_inside))


def _blank_where(visits: pa.Table, name: str, is_bad: pa.ChunkedArray) -> pa.Table:
    column = visits[name]
    kept = pc.if_else(is_bad, pa.scalar(None, column.type), column)
    return visits.set_column(VISITS.get_field_index(name), name, kept)


def _cannot_be_sent(etag: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether a request could not hold the ETag."""
    is_printable = pc.match_substring_regex(etag, "^[ -~]+$")
    return pc.or_(pc.invert(is_printable), _is_longer(etag, MAX_ETAG_CHARACTERS))


def _is_longer(column: pa.ChunkedArray, most: int) -> pa.ChunkedArray:
    return pc.greater(pc.binary_length(column), most)
