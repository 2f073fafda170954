"""Tables with the columns of a visit (JSON lines, CSV, Parquet) → visits.

Only `url` must be filled. Times are ISO 8601 or epoch seconds. A digest is a whole number or any
text. `changed` is another name for `reported`. Unknown columns are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import BadInput
from recrawl.ingest.batches import tables
from recrawl.ingest.lines import MALFORMED, reason
from recrawl.ingest.visit_records import digest, row_of
from recrawl.model import VISITS
from recrawl.page.times import MIN_SECONDS_IN_TEXT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source

COLUMNS = (*VISITS.names, "changed")
TIME_COLUMNS = ("at", "last_modified")
_NEEDS_ROWS = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError)


def require_columns(names: list[str], filename: str) -> None:
    """Refuse a file that lacks a column which every visit needs."""
    for column in ("url", "at"):
        if column not in names:
            listed = ", ".join(names[:40]) or "none"
            raise BadInput(
                f"The file {filename!r} has no column {column!r}. Found: {listed}."
                " Rename the column that holds it."
            )


def visits(part: pa.Table, source: Source, place: str, first: int) -> Iterator[pa.Table]:
    """The table as visits: column by column, or row by row if a value does not fit its column.

    Rejected rows are named by `place` and their number, counted from `first`.
    """
    try:
        table = _by_column(part)
    except _NEEDS_ROWS:
        yield from by_row(_records(part, source, place, first), source)
    else:
        yield table


def _records(
    part: pa.Table, source: Source, place: str, first: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows as records; one that Python cannot hold, as a date in year 10000, is rejected."""
    try:
        records = part.to_pylist()
    except MALFORMED:
        records = []
        for i in range(len(part)):
            where = f"{place} {first + i}"
            try:
                yield where, part.slice(i, 1).to_pylist()[0]
            except MALFORMED as error:
                source.reject(where, f"A value is out of range: {error}.")
    for i, record in enumerate(records, first):
        yield f"{place} {i}", record


def by_row(records: Iterable[tuple[str, dict[str, Any]]], source: Source) -> Iterator[pa.Table]:
    """The records as visits; those with an invalid value are rejected."""
    return tables(_rows(records, source))


def _rows(records: Iterable[tuple[str, dict[str, Any]]], source: Source) -> Iterator[Row]:
    for where, record in records:
        try:
            row = row_of(record)
        except MALFORMED as error:
            source.reject(where, reason(error), repr(record))
        else:
            yield row


def _by_column(part: pa.Table) -> pa.Table:
    given = {name: part[name] for name in part.column_names}
    if "changed" in given:
        names = [name for name in ("reported", "changed") if name in given]
        given["reported"] = pc.coalesce(*(given[name].cast(pa.bool_()) for name in names))
    columns = []
    for field in VISITS:
        column = given.get(field.name)
        if column is None or column.null_count == len(column):
            columns.append(pa.nulls(len(part), field.type))
        else:
            columns.append(_column(column, field))
    table = pa.table(columns, schema=VISITS)
    if table["url"].null_count or table["links"].null_count < len(table):
        raise pa.ArrowInvalid("must be read row by row")
    return _with_digest_kinds(table)


def _column(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if field.name in TIME_COLUMNS:
        return _times(column)
    if field.name == "digest" and not pa.types.is_unsigned_integer(kind):
        return _digests(column)
    if pa.types.is_string(field.type) and not _is_text(kind):
        raise pa.ArrowInvalid(f"{field.name} is not text")
    return column.cast(field.type)


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.string_view())


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind, utc = column.type, pa.timestamp("us", tz="UTC")
    if pa.types.is_temporal(kind):
        whole = pa.timestamp("us", tz=getattr(kind, "tz", None))
        is_finer = getattr(kind, "unit", None) == "ns"  # may be rounded; others must not overflow
        return column.cast(whole, safe=not is_finer).cast(utc)
    if _is_text(kind):
        return _times_in_text(column, utc)
    if pa.types.is_boolean(kind):
        raise pa.ArrowInvalid("not a time")
    seconds = column.cast(pa.float64())
    seconds = pc.if_else(pc.greater(pc.abs(seconds), 1e11), pc.divide(seconds, 1e3), seconds)
    if not (pc.max(pc.abs(seconds)).as_py() or 0.0) < 1e12:
        raise pa.ArrowInvalid("not a time")
    return pc.round(pc.multiply(seconds, 1e6)).cast(pa.int64()).cast(utc)


def _times_in_text(column: pa.ChunkedArray, utc: pa.DataType) -> pa.ChunkedArray:
    for kind in (utc, pa.timestamp("us")):
        try:
            return column.cast(kind).cast(utc)
        except pa.ArrowInvalid:
            continue
    numbers = column.cast(pa.float64())
    if (pc.min(pc.abs(numbers)).as_py() or 0.0) < MIN_SECONDS_IN_TEXT:
        raise pa.ArrowInvalid("must be read row by row")
    return _times(numbers)


def _digests(column: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        numbers = column.cast(pa.uint64())
        if pa.types.is_integer(column.type) or numbers.cast(column.type).equals(column):
            return numbers
    except pa.ArrowInvalid:
        pass
    digests = [None if value is None else digest(value) for value in column.to_pylist()]
    return pa.chunked_array([pa.array(digests, pa.uint64())])


def _with_digest_kinds(table: pa.Table) -> pa.Table:
    """The table with `digest_of` filled for every digest."""
    is_missing = pc.and_(pc.is_null(table["digest"]), pc.is_valid(table["text"]))
    if pc.any(is_missing).as_py():  # the digest of the text is to be computed
        raise pa.ArrowInvalid("must be read row by row")
    given = pc.if_else(pc.is_valid(table["digest"]), "given", pa.scalar(None, pa.string()))
    place = VISITS.get_field_index("digest_of")
    return table.set_column(place, VISITS.field(place), pc.coalesce(table["digest_of"], given))
