"""The contract of a history: it keeps each visit once, in whatever order visits come.

Each rule takes a function that makes a new, empty history with `append` and `pages`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from recrawl.checks.every import require
from recrawl.model import DAY, VISITS

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.model import Pages

    New = Callable[[], Any]


def sample_visits(n: int = 60) -> pa.Table:
    """Visits to a few pages: changes, 304s, failures, and pages that go and come back."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "url": f"https://h{page % 3}.example/{page}",
            "at": 1_700_000_000_000_000 + int(rng.integers(10**6)) * 10**6 + i,
            "status": int(rng.choice([200, 200, 200, 304, 404, 500])),
            "digest": int(rng.integers(3)),
            "digest_of": "text",
        }
        for i, page in enumerate(rng.integers(0, 7, n).tolist())
    ]
    return pa.Table.from_pylist(rows, schema=VISITS)


def _facts(pages: Pages) -> dict[str, tuple[Any, ...]]:
    """The columns of each page by its URL, without ids, which may differ between histories."""
    names = [n for n in pages.columns() if n not in ("page_id", "host", "site")]
    rows = zip(*(np.nan_to_num(pages.columns()[n], nan=-1.0).tolist() for n in names), strict=True)
    rounded = [tuple(round(v, 9) if isinstance(v, float) else v for v in row) for row in rows]
    return dict(zip(pages.urls(), rounded, strict=True))


def check_keeps_every_visit(new: New) -> None:
    history = new()
    done = history.append(sample_visits())
    n_kept = int(history.pages().n_visits.sum())
    require(history, "every visit is there", met=done.added == n_kept == len(sample_visits()))


def check_adds_nothing_twice(new: New) -> None:
    history = new()
    history.append(sample_visits())
    before, again = _facts(history.pages()), history.append(sample_visits())
    same = again.added == 0 and _facts(history.pages()) == before
    require(history, "the same visits again change nothing", met=same)


def check_ignores_the_order_of_batches(new: New) -> None:
    visits = sample_visits()
    mixed = np.random.default_rng(1).permutation(len(visits))
    whole, parts = new(), new()
    whole.append(visits)
    for part in np.array_split(mixed, 4):
        parts.append(visits.take(pa.array(part)))
    same = _facts(whole.pages()) == _facts(parts.pages())
    require(whole, "batches in any order give the same columns", met=same)


def check_agrees_with_its_intervals(new: New) -> None:
    history = new()
    history.append(sample_visits())
    pages = history.pages()
    past = pages.intervals()
    sums = {
        "n_compared": np.diff(past.start),
        "n_changes": past.sums(past.changed),
        "exposure": past.sums(past.days),
    }
    for name, total in sums.items():
        same = np.allclose(pages.columns()[name], total)
        require(history, f"{name} is that of the intervals", met=bool(same))


def check_counts_no_change_for_a_failure(new: New) -> None:
    history = new()
    good = sample_visits(1).set_column(2, VISITS.field("status"), pa.array([200], pa.int16()))
    at = VISITS.get_field_index("at")
    for day, status in enumerate((200, 500, 404, 200)):
        when = pa.array([1_700_000_000_000_000 + int(day * DAY * 1e6)]).cast(
            VISITS.field("at").type
        )
        visit = good.set_column(at, VISITS.field("at"), when)
        history.append(visit.set_column(2, VISITS.field("status"), pa.array([status], pa.int16())))
    pages = history.pages()
    right = (pages.n_compared[0], pages.n_changes[0], pages.exposure[0]) == (1, 0, 3.0)
    require(history, "failures are neither change nor no change", met=bool(right))
