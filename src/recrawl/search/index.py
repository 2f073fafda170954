"""Where can our copies be searched? An index beside the history, in the store's folder `index/`.

The store is the truth. An index says of each page which copy it holds, so that whatever was cut off
is seen and made good when it is next opened: pages whose copy is another are indexed anew.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa

from recrawl.errors import BadInput, StoreBusy, StoreInvalid, extra
from recrawl.page.fingerprints import words
from recrawl.page.word_hashes import spaced
from recrawl.search.queries import STOP
from recrawl.search.watched import BLOCK, MEASURED, Watched

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recrawl.model import IntArray, KeyArray
    from recrawl.protocols import Database
    from recrawl.search.queries import Workload

_log = logging.getLogger(__name__)
FOLDER = "index"
HEAP = 64_000_000  #: bytes of a writer
BATCH = 20_000  #: pages of a commit


@dataclass(frozen=True)
class Updated:
    """What brought an index to the store's state."""

    indexed: list[int]  #: pages whose copy was another, or not there
    removed: list[int]  #: pages whose copy is gone


@dataclass(frozen=True)
class Result:
    """One page that was found."""

    page: int
    url: str
    title: str
    score: float
    at: float  #: when our copy was fetched


def tantivy() -> Any:
    """The library, or what to do without it."""
    with extra("search", "A search index"):
        import tantivy
    return tantivy


