"""The policy auto: pages with texts, a day in eight parts."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from benchmarks.harness import Figure, apart
from recrawl.auto.model import HitModel
from recrawl.history.memory import MemoryHistory
from recrawl.model import DAY, VISITS
from recrawl.policies.auto import Auto
from recrawl.registry import make

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import BoolArray, FloatArray, IntArray

BEGIN = 1_700_000_000.0 // DAY * DAY
WORDS, LENGTH = 5_000, 60
MANY, ONE = "https://h{}.org/s{}/d{}/", "https://h.org/"  #: directories of ten pages, or one of all
GOAL = "new day < 5 s, again < 0.5 s, train < 30 s, < 4 GiB"  #: with a million pages


class Copies:
    """Texts of words of a few subjects, and links to a few other pages."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        letters = np.arange(WORDS)[:, None] // 26 ** np.arange(5) % 26 + ord("a")
        self.words = np.pad(letters, ((0, 0), (0, 1)), constant_values=ord(" ")).astype(np.uint8)

    def link_counts(self, page: IntArray, since: FloatArray, until: FloatArray) -> FloatArray:
        del since, until
        return np.zeros((3, len(page)))

    def targets(self) -> int:
        return self.pages

    def unseen(self, page: IntArray, at: FloatArray, seen: BoolArray) -> FloatArray:
        del at, seen
        return np.zeros((2, len(page)))

    def texts(self, page: IntArray, at: FloatArray) -> pa.Array:
        random = np.random.default_rng(int(np.nan_to_num(at).max(initial=0)))
        subject = (page * 7919) % 500 * 10
        word = (subject[:, None] + random.integers(0, 40, (len(page), LENGTH))) % WORDS
        start = np.arange(len(page) + 1) * self.words.shape[1] * LENGTH
        buffers = (pa.py_buffer(part) for part in (start, self.words[word].ravel()))
        return pa.LargeStringArray.from_buffers(len(page), *buffers)

    def outlinks(self, page: IntArray, at: FloatArray) -> tuple[IntArray, IntArray]:
        del at
        target = (page[:, None] + np.array([1, 7, 100])) % self.pages
        return np.arange(len(page) + 1) * 3, target.ravel()


def measured(pages: int, directory: str) -> tuple[float, ...]:
    """Seconds of the first day, of a later day, of scoring again that day, and of training."""
    urls = [directory.format(i % 97, i // 9700 % 50, i // 970) + f"p{i}" for i in range(pages)]
    history = MemoryHistory(urls, make("detector", "digest"), seen=BEGIN, copies=Copies(pages))
    names, random, auto = pa.array(urls), np.random.default_rng(0), Auto()
    took = []
    for day in range(7):
        for part in range(8 if day > 2 else 1):
            now = BEGIN + day * DAY + part
            begin = perf_counter()
            if day > 2:
                auto.learn(history, history.pages(), now)
                auto.score(history.pages(), now)
                took.append(perf_counter() - begin)
            row = random.choice(pages, pages // 400, replace=False) if day > 2 else np.arange(pages)
            history.append(_visits(names, row, day, now), now=now)
    changes = auto.scorers_["balanced"]
    assert isinstance(changes, HitModel)
    learner = changes.learner
    learner.n_hits_trained = 0
    begin = perf_counter()
    learner.train()
    return took[0], min(took[8::8]), min(took[9:16]), perf_counter() - begin


def _visits(names: pa.Array, row: IntArray, day: int, now: float) -> pa.Table:
    columns = {f.name: pa.nulls(len(row), f.type) for f in VISITS}
    columns["url"] = names.take(pa.array(row))
    at = pa.array(np.full(len(row), int(now * 1e6)))
    columns["at"] = at.cast(VISITS.field("at").type)
    columns["status"] = pa.array(np.full(len(row), 200, np.int16))
    columns["digest_of"] = pa.array(["text"] * len(row))
    every = 2 + row // 400 % 60  # days between changes: a directory changes together
    columns["digest"] = pa.array(((day + row // 400) // every).astype(np.uint64))
    return pa.table(columns, schema=VISITS)


def figures() -> Iterator[Figure]:
    for pages, directory in (
        (100_000, MANY),
        (1_000_000, MANY),
        (5_000_000, MANY),
        (2_000_000, ONE),
    ):
        (first, day, part, training), memory = apart(measured, pages, directory)
        where = " in one directory" * (directory == ONE)
        yield Figure(
            f"{pages:,} pages{where}: begin, with texts / a new day / again within the day / train",
            f"{first:.0f} s / {day:.1f} s / {part:.2f} s / {training:.1f} s, {memory:.1f} GiB",
            GOAL * (pages == 1_000_000),
        )
