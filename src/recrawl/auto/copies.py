"""What do our copies of pages look like: how long, how dated, how much like news? And their texts.

Copies are read again only when they changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.neighbours.vectors import TextSpace, TextVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import FloatArray, IntArray, Pages

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
URL_NAMES = ("depth", "digits in the URL", "length of the URL")
NAMES = ("length", "links", *COUNTED, *URL_NAMES)
MAX_CHARACTERS = 20_000  #: of a text that are counted
DIMS, VECTOR_CHARACTERS = 48, 2_500  #: of the text vectors, and of a text that they read
SAME_TEXT = 0.95  #: cosine from which a text counts as unchanged, and its neighbours too
BATCH = 20_000  #: texts in memory


class CopyFeatures:
    """The features and text vector of our copy of each page."""

    def __init__(self, n_pages: int) -> None:
        self.n_changes = np.full(n_pages, -1, np.int64)  #: of the page, when its copy was read
        self.last_visit = np.full(n_pages, -np.inf)  #: of the page, when its copy was read; seconds
        self.first_day = np.full(n_pages, -np.inf)  #: the day a copy was read first
        self.has_text = np.zeros(n_pages, np.bool_)
        self.features = np.zeros((len(NAMES), n_pages), np.float32)
        space = TextSpace(dims=DIMS, characters=VECTOR_CHARACTERS)
        self.texts = TextVectors(n_pages=n_pages, space=space, same=SAME_TEXT)

    def take_over(self, old: CopyFeatures, new_row: IntArray) -> None:
        """Take over what is known of other pages, which are at these rows here."""
        for name in ("n_changes", "last_visit", "first_day", "has_text"):
            getattr(self, name)[new_row] = getattr(old, name)
        self.features[:, new_row] = old.features
        old_row = np.full(len(self.has_text), -1)
        old_row[new_row] = np.arange(len(new_row))
        self.texts = old.texts
        self.texts.reindex(old_row)

    def read_first(self, pages: Pages, day: int) -> IntArray:
        """Read copies that were never read; returns the rows whose text vectors changed."""
        rows = np.flatnonzero(~np.isnan(pages.last_visit) & (self.n_changes < 0))
        moved = self._read(pages, rows)
        self.first_day[rows] = day
        return moved

    def read_changed(self, pages: Pages) -> IntArray:
        """Read copies that changed, or all of them if the text space has to be learned again.

        Returns the rows whose text vectors changed.
        """
        if self.texts.is_outgrown(int(self.has_text.sum())):
            return self._read(pages, np.flatnonzero(~np.isnan(pages.last_visit)), relearn=True)
        return self._read(pages, self.changed(pages))

    def changed(self, pages: Pages) -> IntArray:
        """The rows whose copy changed since it was read, or may have a text by now."""
        version = np.where(np.isnan(pages.last_visit), -1, pages.n_changes)
        may_have_text = ~self.has_text & (pages.last_visit > self.last_visit)
        return np.flatnonzero((self.n_changes != version) | may_have_text)

    def _read(self, pages: Pages, rows: IntArray, *, relearn: bool = False) -> IntArray:
        if not len(rows):
            return rows
        if relearn or not self.texts.n_learned:
            self.texts.learn(pages, rows)
        moved = []
        for begin in range(0, len(rows), BATCH):
            part = rows[begin : begin + BATCH]
            some = pages.take(part)
            texts = some.texts(MAX_CHARACTERS)
            self.features[:, part] = features(texts, some.n_links(), some.urls())
            self.has_text[part] = texts.is_valid().to_numpy(zero_copy_only=False)
            moved.append(self.texts.update(part, texts))
        self.n_changes[rows], self.last_visit[rows] = pages.n_changes[rows], pages.last_visit[rows]
        return np.concatenate(moved)


def features(texts: pa.Array, links: IntArray, urls: Sequence[str]) -> FloatArray:
    """Logarithms of what is counted: a row for each of NAMES, 0 where the copy is not known.

    Texts must be cut to MAX_CHARACTERS.
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
    columns = np.empty((len(counts), len(names)))
    for row, count in enumerate(counts):
        columns[row] = pc.fill_null(count.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    return np.log1p(columns)
