"""Parquet with the columns of a visit."""

from __future__ import annotations

import io
import shutil
import tempfile
from typing import IO, TYPE_CHECKING, ClassVar

import pyarrow as pa
import pyarrow.parquet

from recrawl.errors import BadInput
from recrawl.ingest import visit_tables
from recrawl.model import VISITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.protocols import Source


_MAX_BATCH_ROWS = 10_000
_MAX_BATCH_BYTES = 16 << 20  # about, if all rows of a group are alike


class Parquet:
    """Visits as Parquet, one row for each."""

    name: ClassVar[str] = "parquet"

    def example(self) -> bytes:
        sink = io.BytesIO()
        at = pa.array([1_769_860_800_000_000]).cast(VISITS.field("at").type)
        pyarrow.parquet.write_table(pa.table({"url": ["https://example.org/"], "at": at}), sink)
        return sink.getvalue()

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return head.startswith(b"PAR1")

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        if stream.seekable():
            yield from _row_groups(stream, source)
            return
        with tempfile.TemporaryFile() as copy:  # the index of the file is at its end
            shutil.copyfileobj(stream, copy)
            yield from _row_groups(copy, source)


def _row_groups(file: IO[bytes], source: Source) -> Iterator[pa.Table]:
    try:
        parquet = pyarrow.parquet.ParquetFile(file)
        names = parquet.schema_arrow.names
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # or a name is not UTF-8
        raise BadInput(
            f"The file {source.filename!r} is not a whole Parquet file: {error}. Make it again."
        ) from error
    visit_tables.require_columns(names, source.filename)
    wanted = [name for name in visit_tables.COLUMNS if name in names]
    for group in range(parquet.num_row_groups):
        row = 1
        try:
            rows = _rows_at_once(parquet.metadata.row_group(group))
            for part in parquet.iter_batches(rows, row_groups=[group], columns=wanted):
                part.validate(full=True)  # text may be invalid UTF-8
                place = f"row group {group}, row"
                yield from visit_tables.visits(pa.Table.from_batches([part]), source, place, row)
                row += len(part)
        except (pa.ArrowException, OSError) as error:
            source.reject(f"row group {group}", f"The rows cannot be read: {error}.")


def _rows_at_once(group: pyarrow.parquet.RowGroupMetaData) -> int:
    """How many rows of a group are read together: texts may be long."""
    row_bytes = max(group.total_byte_size, 0) // max(group.num_rows, 1) + 1
    return int(min(max(_MAX_BATCH_BYTES // row_bytes, 1), _MAX_BATCH_ROWS))
