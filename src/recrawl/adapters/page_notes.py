"""What an adapter notes about pages, beside the store: one short text for each page.

It is a SQLite file. A batch is written completely or not at all, and survives a kill.
"""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING, NamedTuple

from recrawl.errors import StoreInvalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

NOTES = "notes.sqlite"  #: in the folder of the store
MAX_CHARACTERS = 4_000  #: of a note


class Note(NamedTuple):
    """A text about a page, by its canonical URL."""

    url: str
    text: str
    replaces: bool = True  #: an older note; if not, the older one stays


class PageNotes:
    """The notes of one store. One thread at a time uses it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / NOTES
        # They may hold what a request needs, such as a password of a proxy.
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        except OSError as error:
            raise StoreInvalid(
                f"{self.path} must be a file: {error.strerror}. Remove it."
            ) from error
        self._connection = sqlite3.connect(self.path, check_same_thread=False)
        try:
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS notes (url TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID"
            )
        except sqlite3.DatabaseError as error:
            self._connection.close()
            raise StoreInvalid(
                f"{self.path} cannot be read: {error}. Restore it from a copy, or remove it: "
                "then the spider's own method `revisit`, or `parse`, gets the pages."
            ) from error

    def write(self, notes: Iterable[Note]) -> None:
        """Keep notes; they are on disk when this returns."""
        with self._connection as transaction:
            transaction.executemany(
                "INSERT INTO notes VALUES (?1, ?2) "
                "ON CONFLICT DO UPDATE SET note = ?2 WHERE ?3 AND note != ?2",
                notes,
            )

    def read(self, urls: Sequence[str]) -> list[str | None]:
        """The note of each page; None where there is none."""
        try:
            notes = dict(
                self._connection.execute(
                    "SELECT url, note FROM json_each(?) JOIN notes ON url = value",
                    [json.dumps(urls)],
                )
            )
        except sqlite3.Error as error:
            raise StoreInvalid(f"{self.path} cannot be read: {error}. Remove it.") from error
        return [notes.get(url) for url in urls]

    def close(self) -> None:
        self._connection.close()
