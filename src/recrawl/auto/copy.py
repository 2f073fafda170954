"""What does our copy of a page look like: how long, how dated, how much like news?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import FloatArray, IntArray

#: What is counted in a text, by the name of the column.
COUNTED = {
    "lines": r"\n",
    "digits": r"[0-9]",
    "years": r"\b(?:19|20)[0-9]{2}\b",
    "dates": r"\b(?:[0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{1,2}[/.][0-9]{1,2}[/.][0-9]{2,4})\b"
    r"|\b(?:[Jj]an|[Ff]eb|[Mm]ar|[Aa]pr|[Mm]ay|[Jj]un|[Jj]ul|[Aa]ug|[Ss]ep|[Oo]ct|[Nn]ov|[Dd]ec)"
    r"[a-z]*\.? [0-9]{1,2}\b",
    "words of change": r"(?i)\b(?:updat|modif|latest|new|chang|version|releas)",
}
READ = 20_000  #: characters of a text that are looked at
OF_URL = ("depth", "digits in the URL", "length of the URL")
NAMES = ("length", "links", *COUNTED, *OF_URL)


def columns(texts: pa.Array, links: IntArray, urls: Sequence[str]) -> FloatArray:
    """A row for each of NAMES, logarithms; 0 where the copy is not known.

    Of the texts the first READ characters are asked for.
    """
    names = pa.array(urls, pa.string())
    texts = texts.cast(pa.large_string())
    counts = [
        pc.utf8_length(texts),
        pa.array(links),
        *(pc.count_substring_regex(texts, pattern=what) for what in COUNTED.values()),
        pc.count_substring(names, "/"),
        pc.count_substring_regex(names, pattern="[0-9]"),
        pc.utf8_length(names),
    ]
    found = np.empty((len(counts), len(names)))
    for row, one in enumerate(counts):
        found[row] = pc.fill_null(one.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    return np.log1p(found)
