"""What do people search for, and how often? Files of queries, read and brought into one form."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.search import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Time

LONGEST = 10_000  #: characters of a query
NEEDED = "query"
#: Columns that are read where there are any; no other, such as who asked, is.
COLUMNS = (NEEDED, "frequency", "time", "rank")
#: Words that Lucene leaves out of English texts: they say nothing of a page.
STOP = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then "
    "there these they this to was will with"
)


@dataclass(frozen=True)
class Queries:
    """Queries as they were written, a row each."""

    text: list[str]
    frequency: FloatArray
    rank: FloatArray  #: of the result that was clicked; NaN not known


@dataclass(frozen=True)
class Workload:
    """Queries as sets of terms, each once: query i has the terms term[start[i]:start[i + 1]]."""

    start: NDArray[np.int64]
    term: NDArray[np.int32]  #: numbers in the vocabulary
    frequency: FloatArray  #: shares of all that is asked
    vocabulary: KeyArray  #: hashes of all terms, ascending
    empty: int  #: queries passed over: they hold nothing but stop words, or nothing
    clicked: FloatArray = field(default_factory=lambda: np.empty(0))  #: ranks of clicked results

    def __len__(self) -> int:
        return len(self.frequency)

    def take(self, kept: IntArray | BoolArray) -> Workload:
        """Some of the queries, and their terms only."""
        rows = np.flatnonzero(kept) if kept.dtype == np.bool_ else kept
        counts = np.diff(self.start)[rows]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[rows] - start[:-1], counts) + np.arange(start[-1])
        used, term = np.unique(self.term[at], return_inverse=True)
        share = self.frequency[rows]
        share = share / share.sum() if len(share) else share
        return replace(
            self,
            start=start,
            term=term.astype(np.int32),
            frequency=share,
            vocabulary=self.vocabulary[used],
        )

    def by_term(self) -> FloatArray:
        """How often each term is asked for: the sum over the queries that hold it."""
        weight = np.repeat(self.frequency, np.diff(self.start))
        return np.bincount(self.term, weight, minlength=len(self.vocabulary)).astype(np.float64)


def read_workload(path: str | Path, **recent: float | None) -> Workload:
    """The workload in a file of queries; `recent` as for `read_queries`."""
    queries = read_queries(path, **recent)
    asked = queries.frequency > 0
    found = workload(
        [text for text, yes in zip(queries.text, asked, strict=True) if yes],
        queries.frequency[asked],
    )
    if not len(found):
        raise BadInput(f"The queries {path} must hold a word to search for. They hold none.")
    return replace(found, clicked=queries.rank[np.isfinite(queries.rank)])


def workload(text: list[str], frequency: FloatArray) -> Workload:
    """Queries as sets of terms without stop words; equal sets are one query.

    >>> import numpy as np
    >>> len(workload(["Cheap flights", "flights cheap", "to be", ""], np.ones(4)))
    1
    """
    start, word = terms.hashes(text)
    query = np.repeat(np.arange(len(text)), np.diff(start))
    counts = ~np.isin(word, terms.hashes([STOP])[1])
    vocabulary, number = np.unique(word[counts], return_inverse=True)
    pairs = np.unique(query[counts] * (len(vocabulary) + 1) + number)  # each term once a query
    query, number = np.divmod(pairs, len(vocabulary) + 1)
    held = np.bincount(query, minlength=len(text))
    mark = _marks(query, vocabulary[number], len(text))
    asked = np.flatnonzero(held)
    _, first, same = np.unique(mark[asked], return_index=True, return_inverse=True)
    share = np.bincount(same, frequency[asked], minlength=len(first)).astype(np.float64)
    kept = asked[first]
    begin = np.concatenate([[0], np.cumsum(held)])
    every = Workload(
        begin, number.astype(np.int32), frequency, vocabulary, int((held == 0).sum())
    ).take(kept)
    total = float(share.sum())
    share = share / total if total > 0 else share
    return Workload(every.start, every.term, share, every.vocabulary, every.empty)


def _marks(query: IntArray, word: KeyArray, size: int) -> KeyArray:
    """A number for each set of terms, whatever their order."""
    mixed = (word ^ (word >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    mark = np.zeros(size, np.uint64)
    np.add.at(mark, query, mixed ^ (mixed >> np.uint64(32)))
    return mark


def read_queries(
    path: str | Path,
    *,
    now: Time | None = None,
    window: float | None = None,
    half_life: float | None = None,
) -> Queries:
    """Queries from TSV, CSV or JSON lines: `query` and `frequency`, or a log of `query` and `time`.

    Of a log each line counts once; with a `window` (seconds) only those in it before `now`, with a
    `half_life` those that much older count half. Nobody who searched is read or kept.
    """
    path = Path(path)
    text: list[str] = []
    numbers: list[tuple[float, float, float]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line, row in _rows(file, path):
                said, *rest = _checked(row, path, line)
                text.append(said)
                numbers.append((rest[0], rest[1], rest[2]))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"The queries {path} must be a text file in UTF-8. Got {error}.") from error
    columns = np.array(numbers, dtype=np.float64).reshape(-1, 3)
    frequency, at, rank = columns[:, 0], columns[:, 1], columns[:, 2]
    return Queries(text, frequency * _recent(at, now, window, half_life), rank)


def _recent(
    at: FloatArray, now: Time | None, window: float | None, half_life: float | None
) -> FloatArray:
    """How much each line counts by its age; lines without a time count whole."""
    weight = np.ones(len(at))
    if window is None and half_life is None:
        return weight
    for name, value in (("window", window), ("half_life", half_life)):
        if value is not None and not 0 < value < np.inf:
            raise BadInput(f"{name} of a search log must be above 0. Got {value}.")
    age = (float(np.fmax.reduce(at, initial=-np.inf)) if now is None else now) - at
    weight[age < 0] = 0.0
    if window is not None:
        weight[age > window] = 0.0
    if half_life is not None:
        weight *= np.where(age >= 0, np.exp2(-np.maximum(age, 0.0) / half_life), 1.0)
    return weight


def _rows(file: Iterable[str], path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Each line as a dictionary of the columns that are read."""
    lines = iter(file)
    if path.suffix in (".jsonl", ".ndjson", ".json"):
        yield from ((n, _object(line, path, n)) for n, line in enumerate(lines, 1) if line.strip())
        return
    csv.field_size_limit(1 << 30)
    cells: Iterator[list[str]]
    if path.suffix == ".csv":
        cells = csv.reader(lines)
    else:
        cells = (line.rstrip("\r\n").split("\t") for line in lines)
    first = next(cells, None)
    if first is None:
        return
    named = [cell.strip().lower() for cell in first]
    begins, names = 2, named
    if NEEDED not in named:
        names, begins = [NEEDED, "frequency"], 1
        cells = chain([first], cells)
    for n, row in enumerate(cells, begins):
        if not any(row):
            continue
        if len(row) != len(names):
            raise BadInput(
                f"{path}, line {n}: must have {len(names)} columns ({', '.join(names)}). "
                f"Got {len(row)}: {_short(row)}."
            )
        yield n, {name: cell for name, cell in zip(names, row, strict=True) if name in COLUMNS}


