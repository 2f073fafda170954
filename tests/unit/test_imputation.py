"""Days whose visit failed: guessed from the page's past (Santos 2013, section 4.2)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support import command

import recrawl
from recrawl.errors import BadInput
from recrawl.evolve.presets import PRESETS
from recrawl.lab import traces
from recrawl.lab.bits import read_bits
from recrawl.lab.changes import changes_of
from recrawl.lab.imputation import find_missed, impute
from recrawl.lab.traces import open_trace
from recrawl.model import DAY

START = 1_767_225_600
GUESSES = [
    ("0000?", "00000"),  # no change yet
    ("0100?", "01000"),  # one change has no gap
    ("11010011?", "110100111"),  # gaps 1, 2, 3, 1
    ("1101?", "11011"),  # gaps 1 and 2 as frequent: the shorter
    ("11010?", "110100"),  # which would have been the day before
    ("1010??1", "1010101"),  # the first guess is part of the past of the second: 2 days after it
    ("?1?1", "0101"),
]


def bits(days: str) -> np.ndarray:
    return np.array([[day == "1" for day in days]])


@pytest.mark.parametrize(("days", "guessed"), GUESSES)
def test_guesses(days, guessed):
    failed = np.array([[day == "?" for day in days]])
    shown = "".join("1" if day else "0" for day in impute(bits(days), failed)[0])
    assert shown == guessed
    # What a failed day held does not matter.
    assert (impute(bits(days) | failed, failed) == impute(bits(days), failed)).all()


def test_shapes_must_agree():
    with pytest.raises(BadInput, match="same shape"):
        impute(bits("01"), bits("011"))


def test_question_marks_in_bit_strings(tmp_path):
    known, asked = tmp_path / "known.txt", tmp_path / "asked.txt"
    asked.write_text("?101010?0\n11010011?\n000000000\n")
    known.write_text("010101010\n110100111\n000000000\n")
    one, two = read_bits(asked), read_bits(known)
    assert (changes_of(one).words == changes_of(two).words).all()
    assert open_trace(asked).urls == open_trace(known).urls
    asked.write_text("0x1\n")
    with pytest.raises(BadInput, match="0, 1, or \\?"):
        read_bits(asked)


def test_missed_changes_by_hand():
    # Page 0 changes on days 2, 4 and 6, fails on day 8, and differs on day 9: the gap of 2 days says
    # day 8. Page 1 has the same past, but its visit on day 9 agrees with that of day 7.
    day = 86_400_000_000
    days = np.array([0, 2, 4, 6, 7, 9])
    page = np.repeat([0, 1], 6)
    differs = np.array([False, True, True, True, False, True] * 2)
    differs[-1] = False
    at = np.tile(days, 2) * day
    row, began = find_missed(page, at, differs, np.array([1, 0]), np.array([8, 8]) * day + 5)
    assert row.tolist() == [5]
    assert began.tolist() == [8 * day + 5]
    # A gap that does not fit: nothing is guessed.
    row, _ = find_missed(page, at, differs, np.array([0]), np.array([7]) * day + 9)
    assert not row.size
    # A visit of the same day succeeded: that day is known.
    row, _ = find_missed(page, at, differs, np.array([0]), np.array([6]) * day - 9)
    assert not row.size  # day 5: one day after a change
    late = at.copy()
    late[5] = 8 * day + 9  # instead of day 9
    assert not find_missed(page, late, differs, np.array([0]), np.array([8]) * day)[0].size
    # Not the last day: nobody knows what came after.
    row, _ = find_missed(page, at, differs, np.array([0, 1]), np.array([10, 10]) * day)
    assert not row.size
    none = np.empty(0, np.int64)
    assert not find_missed(page, at, differs, none, none)[0].size


def test_each_change_is_dated_back_once():
    # Page 3 changes on days 2, 4 and 6, fails on 8 and 10, and differs on 11. Day 8 fits the gap of
    # 2 days, and then so does day 10: the change was on day 8. Page 5 fails on day 6, which fits.
    day = 86_400_000_000
    at = np.array([0, 2, 4, 6, 11, 0, 2, 4, 11]) * day
    page = np.array([3] * 5 + [5] * 4)
    differs = np.array([False, True, True, True, True, False, True, True, True])
    failed = np.array([8, 10, 6]) * day + 7
    row, began = find_missed(page, at, differs, np.array([3, 3, 5]), failed)
    assert row.tolist() == [4, 8]
    assert began.tolist() == [8 * day + 7, 6 * day + 7]


def test_failed_visits_of_a_store(tmp_path):
    """The same page as a store: with `impute` its last version begins on day 8, not on day 9."""
    days = [0, 2, 4, 6, 7, 8, 9, 10]
    digest = [1, 2, 3, 4, 4, None, 5, 5]
    status = [200, 200, 200, 200, 200, 503, 200, 200]
    visits = {
        "url": ["https://h.example/"] * len(days),
        "at": pa.array([int(START + day * DAY) * 1_000_000 for day in days]).cast(
            pa.timestamp("us", tz="UTC")
        ),
        "status": pa.array(status, pa.int16()),
        "digest": pa.array(digest, pa.uint64()),
        "digest_of": ["text"] * len(days),
    }
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(pa.table(visits))

    def begins(**options):
        trace = open_trace(tmp_path / "store", **options)
        rows = np.flatnonzero(trace.content == 5)
        return (trace.valid_from[rows[0]] - START) / DAY, bool(trace.certain[rows[0]])

    assert begins() == (9.0, True)
    assert begins(impute=True) == (8.0, False)
    plain, guessed = (changes_of(open_trace(tmp_path / "store", impute=i)) for i in (False, True))
    shown = [f"{int(each.words[0, 0]):010b}"[::-1] for each in (plain, guessed)]
    assert shown == ["0101010010", "0101010100"]


def test_replay_and_evolve_take_the_same_option(tmp_path, monkeypatch):
    opened = []

    def spy(path, **options):
        opened.append(options["impute"])
        return read_store(path, **options)

    read_store = traces.read_store
    monkeypatch.setattr(
        traces, "read_store", lambda path, window, **o: spy(path, window=window, **o)
    )
    days = pa.array([int(START + day * DAY) * 1_000_000 for day in range(6)])
    with recrawl.open(tmp_path, create=True) as store:
        for page in range(5):
            visits = {
                "url": [f"https://h.example/{page}"] * 6,
                "at": days.cast(pa.timestamp("us", tz="UTC")),
                "digest": pa.array([page, page, 9, 9, 8, 8], pa.uint64()),
                "digest_of": ["text"] * 6,
            }
            store.append(pa.table(visits))
    done = command("replay", tmp_path, "--policy", "tx", "--budget", "20%", "--impute")
    assert done.returncode == 0, done.stderr
    monkeypatch.setitem(PRESETS, "modern", replace(PRESETS["modern"], individuals=5, generations=1))
    done = command("evolve", tmp_path, "-o", tmp_path / "p.json", "--budget", "50%", "--impute")
    assert done.returncode == 0, done.stderr
    assert opened == [True, True]
