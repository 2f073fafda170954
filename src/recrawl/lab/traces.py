"""Opens any kind of trace for a replay: versions, bit strings or a store."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.history.database import DATABASE
from recrawl.lab.bits import is_bits, read_bits
from recrawl.lab.detect import seen_by
from recrawl.lab.trace import read_trace
from recrawl.lab.what_if import read_store

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import Time

#: By cohort: when its pages must exist, and what to do if none does.
COHORTS = {
    "alive": ("throughout its window", "another --window, or --cohort all"),
    "all": ("at any time of its window", "another --window"),
}


def read_weights(path: Path) -> dict[str, float]:
    """The weights of pages by URL, from a CSV file of two columns."""
    weights = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"The weights {path} must be a CSV file in UTF-8. Got {error}.") from error
    for number, row in enumerate(rows, 1):
        if number == 1 and row[1:] == ["weight"]:
            continue
        try:
            weights[row[0]] = _weight(row[1])
        except (ValueError, IndexError):
            raise BadInput(
                f"{path}, line {number}: must be a URL and a weight, 0 or more. "
                f"Got {','.join(row)!r}."
            ) from None
    return weights


def _weight(text: str) -> float:
    if not 0 <= float(text) < float("inf"):
        raise ValueError(text)
    return float(text)


def open_trace(
    path: str | Path,
    *,
    window: tuple[Time, Time] | None = None,
    cohort: str = "alive",
    detector: str = "digest",
    impute: bool = False,
) -> Trace:
    """A trace, bit strings or a store, with the pages that exist throughout the window.

    The cohort "all" has those that exist at any time of it. Versions that the detector calls
    unchanged get the same content. `impute` guesses what failed visits of a store would have shown.
    """
    if cohort not in COHORTS:
        raise BadInput(f"cohort must be one of {', '.join(COHORTS)}. Got {cohort!r}.")
    path = Path(path)
    is_store = (path / DATABASE).is_file()
    if impute and not is_store:
        raise BadInput(
            f"impute is for a store, which knows failed visits. Got {path}; leave it out. "
            "Days that are ? in bit strings are always guessed."
        )
    if is_store:
        trace = read_store(path, window, impute=impute)
    elif is_bits(path):
        if window is not None:
            raise BadInput(
                f"--window must be left out for bit strings. Got one for {path}, which does not "
                "say when its days were; cut its lines instead."
            )
        trace = read_bits(path)
    else:
        trace = read_trace(path, window).from_first_success()
    kept = trace.alive() if cohort == "alive" else trace.present()
    if not kept.any():
        when, remedy = COHORTS[cohort]
        raise BadInput(
            f"The trace {path} must have a page that is there {when}. It has none; give {remedy}."
        )
    trace = trace if kept.all() else trace.take(kept)
    return trace if detector == "digest" else seen_by(trace, detector)
