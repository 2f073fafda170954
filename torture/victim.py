"""Runs `recrawl` commands and keeps a journal: python -m torture.victim JOURNAL WORD… [then WORD…]"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from torture.journal import keep_journal
from torture.pieces import ROOT
from torture.processes import command, die_with_parent

if TYPE_CHECKING:
    from collections.abc import Mapping


def popen(
    journal: Path, *words: object, log: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A process that runs commands (`then` is between two) with an interpreter of its own."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    with log.open("ab") as out:
        return subprocess.Popen(
            [sys.executable, "-m", "torture.victim", str(journal), *map(str, words)],
            stdout=out,
            stderr=out,
            env={**os.environ, "PYTHONPATH": path, **(environment or {})},
        )


def main(journal: str, words: list[str]) -> None:
    die_with_parent()
    keep_journal(Path(journal))
    while words:
        following = words.index("then") if "then" in words else len(words)
        command(*words[:following])
        words = words[following + 1 :]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
