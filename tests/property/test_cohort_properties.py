"""Births, deaths and discovery: the replay of all pages against a plain one, page by page."""

from __future__ import annotations

from datetime import timedelta
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.lab.bounds import most_changes
from recrawl.lab.compare import compare
from recrawl.lab.delays import links_found
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace
from recrawl.model import DAY, Budget

DAYS = 8
START = 1_767_225_600
PAGES = 4
TEXTS = ["a", "b"]

#: What a page is on a day: None (not there), or a text and the pages it links to.
states = st.none() | st.tuples(
    st.sampled_from(TEXTS), st.sets(st.integers(0, PAGES - 1), max_size=2).map(frozenset)
)
pages = st.lists(states, min_size=DAYS + 1, max_size=DAYS + 1)
webs = st.lists(pages, min_size=PAGES, max_size=PAGES).filter(
    lambda web: any(web[p][0] is not None for p in range(PAGES))
)


def url(page: int) -> str:
    return f"https://h{page % 2}.example/p{page}"


def write(folder, web):
    rows = []
    for p, days in sorted(enumerate(web), key=lambda item: url(item[0])):
        for d, state in enumerate(days):
            before = days[d - 1] if d else None
            if state != before:
                status, text, links = (200, *state) if state else (410, None, ())
                at = int((START + d * DAY - DAY / 2) * 1000)
                rows.append((url(p), at, status, text, [url(t) for t in sorted(links)]))
    columns = list(zip(*rows, strict=True))
    table = {
        "url": columns[0],
        "valid_from": pa.array(columns[1]).cast(pa.timestamp("ms", tz="UTC")),
        "status": pa.array(columns[2], pa.int16()),
        "text": pa.array(columns[3], pa.string()),
        "links": pa.array(columns[4], pa.list_(pa.string())),
    }
    pq.write_table(pa.table(table), folder / "versions.parquet")
    (folder / "README.md").write_text("Window: 2026-01-01T00:00:00Z .. 2026-01-09T00:00:00Z\n")
    return folder


def plain(web, discover, k, warm_up=1):
    """The same run, one page at a time, oldest-first."""
    order = sorted(range(PAGES), key=url)
    order = [p for p in order if any(web[p])]
    copy = {p: web[p][0] for p in order if web[p][0]}
    known = dict.fromkeys(copy, 0)  #: day of the last success, or of discovery
    spent = hits = new_links = firsts = 0
    fresh = []
    born = lambda p, day: any(web[p][: day + 1])  # noqa: E731

    def learn(day, shown):
        linked = {t for p in shown for t in web[p][day][1]}
        for p in order:
            if p not in known and born(p, day) and (discover == "oracle" or p in linked):
                known[p] = day

    learn(0, list(copy))
    for day in range(1, DAYS + 1):
        if day <= warm_up:
            chosen = list(known)
        else:
            chosen = sorted(known, key=lambda p: (known[p], order.index(p)))[:k]
        shown = []
        for p in chosen:
            now = web[p][day]
            spent += day > warm_up
            shown.append(p)
            if day > warm_up:
                hits += p in copy and copy[p] != now
                firsts += p not in copy
                new_links += len(now[1] - copy[p][1]) if p in copy else 0
            copy[p], known[p] = now, day
        learn(day, shown)
        if day > warm_up:
            there = [p for p in order if web[p][day]]
            right = sum(copy.get(p) == web[p][day] for p in there)
            fresh.append(right / len(there) if there else 1.0)
    spent = max(spent, 1)
    return hits / spent, sum(fresh) / len(fresh), new_links / spent, firsts / spent


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(web=webs, discover=st.sampled_from(["links", "oracle"]), k=st.integers(1, 3))
def test_all_pages_agree_with_a_plain_replay(tmp_path_factory, web, discover, k):
    """Pages that are born stay: test_failing.py has the plans of pages that fail."""
    web = [list(accumulate(days, lambda last, now: now or last)) for days in web]
    trace = open_trace(write(tmp_path_factory.mktemp("trace"), web), cohort="all")
    cycles = replay(trace, "oldest", Budget(fetches=k), ties="id", discover=discover, warm_up=1)
    found = summary(daily(trace, cycles))
    names = ("change_ratio", "freshness", "new_links_per_fetch", "new_pages_per_fetch")
    np.testing.assert_allclose([found[n] for n in names], plain(web, discover, k), atol=1e-12)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    web=webs,
    k=st.integers(1, 3),
    options=st.fixed_dictionaries(
        {
            "host_cap": st.sampled_from([None, 0, 1]),
            "failures": st.sampled_from([0.0, 0.3]),
            "discover": st.sampled_from(["links", "oracle"]),
            "parts": st.integers(1, 2),
        }
    ),
)
def test_no_run_passes_the_bound(tmp_path_factory, web, k, options):
    """Even one that cannot spend its budget, and so divides by less."""
    trace = open_trace(write(tmp_path_factory.mktemp("trace"), web), cohort="all")
    found = compare([trace], ["poisson", "random"], [str(k)], warm_up=1, seeds=2, **options)
    bound = found.bounds[trace.name][str(k)]["change_ratio"]
    assert max(run["change_ratio"] for run in found.runs) <= bound + 1e-9
    assert bound <= 1.0


