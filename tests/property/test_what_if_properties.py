"""A store that saw every page every day is as good a trace as the truth itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import recrawl
from recrawl.errors import BadInput
from recrawl.lab.compare import compare
from recrawl.lab.crawled import judge
from recrawl.lab.traces import open_trace
from recrawl.model import DAY
from recrawl.page.fingerprints import simhash

DAYS = 8
START = 1_767_225_600
SAME = ("change_ratio", "freshness", "age_days", "harmonic", "new_links_per_fetch")
SAME += ("new_pages_per_fetch", "links_within_7d", "starved", "brier")

#: A page on a day: not there, or a text with its links (which change only with the text).
webs = st.lists(
    st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=DAYS + 1, max_size=DAYS + 1),
    min_size=2,
    max_size=4,
).filter(lambda web: any(days[0] for days in web))
LINKS = {
    "a": [],
    "b": ["https://h.example/p1"],
    "c": ["https://h.example/p1", "https://o.example/"],
}


def url(page: int) -> str:
    return f"https://h.example/p{page}"


def visits(web, days) -> pa.Table:
    """What daily visits at midnight saw."""
    rows = [(p, d, web[p][d]) for d in days for p in range(len(web))]
    return pa.table(
        {
            "url": [url(p) for p, _, _ in rows],
            "at": pa.array([int((START + d * DAY) * 1e6) for _, d, _ in rows]).cast(
                pa.timestamp("us", tz="UTC")
            ),
            "status": pa.array([200 if s else 410 for _, _, s in rows], pa.int16()),
            "digest": pa.array([s and simhash(s) for _, _, s in rows], pa.uint64()),
            "digest_of": ["text"] * len(rows),
            "links": pa.array([s and LINKS[s] for _, _, s in rows], pa.list_(pa.string())),
        }
    )


def truth(folder, web):
    """The same as a trace, valid from the midnight that saw it."""
    rows = []
    for p, days in enumerate(web):
        for d, state in enumerate(days):
            if state != (days[d - 1] if d else None):
                at = int((START + d * DAY) * 1000)
                links = LINKS[state] if state else []
                rows.append((url(p), at, 200 if state else 410, state, links))
    columns = list(zip(*rows, strict=True))
    table = {
        "url": columns[0],
        "valid_from": pa.array(columns[1]).cast(pa.timestamp("ms", tz="UTC")),
        "status": pa.array(columns[2], pa.int16()),
        "text": pa.array(columns[3], pa.string()),
        "links": pa.array(columns[4], pa.list_(pa.string())),
    }
    pa.parquet.write_table(pa.table(table), folder / "versions.parquet")
    return folder


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(web=webs, discover=st.sampled_from(["links", "oracle"]))
def test_a_store_that_saw_all_is_the_truth(tmp_path_factory, web, discover):
    folder = tmp_path_factory.mktemp("what-if")
    with recrawl.open(folder / "store", create=True) as store:
        store.append(visits(web, range(DAYS + 1)))
    window = (START, START + DAYS * DAY)
    own = open_trace(folder / "store", window=window, cohort="all")
    real = open_trace(truth(folder, web), window=window, cohort="all")
    options = {"warm_up": 1, "discover": discover}
    mine = compare([own], ["poisson"], ["1"], **options)
    theirs = compare([real], ["poisson"], ["1"], **options)
    for a, b in zip(mine.runs, theirs.runs, strict=True):
        assert {n: a[n] for n in SAME} == pytest.approx({n: b[n] for n in SAME})
        assert a["known"] == 1.0
    bound = mine.bounds[own.name]["1"], theirs.bounds[real.name]["1"]
    assert bound[0] == pytest.approx(bound[1])


def test_a_crawl_that_sees_a_page_change_twice_a_cycle_does_not_pass_its_limit(tmp_path):
    """Visits each midnight, judged in cycles of two days: a page changes each day."""
    web = [["a", "b"] * 4 + ["a"], ["a"] * 9]
    for name, days in (("all", range(9)), ("few", range(0, 9, 3))):
        with recrawl.open(tmp_path / name, create=True) as store:
            store.append(visits(web, days))
    trace = open_trace(truth(tmp_path, web), window=(START, START + DAYS * DAY))
    found = judge(trace, [tmp_path / "all", tmp_path / "few"], every=2 * DAY)
    assert [run["change_ratio"] for run in found.runs] == [8 / 18, 2 / 6]  # A to B, B to A
    [limits] = found.bounds[trace.name].values()
    assert limits["change_ratio"] >= 8 / 18
    with pytest.raises(BadInput, match="past warm-up"):
        judge(trace, [tmp_path / "all"], warm_up=20)


def test_days_between_visits_that_differ_are_not_known(tmp_path):
    web = [["a"] * 4 + ["b"] * 5, ["a"] * 9]
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(visits(web, [0, 2, 6, 8]))
    trace = open_trace(tmp_path / "store")
    assert trace.window == (START, START + 8 * DAY)
    sure = [trace.certain[trace.version_at(START + d * DAY)].tolist() for d in range(9)]
    changed, still = zip(*sure, strict=True)
    assert changed == (True, True, True, False, False, False, True, True, True)
    assert all(still)
    seen = [trace.content[trace.version_at(START + d * DAY)[0]] for d in range(9)]
    assert len(set(seen[:6])) == 1  # as last seen
    assert seen[6] != seen[5]


def test_the_window_of_a_store_covers_most_days_of_pages(tmp_path):
    """Twenty pages seen from day 5 on outweigh one seen from day 0."""
    web = [["a"] * 9] + [[None] * 5 + ["a"] * 4] * 20
    table = visits(web, range(9))
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(table.filter(pa.compute.equal(table["status"], 200)))
    trace = open_trace(tmp_path / "store")
    assert trace.window == (START + 5 * DAY, START + 8 * DAY)
    assert len(trace) == 21


def test_digests_that_differ_in_their_last_bit_are_told_apart(tmp_path):
    digests = [2**63 + 12_345 + (d > 4) for d in range(9)]
    table = visits([["a"] * 9], range(9))
    table = table.set_column(3, "digest", pa.array(digests, pa.uint64()))
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(table)
    trace = open_trace(tmp_path / "store")
    assert set(trace.content.tolist()) == set(digests)


def test_a_store_of_less_than_a_day_has_no_window(tmp_path):
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(visits([["a"] * 9], [3]))
    with pytest.raises(BadInput, match="must span a whole day"):
        open_trace(tmp_path / "store")


def test_a_store_without_visits_is_no_trace(tmp_path):
    with recrawl.open(tmp_path / "store", create=True) as store:
        store.append(pa.table({"url": [url(0)]}), now=START)
    with pytest.raises(BadInput, match="must hold successful visits"):
        open_trace(tmp_path / "store")


def test_detectors_make_like_versions_one(tmp_path):
    words = " ".join(f"w{i}" for i in range(300))
    texts = [words, words + " more", "something else altogether", words]
    table = {
        "url": [url(0)] * 4,
        "valid_from": pa.array([(START + d * 86_400) * 1000 for d in range(4)]).cast(
            pa.timestamp("ms", tz="UTC")
        ),
        "status": pa.array([200] * 4, pa.int16()),
        "text": texts,
        "links": pa.array([[]] * 4, pa.list_(pa.string())),
    }
    pa.parquet.write_table(pa.table(table), tmp_path / "versions.parquet")
    window = (START, START + 3 * DAY)
    exact = open_trace(tmp_path, window=window).content
    coarse = open_trace(tmp_path, window=window, detector="shingles:tau=0.1").content
    assert len(np.unique(exact)) == 3
    assert exact[0] == exact[3]
    assert coarse[0] == coarse[1] == coarse[3] != coarse[2]
