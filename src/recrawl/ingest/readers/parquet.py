"""Visits as Parquet, in our own columns."""

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


class Parquet:
    """Visits as Parquet, one row a visit."""

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
            yield from _groups(stream, source)
            return
        with tempfile.TemporaryFile() as copy:  # its index is at the end
            shutil.copyfileobj(stream, copy)
            yield from _groups(copy, source)


def _groups(file: IO[bytes], source: Source) -> Iterator[pa.Table]:
    try:
        found = pyarrow.parquet.ParquetFile(file)
    except (pa.ArrowException, OSError) as error:
        raise BadInput(
            f"The file {source.filename!r} is not a whole Parquet file: {error}. Make it again."
        ) from error
    names = found.schema_arrow.names
    visit_tables.require(names, source.filename)
    wanted = [name for name in visit_tables.COLUMNS if name in names]
    for group in range(found.num_row_groups):
        row = 1
        try:
            for part in found.iter_batches(10_000, row_groups=[group], columns=wanted):
                part.validate(full=True)  # the file may say of any bytes that they are text
                place = f"row group {group}, row"
                yield visit_tables.visits(pa.Table.from_batches([part]), source, place, row)
                row += len(part)
        except (pa.ArrowException, OSError) as error:
            source.reject(f"row group {group}", f"The rows cannot be read: {error}.")
