"""The file of a score function: small JSON that is safe to load from a stranger."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl.errors import BadInput
from recrawl.evolve.terminals import COLUMNS, TERMINALS
from recrawl.evolve.text import parse, write
from recrawl.files import write_whole

if TYPE_CHECKING:
    from recrawl.evolve.expression import Expression

VERSION = 1
MAX_FILE_BYTES = 65_536
KNOWN = (*TERMINALS, *COLUMNS)


@dataclass(frozen=True)
class Formula:
    """A score function with the length of its cycle and how it was made."""

    expression: Expression
    cycle_days: float = 1.0
    made: dict[str, Any] = field(default_factory=dict)  #: settings and scores, for information only


def save_formula(formula: Formula, path: str | Path) -> None:
    """Write a policy file."""
    record = {
        "recrawl-policy": VERSION,
        "formula": write(formula.expression),
        "cycle_days": formula.cycle_days,
        "made": formula.made,
    }
    write_whole(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def load_formula(path: str | Path) -> Formula:
    """Read a policy file. Nothing in it is executed; anything unexpected is an error."""
    record = _record(Path(path))
    if "recrawl-policy" not in record:
        raise BadInput(f"{path} must be a policy file, with 'recrawl-policy'. It has no such key.")
    if record["recrawl-policy"] != VERSION:
        raise BadInput(
            f"{path} must be a policy file of version {VERSION}. "
            f"Got {record['recrawl-policy']!r}; evolve it again or use a newer recrawl."
        )
    text, days = record.get("formula"), record.get("cycle_days", 1.0)
    if not isinstance(text, str):
        raise BadInput(f"{path}: formula must be text, such as 't * X'. Got {text!r:.80}.")
    if not isinstance(days, int | float) or isinstance(days, bool) or not 0 < days < math.inf:
        raise BadInput(f"{path}: cycle_days must be a number above 0. Got {days!r:.80}.")
    made = record.get("made", {})
    used = parse(text, KNOWN).used()
    return Formula(parse(text, used), float(days), made if isinstance(made, dict) else {})


def _record(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise BadInput(f"A policy file must exist. Got {path}; make one with `recrawl evolve`.")
    size = path.stat().st_size
    if size > MAX_FILE_BYTES:
        raise BadInput(
            f"A policy file must be at most {MAX_FILE_BYTES:,} bytes. {path} has {size:,}."
        )
    try:
        record = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "brackets too deep"
        raise BadInput(f"{path} must be JSON, whole and in UTF-8. It is not: {reason}.") from None
    if not isinstance(record, dict):
        raise BadInput(f"{path} must hold a JSON object. Got {type(record).__name__}.")
    return record