def test_a_change_of_a_page_that_goes_and_comes_back_can_be_found(tmp_path):
    """It changes on day 4, is away on day 5, and can be found again from day 6 on."""
    there = [(TEXTS[d > 3], frozenset()) if d != 5 else None for d in range(DAYS + 1)]
    trace = open_trace(write(tmp_path, [there] * PAGES), cohort="all")
    late = replay(trace, "oldest", Budget(fetches=1), warm_up=5)
    assert most_changes(trace, late) == 3
    all_ = replay(trace, "oldest", Budget(fetches=PAGES), warm_up=1)
    assert most_changes(trace, all_) == daily(trace, all_).changed.sum() == PAGES


def test_a_page_is_late_from_its_birth_not_from_its_first_404(tmp_path):
    """Known at its birth, noon before day 5, but never fetched."""
    born = [None] * 5 + [("a", frozenset())] * 4
    still = [("a", frozenset())] * (DAYS + 1)
    folder = write(tmp_path, [still, born, still])
    table = pq.read_table(folder / "versions.parquet")
    long_gone = table.slice(len(table) - 1).to_pylist()[0]
    assert long_gone["url"] == url(1)
    long_gone |= {"status": 404, "valid_from": long_gone["valid_from"] - timedelta(days=9)}
    rows = [*table.to_pylist(), long_gone]
    rows.sort(key=lambda row: (row["url"], row["valid_from"]))
    pq.write_table(pa.Table.from_pylist(rows, table.schema), folder / "versions.parquet")
    trace = open_trace(folder, cohort="all")
    run = daily(trace, replay(trace, "oldest", Budget(fetches=0), discover="oracle", warm_up=0))
    ages = [0, 0, 0, 0, *(age / 3 for age in (0.5, 1.5, 2.5, 3.5))]
    np.testing.assert_allclose(run.age, ages)
    np.testing.assert_allclose(run.harmonic, [0] * 4 + [1 / 3] * 4)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    added=st.lists(
        st.lists(st.integers(0, PAGES - 1), min_size=9, max_size=9), min_size=4, max_size=4
    )
)
def test_every_link_is_found_at_once_by_one_who_fetches_everything(tmp_path_factory, added):
    growing = [[("a", frozenset(days[: d + 1])) for d in range(DAYS + 1)] for days in added]
    trace = open_trace(write(tmp_path_factory.mktemp("trace"), growing))
    cycles = replay(trace, "oldest", Budget(fetches=PAGES), warm_up=0)
    assert links_found(trace, cycles) == {"links_within_1d": 1.0, "links_within_7d": 1.0}


def test_links_within_counts_days_from_their_appearance(tmp_path):
    web = [[("a", frozenset()) if d < 3 else ("a", frozenset({1})) for d in range(DAYS + 1)]] + [
        [("a", frozenset())] * (DAYS + 1)
    ] * 3
    trace = open_trace(write(tmp_path, web))
    late = replay(trace, "oldest", Budget(fetches=1), ties="id", warm_up=0)  # visits p0 on day 1, 5
    assert links_found(trace, late) == {"links_within_1d": 0.0, "links_within_7d": 1.0}


def test_host_caps_hold_over_the_parts_of_a_cycle(tmp_path):
    web = [[("a", frozenset())] * (DAYS + 1) for _ in range(PAGES)]
    trace = open_trace(write(tmp_path, web))
    cycles = replay(trace, "oldest", Budget(fetches=4, host_cap=1), parts=3, warm_up=0)
    for number, rows in enumerate(cycles.by_cycle()):
        page = cycles.page[rows]
        if number:
            assert sorted(trace.urls[p].split("/")[2] for p in page) == ["h0.example", "h1.example"]


def test_weights_count_in_weighted_metrics_only(tmp_path):
    still = [("a", frozenset())] * (DAYS + 1)
    busy = [(TEXTS[d % 2], frozenset()) for d in range(DAYS + 1)]
    folder = write(tmp_path, [busy, still, still, still])
    plain_run = compare([open_trace(folder)], [], ["1"]).runs[0]
    heavy = compare([open_trace(folder)], [], ["1"], weights={url(0): 9.0}).runs[0]
    assert heavy["change_ratio"] == plain_run["change_ratio"]
    assert heavy["weighted_change_ratio"] == pytest.approx(plain_run["change_ratio"] * 9 / 3)
    assert heavy["embarrassment"] > plain_run["embarrassment"]
