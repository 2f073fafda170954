"""What a process was told is on disk, and whether the store holds it: the checks of all pieces."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import recrawl
from recrawl.errors import RecrawlError
from recrawl.history import Store
from recrawl.model import DAY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    import pyarrow as pa

Visit = tuple[str, int]  #: URL and microseconds since 1970


def keep_journal(path: Path, note: Callable[[], dict[str, Any]] = dict) -> None:
    """In this process, write a line before each `Store.append` and one after it has returned.

    The second has what `note` returns, too.
    """
    import pyarrow as pa

    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    original = Store.append

    def write(line: dict[str, Any]) -> None:
        os.write(file, (json.dumps(line) + "\n").encode())

    def append(self: Store, visits: pa.Table, *, now: float | None = None) -> Any:
        keys: list[Visit] = []
        if "at" in visits.column_names and visits["at"].null_count < len(visits):
            made = visits.filter(visits["at"].is_valid())
            at = made["at"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64())
            keys = list(zip(made["url"].to_pylist(), at.to_pylist(), strict=True))
            write({"begin": keys})
        result = original(self, visits, now=now)
        if keys:
            write({"done": len(keys), **note()})
        return result

    Store.append = append  # type: ignore[method-assign]


@dataclass
class Journal:
    """The batches that processes have begun to append, and those that they know to be on disk."""

    acknowledged: set[Visit] = field(default_factory=set)
    interrupted: list[set[Visit]] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Journal:
        return cls.of(path.read_bytes() if path.exists() else b"")

    @classmethod
    def of(cls, text: bytes) -> Journal:
        """From the lines of a journal; the last may be cut short."""
        journal, begun = cls(), set[Visit]()
        for line in text.split(b"\n")[:-1]:
            record = json.loads(line)
            if "done" in record:
                journal.acknowledged |= begun
                begun = set()
            else:
                if begun:
                    journal.interrupted.append(begun)
                begun = {(url, at) for url, at in record["begin"]}
        if begun:
            journal.interrupted.append(begun)
        return journal


def damage(held: set[Visit], journal: Journal) -> dict[str, int]:
    """How many acknowledged visits are missing, batches half there, and visits from nowhere."""
    half, known = 0, set(journal.acknowledged)
    for batch in journal.interrupted:
        new = batch - known
        half += 0 < len(new & held) < len(new)
        known |= batch
    return {
        "lost": len(journal.acknowledged - held),
        "half batches": half,
        "visits from nowhere": len(held - known),
    }


def examine(store: Path, journal: Journal) -> dict[str, int]:
    """Open a store after a disaster: what is damaged, and whether a plan can be made."""
    found = {"not opened": 0, "no plan": 0, "lost": 0, "half batches": 0, "visits from nowhere": 0}
    if not (store / "history.duckdb").exists() and not journal.acknowledged:
        return found  # it was not created yet, and nobody was told so
    try:
        opened = Store.open(store)
        found |= damage(held_visits(opened), journal)
    except RecrawlError as error:
        print(f"not opened: {error}")
        return found | {"not opened": 1, "lost": len(journal.acknowledged)}
    try:
        last = opened.summary().last_visit or 1.7e9
        recrawl.plan(opened, 5, now=last + DAY, policy="poisson")
    except RecrawlError as error:
        print(f"no plan: {error}")
        found["no plan"] = 1
    return found


def held_visits(store: Store) -> set[Visit]:
    rows = store.query(
        'SELECT url, epoch_us(visits.at) AS "at" FROM visits JOIN pages USING (page_id)'
    )
    return set(zip(rows["url"].to_pylist(), rows["at"].to_pylist(), strict=True))


def add(figures: dict[str, Any], found: dict[str, int]) -> None:
    """Add counts to figures."""
    for name, count in found.items():
        figures[name] = figures.get(name, 0) + count


#: None of these may ever be above 0.
DAMAGE = {"lost": 0, "half batches": 0, "visits from nowhere": 0, "not opened": 0, "no plan": 0}


def write_log(path: Path, number: int, rows: int) -> None:
    """A crawl log of one batch: all its visits have the time that `number` gives."""
    with path.open("w") as file:
        for row in range(rows):
            visit = {
                "url": f"https://h{row % 7}.example/{row}",
                "at": 1_700_000_000 + number,
                "status": 200,
                "text": f"page {row} version {number // (row % 5 + 1)}",
                "links": [f"https://h{row % 7}.example/{row + number % 9}"],
            }
            file.write(json.dumps(visit) + "\n")


def write_logs(folder: Path, numbers: Iterable[int], rows: int) -> list[Path]:
    """Crawl logs, one for each number."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:08}.jsonl" for number in numbers]
    for path in paths:
        write_log(path, int(path.stem), rows)
    return paths
