"""The store against a plain slow history that goes visit by visit."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.history import Store
from recrawl.model import DAY, VISITS

START = 1_767_225_600

visit = st.fixed_dictionaries(
    {
        "page": st.integers(0, 2),
        "hour": st.integers(0, 200),
        "status": st.sampled_from([None, 200, 200, 200, 304, 404, 500]),
        "digest": st.sampled_from([None, 1, 1, 2, 3]),
        "reported": st.sampled_from([None, None, None, True, False]),
    }
)


def table(rows: list[dict]) -> pa.Table:
    columns = {
        "url": [f"https://h{r['page']}.example/" for r in rows],
        "at": pa.array([(START + r["hour"] * 3600) * 1_000_000 for r in rows], pa.int64()).cast(
            VISITS.field("at").type
        ),
        "status": pa.array([r["status"] for r in rows], pa.int16()),
        "digest": pa.array([r["digest"] for r in rows], pa.uint64()),
        "digest_of": pa.array([r["digest"] and "text" for r in rows], pa.string()),
        "reported": pa.array([r["reported"] for r in rows], pa.bool_()),
    }
    return pa.table(columns)


def plain(rows: list[dict]) -> dict[str, float]:
    """What the glossary says, one visit after the other."""
    digest = copy_at = last = None
    seen = {
        "n_visits": 0,
        "n_compared": 0,
        "n_changes": 0,
        "exposure": 0.0,
        "failures": 0,
        "recent": 0,
    }
    for r in sorted(rows, key=lambda r: r["hour"]):
        seen["n_visits"] += 1
        if r["status"] not in (None, 200, 304):
            seen["failures"] += 1
            continue
        seen["failures"] = 0
        differs = None
        if r["digest"] is not None:
            differs = None if digest is None else digest != r["digest"]
            digest = r["digest"]
        since = copy_at
        if r["status"] == 304:
            differs, since = False, last
        if r["reported"] is not None:
            differs, since = r["reported"], last
        last = r["hour"]
        if differs is not None and since is not None:
            seen["n_compared"] += 1
            seen["n_changes"] += differs
            seen["exposure"] += (r["hour"] - since) / 24
            seen["recent"] = (seen["recent"] << 1 | differs) & (2**64 - 1)
        if differs is not None or r["digest"] is not None:
            copy_at = r["hour"]
    return seen


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rows=st.lists(visit, min_size=1, max_size=25), cut=st.floats(0, 1))
def test_any_order_and_any_batches_give_what_a_plain_history_gives(rows, cut):
    distinct = list({(r["page"], r["hour"]): r for r in reversed(rows)}.values())
    with (
        tempfile.TemporaryDirectory() as folder,
        Store.open(Path(folder) / "s", create=True) as store,
    ):
        split = int(cut * len(distinct))
        for part in (distinct[:split], distinct[split:]):
            if part:
                store.append(table(part))
        pages = store.pages()
        for row, url in enumerate(pages.urls()):
            own = [r for r in distinct if url == f"https://h{r['page']}.example/"]
            for name, expected in plain(own).items():
                np.testing.assert_allclose(
                    pages.columns()[name][row], expected, rtol=1e-9, err_msg=name
                )
            assert pages.last_attempt[row] == START + max(r["hour"] for r in own) * DAY / 24
