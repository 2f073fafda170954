"""The contract of a change detector: yes, no or null for each row, whatever the other rows are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from recrawl.checks.every import copies, require
from recrawl.model import VISITS

if TYPE_CHECKING:
    from recrawl.protocols import Detector

WORDS = ["now", "the", "page", "says", "something", "else", "than", "it", "said", "before"]


def sample_copies(seed: int = 0, n: int = 60) -> tuple[pa.Table, pa.Table]:
    """Two copies of each page: equal, edited, and with missing values."""
    rng = np.random.default_rng(seed)
    before = [_copy(rng, page) for page in range(n)]
    after = [_copy(rng, page) if page % 2 else before[page] for page in range(n)]
    return _table(before), _table(after)


def _copy(rng: np.random.Generator, page: int) -> dict[str, object]:
    """A copy in which any column but `url` may be missing."""
    text = " ".join(rng.choice(WORDS, rng.integers(0, 80)))
    full: dict[str, object] = {
        "at": 1_700_000_000_000_000 + page,
        "status": 200,
        "digest": int(rng.integers(0, 4)),
        "digest_of": "text",
        "reported": bool(rng.random() < 0.5),
        "simhash": int(rng.integers(0, 2**63)),
        "title": text[:20],
        "text": text,
        "links": [f"https://example.org/{link}" for link in rng.integers(0, 9, page % 5)],
        "bytes": len(text),
        "etag": str(rng.integers(0, 4)),
    }
    kept = {name: value for name, value in full.items() if page % 10 or rng.random() < 0.5}
    return {"url": f"https://example.org/{page}"} | kept


def _table(rows: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=VISITS)


def check_needs_known_columns(detector: Detector) -> None:
    unknown = sorted(set(detector.needs) - set(VISITS.names))
    require(detector, f"`needs` names columns of a visit; unknown: {unknown}", met=not unknown)


def check_answers_each_row(detector: Detector) -> None:
    before, after = sample_copies()
    for size in (0, len(before)):
        answers = detector.changed(before.slice(0, size), after.slice(0, size))
        right = isinstance(answers, pa.BooleanArray) and len(answers) == size
        require(detector, "it returns a BooleanArray with an answer for each row", met=right)


def check_identical_copies_did_not_change(detector: Detector) -> None:
    """Without `reported`, which says what the source saw, not what the copies show."""
    before = sample_copies()[0].filter(pa.array([True, False] * 30))
    column = VISITS.get_field_index("reported")
    before = before.set_column(column, VISITS.field("reported"), pa.array([False] * len(before)))
    answers = detector.changed(before, before).to_pylist()
    require(detector, "a copy does not differ from itself", met=True not in answers)


def check_accepts_nulls(detector: Detector) -> None:
    bare = _table([{"url": f"https://example.org/{page}"} for page in range(3)])
    answers = detector.changed(bare, bare).to_pylist()
    require(detector, "it reports no change where nothing is known", met=True not in answers)


def check_ignores_the_order_of_rows(detector: Detector) -> None:
    before, after = sample_copies()
    order = np.random.default_rng(1).permutation(len(before))
    whole = detector.changed(before, after).take(pa.array(order))
    other = detector.changed(before.take(order), after.take(order))
    require(detector, "rows in another order get the same answers", met=whole.equals(other))


def check_repeats(detector: Detector) -> None:
    before, after = sample_copies()
    answers = detector.changed(before, after)
    same = all(answers.equals(d.changed(before, after)) for d in (detector, *copies(detector)))
    require(detector, "asked again, or built again, it answers the same", met=same)
