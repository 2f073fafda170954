"""What does the user demand of some pages? Rules by URL pattern, from a TOML file.

    [[rule]]
    match = "https://example.org/news/*"   # the whole canonical URL; * stands for anything
    max_interval = "6h"                     # visit at least this often
    [[rule]]
    match = "*/calendar/*"
    never = true

Keys: pin (every cycle), never, min_interval, max_interval, weight (multiplies the score). Where
several rules match a page, the later one wins, key by key.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.errors import BadInput
from recrawl.public import public
from recrawl.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import BoolArray, FloatArray, Pages


KEYS: dict[str, tuple[Any, str]] = {
    "match": (str, 'a URL in which * stands for anything, such as "https://example.org/*"'),
    "pin": (bool, "true or false"),
    "never": (bool, "true or false"),
    "min_interval": (str, 'a duration such as "6h"'),
    "max_interval": (str, 'a duration such as "7d"'),
    "weight": ((int, float), "a number, 0 or more"),
}


@public
@dataclass(frozen=True)
class Rule:
    """What holds for the pages whose URL matches; None leaves a key to earlier rules."""

    match: str
    pin: bool | None = None
    never: bool | None = None
    min_interval: float | None = None  #: seconds
    max_interval: float | None = None  #: seconds
    weight: float | None = None


@dataclass
class RuleColumns:
    """The rules that hold for each page, as columns."""

    pin: BoolArray
    never: BoolArray
    min_interval: FloatArray
    max_interval: FloatArray
    weight: FloatArray


def load_rules(path: str | Path) -> list[Rule]:
    """Read a rules file."""
    try:
        content = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not TOML: {error}.") from error
    except OSError as error:
        raise BadInput(f"The rules file {path} cannot be read: {error.strerror}.") from error
    entries = content.get("rule", [])
    tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    if set(content) - {"rule"} or not tables:
        raise BadInput(f"{path} must hold [[rule]] tables only. Got: {', '.join(content)}.")
    return [_rule(entry, f"{path}, rule {number}") for number, entry in enumerate(entries, 1)]


def _rule(entry: dict[str, Any], where: str) -> Rule:
    for key, value in entry.items():
        if key not in KEYS:
            raise BadInput(f"{where}: no key {key!r}. Known: {', '.join(KEYS)}.")
        kind, rule = KEYS[key]
        good = isinstance(value, kind)
        if good and key == "weight":
            good = not isinstance(value, bool) and 0 <= value < float("inf")
        if not good:
            raise BadInput(f"{where}: {key} must be {rule}. Got {value!r}.")
    if "match" not in entry:
        raise BadInput(f'{where}: match is missing. Add match = "https://…".')
    spans = {key: duration(entry[key]) for key in ("min_interval", "max_interval") if key in entry}
    values: dict[str, Any] = entry | spans
    return Rule(**values)


def matches(patterns: Sequence[str], urls: pa.Array) -> BoolArray:
    """Whether each URL matches one of the patterns, in which * stands for anything.

    Arrow's regular expressions do not backtrack: no pattern makes them slow.
    """
    pieces = ([re.escape(piece) for piece in pattern.split("*")] for pattern in patterns)
    expression = "|".join(f"^{'.*'.join(each)}$" for each in pieces)
    if not expression:
        return np.zeros(len(urls), np.bool_)
    found: BoolArray = pc.match_substring_regex(urls, expression).to_numpy(zero_copy_only=False)
    return found


def rule_columns(rules: Sequence[Rule], pages: Pages) -> RuleColumns:
    """The rules that hold for each page; URLs are read only if there are rules."""
    n = len(pages)
    columns = RuleColumns(
        pin=np.zeros(n, np.bool_),
        never=np.zeros(n, np.bool_),
        min_interval=np.zeros(n),
        max_interval=np.full(n, np.inf),
        weight=np.ones(n),
    )
    urls = pa.array(pages.urls(), pa.string()) if rules else None
    for rule in rules:
        rows = matches([rule.match], urls)
        for name in vars(columns):
            value = getattr(rule, name)
            if value is not None:
                getattr(columns, name)[rows] = value
    return columns
