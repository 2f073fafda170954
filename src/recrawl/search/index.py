"""The search index of a store's copies, in its folder `index/`.

The store is the truth. The index records which copy of each page it holds. An update indexes the
pages whose copy is another one, so it also repairs whatever an interrupted update left undone.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recrawl.errors import BadInput, StoreBusy, StoreInvalid, extra
from recrawl.files import DAMAGED
from recrawl.page.fingerprints import words
from recrawl.page.word_hashes import space_ideographs
from recrawl.public import public
from recrawl.search.impact import FILE, TEXTS_READ, SearchImpact
from recrawl.search.workload import STOP_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from recrawl.model import IntArray, KeyArray, Pages
    from recrawl.protocols import Database
    from recrawl.search.workload import Workload

_log = logging.getLogger(__name__)
FOLDER = "index"
WRITER_BYTES = 64_000_000  #: memory of a writer
COMMIT_PAGES = 20_000  #: pages of a commit


@dataclass(frozen=True)
class IndexUpdate:
    """What an update of the index did."""

    indexed: list[int]  #: pages whose copy was new or another one
    removed: list[int]  #: pages whose copy is gone


@public
@dataclass(frozen=True)
class SearchResult:
    """One page of an answer."""

    page: int
    url: str
    title: str
    score: float
    at: float  #: when our copy was fetched


def search(
    store: Database,
    query: str,
    limit: int = 10,
    *,
    updated: Callable[[IndexUpdate], None] | None = None,
) -> list[SearchResult]:
    """Search the copies of a store for pages with all of these words, best first.

    The index is brought up to date first; `updated` is called with what that took.
    """
    index = SearchIndex(store)
    done = index.update()
    if updated is not None:
        updated(done)
    return index.search(query, limit)


def tantivy() -> Any:
    """The library; an error that says what to install, if it is missing."""
    with extra("search", "A search index"):
        import tantivy
    return tantivy


class SearchIndex:
    """The index of a store, as of the last `update`."""

    def __init__(self, store: Database) -> None:
        self.store = store
        self.folder: Path = store.path / FOLDER
        self._library = tantivy()
        self._index = self._open()

    def _open(self) -> Any:
        schema = self._library.SchemaBuilder()
        # Signed, because documents cannot be deleted by a term of an unsigned field.
        schema.add_integer_field("page", stored=True, indexed=True, fast=True)
        schema.add_unsigned_field("copy", stored=True, fast=True)
        schema.add_text_field("title", stored=True)
        schema.add_text_field("text", index_option="freq")
        self.folder.mkdir(exist_ok=True)
        try:
            return self._library.Index(schema.build(), path=str(self.folder))
        except ValueError as error:
            raise StoreInvalid(
                f"The index {self.folder} cannot be read: {error}. Nothing was changed; remove "
                "that folder and it is built again."
            ) from error

    def __len__(self) -> int:
        self._index.reload()
        return int(self._index.searcher().num_docs)

    def held(self) -> tuple[IntArray, KeyArray]:
        """The pages in the index, and the key of the copy it holds of each."""
        self._index.reload()
        searcher = self._index.searcher()
        size = searcher.num_docs
        if not size:
            return np.empty(0, np.int64), np.empty(0, np.uint64)
        every = searcher.search(self._library.Query.all_query(), limit=size, count=False)
        places = [place for _, place in every.hits]
        page = np.array(searcher.fast_field_values("page", places), np.int64)
        return page, np.array(searcher.fast_field_values("copy", places), np.uint64)

    def outdated(self) -> tuple[IntArray, IntArray]:
        """The pages to index, and those to remove."""
        return self._outdated(self._copies())

    def _copies(self) -> dict[str, Any]:
        """Page and key of the copies that the store holds, and when each page was last visited."""
        return {
            n: c.to_numpy()
            for n, c in zip(
                ("page", "copy", "visited_at"), self.store.query(_COPIES).columns, strict=True
            )
        }

    def _outdated(self, copies: dict[str, Any]) -> tuple[IntArray, IntArray]:
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
        self,
        impact: SearchImpact | None = None,
        pages: Pages | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> IndexUpdate:
        """Bring the index to what the store holds, and `impact` with it.

        The links of `pages` are for an impact that scores by links. Calls `progress` after each
        commit to disk: pages done, and pages in all.
        """
        copies = self._copies()
        changed, gone = self._outdated(copies)
        unseen = changed[:0]
        if impact is not None:
            unseen = copies["page"][impact.outdated(copies["page"], copies["copy"])]
            impact.remove_copies(gone[gone < len(impact)])
        work = np.union1d(changed, unseen)
        if len(changed) or len(gone):
            with self._writing() as writer:
                for page in gone.tolist():
                    writer.delete_documents_by_term("page", page)
                for begin in range(0, len(work), COMMIT_PAGES):
                    self._add(writer, work[begin : begin + COMMIT_PAGES], changed, impact)
                    if impact is not None:
                        impact.refit_if_due(pages)
                    writer.commit()
                    if progress is not None:
                        progress(min(begin + COMMIT_PAGES, len(work)), len(work))
        elif impact is not None:
            self._add(None, unseen, changed, impact)
        if impact is not None:
            impact.record_visits(copies["page"], copies["visited_at"] / 1e6)
            impact.refit_if_due(pages)
            impact.save(self.folder)
        return IndexUpdate(changed.tolist(), gone.tolist())

    def impact(self, workload: Workload, by: str = "tfidf") -> SearchImpact:
        """What was measured so far for this workload; empty for another one."""
        impact = SearchImpact.of(workload, by)
        try:
            impact.load(self.folder)
        except DAMAGED as error:
            _log.warning(
                "The gains of past refreshes cannot be read from %s: %s. Measuring starts again.",
                self.folder / FILE,
                error,
            )
            impact = SearchImpact.of(workload, by)
        return impact

    @contextmanager
    def _writing(self) -> Iterator[Any]:
        try:
            writer = self._index.writer(heap_size=WRITER_BYTES, num_threads=1)
        except ValueError as error:
            raise StoreBusy(
                f"The index {self.folder} is being written by another process: {error}. "
                "Wait for it to end."
            ) from error
        writer.garbage_collect_files()  # left by a killed writer
        yield writer
        writer.commit()
        writer.wait_merging_threads()

    def _add(
        self, writer: Any, page: IntArray, changed: IntArray, impact: SearchImpact | None
    ) -> None:
        """Index the pages that are in `changed`; add all of them to `impact`.

        The writer works in a thread of its own, which takes longer than measuring.
        """
        for begin in range(0, len(page), TEXTS_READ):
            block = page[begin : begin + TEXTS_READ]
            copies = self.store.query(_TEXTS, block.tolist())
            rows = copies.filter(pa.array(np.isin(block, changed))).drop_columns("at").to_pydict()
            for number, copy, title, text in zip(*rows.values(), strict=True):
                writer.delete_documents_by_term("page", number)
                document = self._library.Document()
                document.add_integer("page", number)
                document.add_unsigned("copy", copy)
                document.add_text("title", title or "")
                document.add_text("text", space_ideographs(f"{title}\n{text}" if title else text))
                writer.add_document(document)
            if impact is not None:
                texts = copies["text"].cast(pa.large_string()).combine_chunks()
                at = copies["at"].to_numpy() / 1e6
                impact.add_copies(block, copies["copy"].to_numpy(), texts, at)

    def search(self, query: str, limit: int = 10) -> list[SearchResult]:
        """The pages that hold all words of a query except stop words, best first by BM25."""
        asked = list(dict.fromkeys(words(space_ideographs(query))))
        terms = [word for word in asked if word not in STOP_WORDS.split()]
        if not terms:
            what = "only stop words" if asked else "no word"
            raise BadInput(f"A query must hold a word to search for. Got {what}: {query!r}.")
        library, schema = self._library, self._index.schema
        wanted = [library.Query.term_query(schema, "text", word, "freq") for word in terms]
        every = library.Query.boolean_query([(library.Occur.Must, one) for one in wanted])
        self._index.reload()
        searcher = self._index.searcher()
        hits = [(score, searcher.doc(place)) for score, place in searcher.search(every, limit).hits]
        if not hits:
            return []
        ids = [int(document["page"][0]) for _, document in hits]
        rows = self.store.query(_URLS, ids).to_pydict()
        known = dict(zip(rows["page_id"], zip(rows["url"], rows["at"], strict=True), strict=True))
        return [
            SearchResult(
                page, known[page][0], document["title"][0], float(score), known[page][1] / 1e6
            )
            for page, (score, document) in zip(ids, hits, strict=True)
        ]


#: The key of a copy is its digest, so that a visit that finds the same is not indexed.
_KEY = "coalesce(nullif(digest, 0), epoch_us(contents.at)::UBIGINT)"
_COPIES = f"""
SELECT page_id, {_KEY}, epoch_us(last_visit) FROM contents JOIN pages USING (page_id)
WHERE NOT gone ORDER BY page_id
"""  # noqa: S608
_TEXTS = f"""
SELECT page_id, {_KEY} AS copy, title, text, epoch_us(contents.at) AS "at"
FROM contents JOIN pages USING (page_id) JOIN (SELECT unnest(?) AS page_id) USING (page_id)
ORDER BY page_id
"""  # noqa: S608
_URLS = """
SELECT page_id, url, epoch_us(contents.at) AS "at"
FROM contents JOIN pages USING (page_id) JOIN (SELECT unnest(?) AS page_id) USING (page_id)
"""
