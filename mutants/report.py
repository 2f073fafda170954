"""Survivors with their verdicts, and the table in docs/testing.md."""

from __future__ import annotations

import json
import math
import tomllib
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from mutants.session import Outcome
    from mutants.sites import Mutant

VERDICTS = ("equivalent", "accepted", "missing test", "")
BEGIN, END = "<!-- made by make mutants -->", "<!-- end -->"
HEAD = """\
# Mutants that no test noticed when they were last tried. Made by `make mutants`, which keeps what
# is written here by hand: verdict is "equivalent" (nothing that is promised changes), "accepted"
# (it matters too little), "missing test", or empty (not looked at yet); reason says why.
"""


@dataclass(frozen=True)
class Survivor:
    """A mutant that no test noticed, and what was made of it."""

    id: str
    where: str
    was: str
    now: str
    verdict: str = ""
    reason: str = ""


def read_survivors(path: Path) -> dict[str, Survivor]:
    if not path.exists():
        return {}
    rows = tomllib.loads(path.read_text()).get("survivor", [])
    for row in rows:
        if row.get("verdict", "") not in VERDICTS:
            raise SystemExit(
                f"{path}: verdict of {row['id']} must be one of {VERDICTS}, not {row['verdict']!r}"
            )
    return {row["id"]: Survivor(**row) for row in rows}


def write_survivors(path: Path, survivors: list[Survivor]) -> None:
    """In the order of files, each with its lines before and after."""
    blocks = [HEAD]
    for one in sorted(survivors, key=lambda one: (one.where.split(":")[0], one.where, one.id)):
        fields = (
            f"{name} = {json.dumps(text, ensure_ascii=False)}" for name, text in vars(one).items()
        )
        blocks.append("\n".join(["[[survivor]]", *fields]) + "\n")
    path.write_text("\n".join(blocks))


def survivors(
    sample: dict[str, list[Mutant]], results: dict[str, Outcome], known: dict[str, Survivor]
) -> list[Survivor]:
    """Those of this sample, with their verdicts, and those of a larger one that are not tried."""
    found = []
    for mutant in (mutant for drawn in sample.values() for mutant in drawn):
        if (outcome := results.get(mutant.id)) and not outcome.is_noticed:
            where = f"{mutant.path.removeprefix('src/recrawl/')}:{mutant.line} {mutant.where}"
            old = known.get(mutant.id)
            verdict, reason = (old.verdict, old.reason) if old else ("", "")
            if outcome.status == "untested" and not old:
                verdict, reason = "missing test", "no test runs it"
            found.append(Survivor(mutant.id, where, mutant.was, mutant.now, verdict, reason))
    tried = {mutant.id for drawn in sample.values() for mutant in drawn if mutant.id in results}
    return found + [old for old in known.values() if old.verdict and old.id not in tried]


@dataclass(frozen=True)
class Row:
    """Counts of a module."""

    module: str
    mutants: int  #: that could be made
    tried: int
    noticed: int
    equivalent: int
    accepted: int

    @property
    def able(self) -> int:
        """Mutants tried that a test could notice."""
        return self.tried - self.equivalent

    @property
    def share(self) -> float:
        return self.noticed / self.able if self.able else math.nan


def row(
    module: str, mutants: list[Mutant], results: dict[str, Outcome], known: dict[str, Survivor]
) -> Row:
    tried = [results[mutant.id] for mutant in mutants if mutant.id in results]
    missed = [outcome.id for outcome in tried if not outcome.is_noticed]
    verdicts = Counter(known[id_].verdict for id_ in missed if id_ in known)
    noticed = len(tried) - len(missed)
    counts = len(mutants), len(tried), noticed, verdicts["equivalent"], verdicts["accepted"]
    return Row(module, *counts)


def wilson(successes: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson's score)."""
    z = 1.959964
    share = successes / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z / (1 + z * z / of) * math.sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return middle - half, middle + half


def overall(rows: list[Row]) -> tuple[float, float, float]:
    """(share noticed, interval) over all modules, each weighing as it has mutants."""
    rows = [row for row in rows if row.able]
    total = sum(row.mutants for row in rows)
    share = sum(row.mutants / total * row.share for row in rows)
    # A module without a miss still has a variance: two successes and two misses are added.
    spread = [(row.noticed + 2) / (row.able + 4) for row in rows]
    variance = sum(
        (row.mutants / total) ** 2 * p * (1 - p) / (row.able + 4)
        for row, p in zip(rows, spread, strict=True)
    )
    half = 1.959964 * math.sqrt(variance)
    return share, share - half, min(share + half, 1.0)


def table(rows: list[Row], made: str) -> str:
    """Markdown: what became of the mutants of each module."""
    lines = [
        made,
        "",
        "| module | mutants | tried | noticed | equivalent | accepted | missed | noticed of those not equivalent (95 %) |",
        "|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in rows:
        cells = [
            f"`{one.module}`",
            one.mutants,
            one.tried,
            one.noticed,
            one.equivalent,
            one.accepted,
        ]
        cells.append(one.able - one.noticed - one.accepted)
        low, high = wilson(one.noticed, one.able) if one.able else (math.nan, math.nan)
        cells.append(f"{one.share:.0%} ({low:.0%}–{high:.0%})" if one.able else "–")
        lines.append(f"| {' | '.join(map(str, cells))} |")
    if any(one.able for one in rows):
        share, low, high = overall(rows)
        sums = [sum(getattr(one, name) for one in rows) for name in ("mutants", "tried", "noticed")]
        sums += [sum(getattr(one, name) for one in rows) for name in ("equivalent", "accepted")]
        sums.append(sum(one.able - one.noticed - one.accepted for one in rows))
        cells = ["all, weighted by mutants", *sums, f"{share:.1%} ({low:.1%}–{high:.1%})"]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def write_between_markers(page: Path, text: str) -> None:
    head, _, rest = page.read_text().partition(BEGIN)
    page.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")
