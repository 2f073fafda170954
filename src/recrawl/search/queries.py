"""Reads files of queries: TSV, CSV or JSON lines, frequencies or a search log."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.search.workload import build_workload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from recrawl.model import FloatArray, Time
    from recrawl.search.workload import Workload

MAX_QUERY_CHARACTERS = 10_000
REQUIRED_COLUMN = "query"
#: Columns that are read; others, such as who asked, are not.
COLUMNS = (REQUIRED_COLUMN, "frequency", "time", "rank")


@dataclass(frozen=True)
class Queries:
    """Queries as they were written, one a line of the file."""

    text: list[str]
    frequency: FloatArray
    rank: FloatArray  #: of the clicked result; NaN if unknown


def read_workload(path: str | Path, **recent: float | None) -> Workload:
    """The workload in a file of queries; `recent` as for `read_queries`."""
    queries = read_queries(path, **recent)
    asked = queries.frequency > 0
    workload = build_workload(
        [text for text, yes in zip(queries.text, asked, strict=True) if yes],
        queries.frequency[asked],
    )
    if not len(workload):
        raise BadInput(f"The queries {path} must hold a word to search for. They hold none.")
    return replace(workload, clicked=queries.rank[np.isfinite(queries.rank)])


def read_queries(
    path: str | Path,
    *,
    now: Time | None = None,
    window: float | None = None,
    half_life: float | None = None,
) -> Queries:
    """Queries from TSV, CSV or JSON lines: `query` and `frequency`, or a log of `query` and `time`.

    Each line of a log counts once. A `window` (seconds) keeps only the lines in it before `now`; a
    `half_life` (seconds) lets a line count half when it is that old. Who searched is never read.
    """
    path = Path(path)
    text: list[str] = []
    numbers: list[list[float]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            for line, row in _rows(file, path):
                query, *values = _checked(row, path, line)
                text.append(query)
                numbers.append(values)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"The queries {path} must be a text file in UTF-8. Got {error}.") from error
    columns = np.array(numbers, dtype=np.float64).reshape(-1, 3)
    frequency, at, rank = columns[:, 0], columns[:, 1], columns[:, 2]
    return Queries(text, frequency * _recent(at, now, window, half_life), rank)


def _recent(
    at: FloatArray, now: Time | None, window: float | None, half_life: float | None
) -> FloatArray:
    """The weight of each line by its age; 1 for lines without a time."""
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
    """The number of each line, and its columns that are read."""
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
    first_line, names = 2, named
    if REQUIRED_COLUMN not in named:  # no header
        first_line, names = 1, [REQUIRED_COLUMN, "frequency"]
        cells = chain([first], cells)
    for n, row in enumerate(cells, first_line):
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
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not isinstance(row.get(REQUIRED_COLUMN), str):
        raise BadInput(
            f"{path}, line {n}: must be a JSON object with a text 'query'. Got {_short(line)}."
        )
    return {name: row[name] for name in COLUMNS if name in row}


def _checked(row: dict[str, Any], path: Path, n: int) -> tuple[str, float, float, float]:
    """Query, frequency, time and clicked rank of a line."""
    text = row[REQUIRED_COLUMN]
    if len(text) > MAX_QUERY_CHARACTERS:
        raise BadInput(
            f"{path}, line {n}: a query must have at most {MAX_QUERY_CHARACTERS:,} characters. "
            f"Got {len(text):,}; drop the line."
        )
    return (
        text,
        _number(row.get("frequency", 1), path, n, "frequency", 0.0),
        _time(row.get("time"), path, n),
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


def _time(value: object, path: Path, n: int) -> float:
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
