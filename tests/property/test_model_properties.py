"""Joining by key, and the rows of pages: the same as plain Python says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from recrawl.checks import sample_pages
from recrawl.model import owners, rows_of, starts

keys = st.lists(st.integers(0, 2**64 - 1) | st.integers(0, 9), max_size=30)


def array(values):
    return np.array(values, np.uint64)


@given(key=keys, known=keys.map(dict.fromkeys).map(list))
def test_rows_of_keys_are_those_of_a_dictionary(key, known):
    row = {each: number for number, each in enumerate(known)}
    for asked in (key, known, key + known, known[::-1]):
        assert rows_of(array(asked), array(known)).tolist() == [row.get(k, -1) for k in asked]


def test_pages_find_their_own_rows():
    pages = sample_pages()
    order = np.random.default_rng(0).permutation(len(pages))[:50]
    assert (pages.rows_of(pages.key[order]) == order).all()
    assert (pages.take(order).rows_of(pages.key[order]) == np.arange(50)).all()
    assert (pages.take(order[:0]).rows_of(pages.key) == -1).all()


@given(counts=st.lists(st.integers(0, 4), max_size=20))
def test_owners_undo_starts(counts):
    start = starts(np.array(counts, np.int64))
    assert owners(start).tolist() == [page for page, n in enumerate(counts) for _ in range(n)]
    assert np.diff(start).tolist() == counts