def _object(line: str, path: Path, n: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get(NEEDED), str):
        raise BadInput(
            f"{path}, line {n}: must be a JSON object with a text 'query'. Got {_short(line)}."
        )
    return {name: found[name] for name in COLUMNS if name in found}


def _checked(row: dict[str, Any], path: Path, n: int) -> tuple[str, float, float, float]:
    """Query, frequency, time and clicked rank of a line."""
    text = row[NEEDED]
    if len(text) > LONGEST:
        raise BadInput(
            f"{path}, line {n}: a query must have at most {LONGEST:,} characters. "
            f"Got {len(text):,}; drop the line."
        )
    return (
        text,
        _number(row.get("frequency", 1), path, n, "frequency", 0.0),
        _when(row.get("time"), path, n),
        _number(row["rank"], path, n, "rank", 1.0) if row.get("rank") else np.nan,
    )


def _number(value: object, path: Path, n: int, name: str, least: float) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = np.nan
    if not least <= number < np.inf:
        raise BadInput(
            f"{path}, line {n}: {name} must be a number, {least:g} or more. Got {_short(value)}."
        )
    return number


def _when(value: object, path: Path, n: int) -> float:
    if value in (None, ""):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    try:
        return units.time(str(value))
    except BadInput:
        raise BadInput(
            f"{path}, line {n}: time must be seconds since 1970 or ISO 8601. Got {_short(value)}."
        ) from None


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:79] + "…"