class SearchIndex:
    """The index of a store. It knows what the store knew at the last `update`."""

    def __init__(self, store: Database) -> None:
        self.store = store
        self.folder: Path = store.path / FOLDER
        self._library = tantivy()
        self._index = self._open()

    def _open(self) -> Any:
        schema = self._library.SchemaBuilder()
        # Signed: terms of unsigned fields are not found when documents are to be deleted.
        schema.add_integer_field("page", stored=True, indexed=True, fast=True)
        schema.add_unsigned_field("copy", stored=True, fast=True)
        schema.add_text_field("title", stored=True)
        schema.add_text_field("text", index_option="freq")
        self.folder.mkdir(exist_ok=True)
        try:
            return self._library.Index(schema.build(), path=str(self.folder))
        except ValueError as error:
            raise StoreInvalid(
                f"The index {self.folder} cannot be read: {error}. Nothing was touched; remove "
                "that folder and it is made anew."
            ) from error

    def __len__(self) -> int:
        self._index.reload()
        return int(self._index.searcher().num_docs)

    def held(self) -> tuple[IntArray, KeyArray]:
        """The pages in the index, and which copy of each it is."""
        self._index.reload()
        searcher = self._index.searcher()
        many = searcher.num_docs
        if not many:
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        every = searcher.search(self._library.Query.all_query(), limit=many, count=False)
        places = [place for _, place in every.hits]
        page = np.array(searcher.fast_field_values("page", places), np.int64)
        return page, np.array(searcher.fast_field_values("copy", places), np.uint64)

    def behind(self) -> tuple[IntArray, IntArray]:
        """The pages to index anew, and those to remove."""
        return self._behind(self._copies())

    def _copies(self) -> dict[str, Any]:
        """Page, copy and time of the copies that the store holds."""
        return {
            n: c.to_numpy()
            for n, c in zip(("page", "copy", "at"), self.store.query(_COPIES).columns, strict=True)
        }

    def _behind(self, copies: dict[str, Any]) -> tuple[IntArray, IntArray]:
        page, copy = self.held()
        size = max(int(copies["page"].max(initial=-1)), int(page.max(initial=-1))) + 1
        ours, theirs = np.zeros((2, size), np.uint64)
        ours[page], theirs[copies["page"]] = copy, copies["copy"]
        twice = np.bincount(page, minlength=size) > 1
        return (
            np.flatnonzero((theirs > 0) & ((ours != theirs) | twice)),
            np.flatnonzero((theirs == 0) & (ours > 0)),
        )

    def update(
        self, watched: Watched | None = None, told: Callable[[int, int], None] | None = None
    ) -> Updated:
        """Bring the index to what the store holds; `watched` measures what refreshes gain.

        A commit is on disk when `told` is called, with how many pages are done and of how many.
        """
        copies = self._copies()
        anew, gone = self._behind(copies)
        unseen = anew[:0]
        if watched is not None:
            unseen = copies["page"][watched.stale(copies["page"], copies["copy"])]
            watched.forget(gone[gone < len(watched)])
        work = np.union1d(anew, unseen)
        if len(anew) or len(gone):
            with self._writing() as writer:
                for page in gone.tolist():
                    writer.delete_documents_by_term("page", page)
                for begin in range(0, len(work), BATCH):
                    self._take_up(writer, work[begin : begin + BATCH], anew, watched)
                    writer.commit()
                    if told is not None:
                        told(min(begin + BATCH, len(work)), len(work))
        elif watched is not None:
            self._take_up(None, unseen, anew, watched)
        if watched is not None:
            watched.visited(copies["page"], copies["at"] / 1e6)
            watched.settle()
            watched.save(self.folder)
        return Updated(anew.tolist(), gone.tolist())

    def watched(self, workload: Workload, **how: str) -> Watched:
        """What was measured so far with a workload; nothing yet with another."""
        found = Watched.of(workload, **how)
        try:
            found.load(self.folder)
        except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
            _log.warning(
                "What refreshes gained so far cannot be read from %s: %s. It is measured anew.",
                self.folder / MEASURED,
                error,
            )
            found = Watched.of(workload, **how)
        return found

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        try:
            writer = self._index.writer(heap_size=HEAP, num_threads=1)
        except ValueError as error:
            raise StoreBusy(
                f"The index {self.folder} is being written by another process: {error}. "
                "Wait for it to end."
            ) from error
        writer.garbage_collect_files()  # what a killed writer left would stand in the way
        yield writer
        writer.commit()
        writer.wait_merging_threads()

    def _take_up(
        self, writer: Any, page: IntArray, anew: IntArray, watched: Watched | None
    ) -> None:
        """Index those of the pages that are to be, and have all measured meanwhile.

        The writer has a thread of its own, which is busy for longer than it takes to measure.
        """
        for begin in range(0, len(page), BLOCK):
            block = page[begin : begin + BLOCK]
            copies = self.store.query(_TEXTS, block.tolist())
            rows = copies.filter(pa.array(np.isin(block, anew))).drop_columns("at").to_pydict()
            for number, copy, title, text in zip(*rows.values(), strict=True):
                writer.delete_documents_by_term("page", number)
                document = self._library.Document()
                document.add_integer("page", number)
                document.add_unsigned("copy", copy)
                document.add_text("title", title or "")
                document.add_text("text", spaced(f"{title}\n{text}" if title else text))
                writer.add_document(document)
            if watched is not None:
                texts = copies["text"].cast(pa.large_string()).combine_chunks()
                watched.see(block, copies["copy"].to_numpy(), texts, copies["at"].to_numpy() / 1e6)
        if watched is not None:
            watched.settle()

    def search(self, query: str, limit: int = 10) -> list[Result]:
        """The pages that hold all words of a query, best first by BM25; stop words do not count."""
        asked = list(dict.fromkeys(words(spaced(query))))
        terms = [word for word in asked if word not in STOP.split()]
        if not terms:
            what = "only stop words" if asked else "no word"
            raise BadInput(f"A query must hold a word to search for. Got {what}: {query!r}.")
        library, schema = self._library, self._index.schema
        wanted = [library.Query.term_query(schema, "text", word, "freq") for word in terms]
        every = library.Query.boolean_query([(library.Occur.Must, one) for one in wanted])
        self._index.reload()
        searcher = self._index.searcher()
        found = [
            (score, searcher.doc(place)) for score, place in searcher.search(every, limit).hits
        ]
        if not found:
            return []
        ids = [int(document["page"][0]) for _, document in found]
        rows = self.store.query(_SHOWN, ids).to_pydict()
        known = dict(zip(rows["page_id"], zip(rows["url"], rows["at"], strict=True), strict=True))
        return [
            Result(page, known[page][0], document["title"][0], float(score), known[page][1] / 1e6)
            for page, (score, document) in zip(ids, found, strict=True)
        ]


#: A copy is known by its digest, so that visits which find the same need not be indexed.
_KEY = "coalesce(nullif(digest, 0), epoch_us(contents.at)::UBIGINT)"
_COPIES = f"""
SELECT page_id, {_KEY}, epoch_us(contents.at) FROM contents JOIN pages USING (page_id)
WHERE NOT gone ORDER BY page_id
"""  # noqa: S608
_TEXTS = f"""
SELECT page_id, {_KEY} AS copy, title, text, epoch_us(contents.at) AS "at"
FROM contents JOIN pages USING (page_id) JOIN (SELECT unnest(?) AS page_id) USING (page_id)
ORDER BY page_id
"""  # noqa: S608
_SHOWN = """
SELECT page_id, url, epoch_us(contents.at) AS "at"
FROM contents JOIN pages USING (page_id) JOIN (SELECT unnest(?) AS page_id) USING (page_id)
"""
