"""Results of the pieces, and the table in docs/reliability.md."""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING

from torture.pieces import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from torture.pieces import Figures, Piece

PAGE = ROOT / "docs/reliability.md"
PUBLISHED = ROOT / "torture"  #: the results that the page shows; git keeps them
BEGIN, END = "<!-- made by make torture -->", "<!-- end -->"


@dataclass(frozen=True)
class Result:
    """What a piece found."""

    name: str
    date: str
    scale: float
    seconds: int
    figures: Figures
    skipped: str  #: why it was not run; empty if it was
    versions: dict[str, str]

    @classmethod
    def now(cls, name: str, scale: float, seconds: int, figures: Figures, skipped: str) -> Result:
        versions = {"Python": platform.python_version(), "Linux": platform.release()}
        versions |= {n: version(n) for n in ("recrawl", "duckdb", "pyarrow", "tantivy", "scrapy")}
        date = time.strftime("%Y-%m-%d")
        return cls(name, date, scale, seconds, figures, skipped, versions)

    def broken(self, piece: Piece) -> list[str]:
        """The figures beyond their limits; none of a piece that was skipped."""
        return [] if self.skipped else piece.broken(self.figures)

    def summary(self) -> str:
        return ", ".join(f"{name} {show(value)}" for name, value in self.figures.items())


def show(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def write_result(folder: Path, result: Result) -> None:
    (folder / "results").mkdir(parents=True, exist_ok=True)
    path = folder / "results" / f"{result.name}.json"
    path.write_text(json.dumps(asdict(result), indent=1) + "\n")


def publish(folder: Path, result: Result) -> bool:
    """Keep a result for the page; returns False if that of a larger run stays instead."""
    known = read_results(folder).get(result.name)
    if known and not known.skipped and (result.skipped or result.scale < known.scale):
        return False
    write_result(folder, result)
    return True


def read_results(folder: Path) -> dict[str, Result]:
    paths = sorted((folder / "results").glob("*.json"))
    return {path.stem: Result(**json.loads(path.read_text())) for path in paths}


def table(pieces: Sequence[Piece], results: Mapping[str, Result]) -> str:
    """Markdown: a row for each figure of each piece, with its limit."""
    lines = ["| piece | figure | found | limit |", "|---|---|--:|--:|"]
    for piece in pieces:
        result = results.get(piece.name)
        if result is None or result.skipped:
            why = f"skipped: {result.skipped}" if result else "not run yet"
            lines.append(f"| {piece.name} | {why} | | |")
            continue
        broken = piece.broken(result.figures)
        part = "" if result.scale == 1 else f", {result.scale:.2g} of the full counts"
        head = f"{piece.name} ({result.date}, {result.seconds / 60:.0f} min{part})"
        for name, value in result.figures.items():
            found = f"**{show(value)}**" if name in broken else show(value)
            lines.append(f"| {head} | {name} | {found} | {_limit(piece, name)} |")
            head = ""
    return "\n".join(lines)


def _limit(piece: Piece, name: str) -> str:
    if name in piece.limits:
        most = piece.limits[name]
        return show(most) if most == 0 else f"at most {show(most)}"
    return f"at least {show(piece.least[name])}" if name in piece.least else ""


def _versions(results: Mapping[str, Result]) -> str:
    """The versions with which the pieces ran; there may be several, as each runs on its own."""
    found: dict[str, set[str]] = {}
    for result in results.values():
        for name, version_ in result.versions.items():
            found.setdefault(name, set()).add(version_)
    return ", ".join(f"{name} {' and '.join(sorted(which))}" for name, which in found.items())


def page_text(page: Path, pieces: Sequence[Piece], results: Mapping[str, Result]) -> None:
    """Put the table between the markers of the page."""
    made = f"Made by `make torture` with {_versions(results) or 'no result'}."
    head, _, rest = page.read_text().partition(BEGIN)
    text = f"{made}\n\n{table(pieces, results)}"
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")
