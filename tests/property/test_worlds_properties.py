"""What holds for any bits, and any changes."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from recrawl.lab.bits import read_bits
from recrawl.lab.worlds.world import START, changes
from recrawl.model import DAY

shapes = st.tuples(st.integers(1, 12), st.integers(1, 9))


@given(hnp.arrays(np.bool_, shapes), st.booleans())
def test_bits_are_read_as_written(bits, ended):
    text = "\n".join("".join("01"[bit] for bit in line) for line in bits.tolist())
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bits.txt"
        file.write_text(text + "\n" * ended)
        trace = read_bits(file, start=0.0)
    found = np.zeros((bits.shape[0], bits.shape[1] + 1), bool)
    found[trace.page, (trace.valid_from / DAY).astype(int)] = True
    assert found[:, 0].all()
    np.testing.assert_array_equal(found[:, 1:], bits)
    assert list(trace.urls) == sorted(trace.urls)
    assert len(set(trace.content.tolist())) == len(trace.content)


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(-3.0, 9.0))))
def test_changes_are_sorted_inside_and_once(rows):
    page = np.array([p for p, _ in rows], np.int64)
    day = np.array([d for _, d in rows], np.float64)
    start, at = changes(page, day, pages=5, days=6)
    found = [(p, t) for p in range(5) for t in (at[start[p] : start[p + 1]] - START).tolist()]
    seconds = {(p, np.floor(d * DAY)) for p, d in rows}
    assert found == sorted((p, s) for p, s in seconds if 0 < s <= 6 * DAY)
