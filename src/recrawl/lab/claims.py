"""What sitemaps and feeds of a trace claim, as a crawl that reads them each cycle gets it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, Time

COLUMNS = ("url", "kind", "said", "seen")


@dataclass(frozen=True)
class TraceClaims:
    """Claims about pages of a trace, in the order in which they can be read."""

    page: IntArray
    kind: NDArray[np.object_]
    said: FloatArray  #: the claimed time of the change
    seen: FloatArray  #: when the claim is there to be read

    def among(self, pages: BoolArray) -> TraceClaims:
        """The claims about some of the pages; these get new numbers."""
        kept = pages[self.page]
        number = np.cumsum(pages) - 1
        columns = {name: column[kept] for name, column in vars(self).items()}
        return replace(self, **columns | {"page": number[self.page[kept]]})

    def read(self, urls: Sequence[str], since: Time, now: Time) -> pa.Table:
        """The claims that a reader finds at `now` and did not find at `since`.

        A sitemap names only the last change of each page, so of several claims one is found.
        """
        first, end = np.searchsorted(self.seen, [since, now], side="right")
        rows = np.arange(first, end)[::-1]  # the last first
        number = np.unique(self.kind[rows].astype(str), return_inverse=True)[1]
        last = np.unique(self.page[rows] * (len(rows) + 1) + number, return_index=True)[1]
        rows = np.sort(rows[last])
        micros = pa.timestamp("us")
        said = np.minimum(self.said[rows], now)
        return pa.table(
            {
                "url": pa.array([urls[page] for page in self.page[rows]], pa.string()),
                "kind": pa.array(self.kind[rows], pa.string()),
                "said": pa.array(np.rint(said * 1e6).astype(np.int64)).cast(micros),
                "seen": pa.array(np.full(len(rows), round(now * 1e6))).cast(micros),
            }
        )


def read_claims(file: Path, urls: Sequence[str]) -> TraceClaims | None:
    """The claims in signals.parquet about the pages of a trace; None without such a file."""
    if not file.is_file():
        return None
    try:
        table = pq.read_table(file, columns=list(COLUMNS), partitioning=None)
        seconds = {
            name: table[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy() / 1e6
            for name in ("said", "seen")
        }
    except (pa.ArrowException, OSError) as error:
        raise BadInput(
            f"{file} must be a Parquet file with the columns {', '.join(COLUMNS)}. "
            f"It cannot be read: {str(error).splitlines()[0].rstrip('.')}."
        ) from error
    number = {url: page for page, url in enumerate(urls)}
    page = np.array([number.get(url, -1) for url in table["url"].to_pylist()], np.int64)
    order = np.argsort(seconds["seen"], kind="stable")
    order = order[page[order] >= 0]
    kind = np.array(table["kind"].to_pylist(), dtype=object)
    return TraceClaims(page[order], kind[order], seconds["said"][order], seconds["seen"][order])
