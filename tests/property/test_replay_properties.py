"""The replay against a plain one that goes page by page, and bounds against brute force."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.checks.store import check_adds_nothing_twice
from recrawl.errors import BadInput
from recrawl.history import Store
from recrawl.history.memory import MemoryHistory
from recrawl.lab.bounds import most_changes
from recrawl.lab.compare import compare, trace_names
from recrawl.lab.metrics import claims, daily, ndcg, summary
from recrawl.lab.replay import TraceEngine, replay
from recrawl.lab.trace import read_trace
from recrawl.model import DAY, VISITS, Budget
from recrawl.registry import make
from recrawl.urls import keys

DAYS = 9
START = 1_767_225_600
WORDS = ["", "a", "b", "c"]
KINDS = {"links": pa.list_(pa.string()), "text": pa.string()}
LINKS = [
    [],
    ["https://h.example/1"],
    ["https://h.example/1", "https://out.example/"],
    ["https://h.example/2"],
]

#: Of each page what it is on each day: an index into WORDS and LINKS.
webs = st.lists(
    st.lists(st.integers(0, 3), min_size=DAYS + 1, max_size=DAYS + 1), min_size=2, max_size=6
)


def write(folder, web) -> str:
    """A trace in which page p is web[p][d] from noon of day d - 1, so at midnight d."""
    rows = []
    for page, states in enumerate(web):
        for day, state in enumerate(states):
            if day == 0 or state != states[day - 1]:
                at = int((START + day * DAY - DAY / 2) * 1000)
                rows.append((f"https://h.example/p{page}", at, state))
    columns = {
        "url": [r[0] for r in rows],
        "valid_from": pa.array([r[1] for r in rows]).cast(pa.timestamp("ms", tz="UTC")),
        "status": pa.array([200] * len(rows), pa.int16()),
        "text": [WORDS[r[2]] for r in rows],
        "links": [LINKS[r[2]] for r in rows],
    }
    pq.write_table(pa.table(columns), folder / "versions.parquet")
    (folder / "README.md").write_text("Window: 2026-01-01T00:00:00Z .. 2026-01-10T00:00:00Z\n")
    return str(folder)


SCORES = {
    "oldest": lambda t, x, last: t,
    "tx": lambda t, x, last: t * x,
    "poisson": lambda t, x, last: (x + 0.5) / (last + 0.5) * t,
}


def plain(web, policy, k, warm_up=2):
    """Change ratio, freshness, age and new links a fetch, page by page."""
    pages = range(len(web))
    copy, x, last = [states[0] for states in web], [0] * len(web), [0] * len(web)
    hits = links = fetched = 0
    fresh, ages = [], []
    for day in range(1, DAYS + 1):
        worth = [SCORES[policy](day - last[p], x[p], last[p]) for p in pages]
        chosen = list(pages) if day <= warm_up else sorted(pages, key=lambda p: (-worth[p], p))[:k]
        for p in chosen:
            now = web[p][day]
            if day > warm_up:
                fetched += 1
                hits += now != copy[p]
                links += len(set(LINKS[now]) - set(LINKS[copy[p]]))
            x[p] += now != copy[p]
            copy[p], last[p] = now, day
        if day > warm_up:
            fresh.append(sum(copy[p] == web[p][day] for p in pages) / len(web))
            ages.append(sum(age(web[p], last[p], day) for p in pages) / len(web))
    return hits / fetched, sum(fresh) / len(fresh), sum(ages) / len(ages), links / fetched


def age(states, last, day) -> float:
    if states[last] == states[day]:
        return 0.0
    return day + 0.5 - next(d for d in range(last + 1, day + 1) if states[d] != states[last])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(web=webs, policy=st.sampled_from(sorted(SCORES)), k=st.integers(1, 3))
def test_replay_and_metrics_agree_with_a_plain_replay(tmp_path_factory, web, policy, k):
    trace = read_trace(write(tmp_path_factory.mktemp("trace"), web))
    assert trace.alive().all()
    k = min(k, len(web))
    cycles = replay(trace, policy, Budget(fetches=k), ties="id")
    found = summary(daily(trace, cycles))
    names = ("change_ratio", "freshness", "age_days", "new_links_per_fetch")
    np.testing.assert_allclose([found[n] for n in names], plain(web, policy, k), rtol=1e-9)


@settings(max_examples=40, deadline=None)
@given(web=webs, k=st.integers(1, 2))
def test_no_schedule_finds_more_changes_than_the_clairvoyant(tmp_path_factory, web, k):
    trace = read_trace(write(tmp_path_factory.mktemp("trace"), web))
    cycles = replay(trace, "oldest", Budget(fetches=k), ties="id")
    jobs = []
    for states in web:
        days = [d for d in range(1, DAYS + 1) if states[d] != states[d - 1]]
        ends = [*(d - 1 for d in days[1:]), DAYS]
        jobs += [(max(d, 3), end) for d, end in zip(days, ends) if end >= 3]  # noqa: B905
    assert most_changes(trace, cycles) == matched(jobs, k)


def matched(jobs, k):
    """How many jobs can be done at most: a maximum matching of jobs to days."""
    places = {(day, slot): None for day in range(3, DAYS + 1) for slot in range(k)}

    def place(job, seen):
        for day in range(jobs[job][0], jobs[job][1] + 1):
            for slot in range(k):
                if (day, slot) in seen:
                    continue
                seen.add((day, slot))
                if places[day, slot] is None or place(places[day, slot], seen):
                    places[day, slot] = job
                    return True
        return False

    return sum(place(job, set()) for job in range(len(jobs)))


def test_ndcg_counts_early_hits_more():
    assert ndcg(np.array([True, False]), 1) == 1.0
    assert ndcg(np.array([False, True]), 1) == pytest.approx(1 / np.log(3))
    assert ndcg(np.array([False, False]), 0) == 1.0


def test_a_history_in_memory_refuses_what_comes_late():
    def new():
        return MemoryHistory(
            [f"https://h{p % 3}.example/{p}" for p in range(7)],
            make("detector", "digest"),
            seen=0.0,
        )

    with pytest.raises(BadInput, match="order of time"):
        check_adds_nothing_twice(new)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(web=webs, picks=st.lists(st.sets(st.integers(0, 5)), min_size=DAYS, max_size=DAYS))
def test_links_of_a_replay_are_those_of_a_store_that_was_given_them(web, picks):
    with tempfile.TemporaryDirectory() as folder:
        trace = read_trace(write(Path(folder), web))
        engine = TraceEngine(trace, failures=0.2, not_modified=0.5)
        judge = make("detector", "digest")
        history = MemoryHistory(trace.urls, judge, seen=START, copies=trace)
        shown = []
        for day, pages in enumerate([set(range(6)), *picks]):
            page = np.array(sorted(pages & set(range(len(web)))), np.int64)
            visits = engine.visits(page, START + day * DAY)
            history.append(visits)
            brought = [
                web[p][day] if status == 200 else None
                for p, status in zip(page, visits["status"].to_pylist(), strict=True)
            ]
            for name, of in (("links", LINKS), ("text", WORDS)):
                held = pa.array([None if b is None else of[b] for b in brought], KINDS[name])
                at = VISITS.get_field_index(name)
                visits = visits.set_column(at, VISITS.field(name), held)
            shown.append(visits)
        with Store.open(Path(folder) / "s", create=True) as store:
            store.append(pa.concat_tables(shown))
            ours, theirs = history.pages().intervals(), store.pages().intervals()
            never = history.pages().intervals(never_seen=True)
            found = store.pages().intervals(never_seen=True)
            in_store = np.array([store.page_id(url) for url in trace.urls])
            every = np.arange(len(trace))
            assert history.texts(every).to_pylist() == store.texts(in_store).to_pylist()
            kept, known = history.outlinks(every), store.outlinks(in_store)
        for name in ("new_internal", "new_external"):
            np.testing.assert_allclose(getattr(never, name), getattr(found, name))
        assert (kept.start == known.start).all()
        pages = keys(trace.urls)
        for mine, yours in (kept.target, known.target), (known.target, kept.target):
            assert np.isin(mine[np.isin(mine, pages)], yours).all()
        for name, column in ours.columns().items():
            known = np.isfinite(theirs.links) if name == "links" else slice(None)
            np.testing.assert_allclose(column[known], theirs.columns()[name][known], err_msg=name)
        assert (ours.start == theirs.start).all()


def test_budgets_of_nothing_and_of_everything(tmp_path):
    trace = read_trace(write(tmp_path, [[0, 1] * 5, [0] * 10, [2, 3, 3, 3, 1] * 2]))
    nothing, all_ = (compare([trace], ["poisson"], [b]) for b in ("0", "100%"))
    assert nothing.runs[1]["change_ratio"] == 0.0
    assert all_.runs[1]["freshness"] == 1.0
    assert all_.captured(all_.runs[1]) is None or all_.captured(all_.runs[1]) == 0.0


def test_what_changes_in_a_run_with_failures_parts_and_304s(tmp_path):
    trace = read_trace(write(tmp_path, [[0, 1] * 5, [0] * 10, [2, 3, 3, 3, 1] * 2]))
    plain_run = replay(trace, "poisson", Budget(fetches=2))
    same = replay(trace, "poisson", Budget(fetches=2), not_modified=1.0)
    assert (plain_run.page == same.page).all()
    lost = replay(trace, "poisson", Budget(fetches=2), failures=1.0)
    assert (lost.succeeded == (lost.cycle == 0)).all()  # there is a copy of each at the beginning
    parts = replay(trace, "poisson", Budget(fetches=2), parts=2)
    assert (np.bincount(parts.cycle) == np.bincount(plain_run.cycle)).all()


def test_a_page_fetched_twice_in_a_cycle_shows_its_change_once(tmp_path):
    trace = read_trace(write(tmp_path, [[0, 1] * 5, [0] * 10]))
    cycles = replay(trace, "random", Budget(fetches=2), parts=2, warm_up=0)
    past = cycles.cycle > 0
    both = [cycles.page[rows].tolist() for rows in cycles.by_cycle()][1:]
    assert [0, 0] in both  # so that this is about something
    assert (cycles.at[past] - cycles.times[cycles.cycle[past]]).tolist() == [0.0, 1.0] * DAYS
    run = daily(trace, cycles)
    copy, hits = 0, []
    for day, pages in enumerate(both, 1):
        hits.append(int(0 in pages and copy != day % 2))
        copy = day % 2 if 0 in pages else copy
    assert run.changed.tolist() == hits
    assert run.fetched.tolist() == [2] * DAYS
    assert claims(trace, cycles)[1].sum() == sum(hits)


def test_freshness_over_time_counts_seconds_not_cycles(tmp_path):
    """One page of two changes each noon: fetched at midnight it is right for half a day."""
    trace = read_trace(write(tmp_path, [list(range(4)) * 2 + [0, 1], [0] * 10]))
    found = summary(daily(trace, replay(trace, "oldest", Budget(fetches=2), warm_up=0)))
    assert found["freshness"] == 1.0
    assert found["freshness_time"] == pytest.approx(0.75)


def test_every_seed_draws_another_random_policy(tmp_path):
    trace = read_trace(write(tmp_path, [[0] * 10] * 6))
    one, same, other = (replay(trace, "random", Budget(fetches=2), seed=s) for s in (1, 1, 2))
    assert (one.page == same.page).all()
    assert (one.page != other.page).any()


def test_what_is_said_where_nothing_is_fetched(tmp_path):
    trace = read_trace(write(tmp_path, [[0, 1] * 5, [0] * 10]))
    nothing = compare([trace], [], ["0"])
    capped = compare([trace], [], ["1"], host_cap=0)
    assert nothing.runs[0]["known"] == capped.runs[0]["known"] == 1.0
    limits = nothing.bounds[trace.name]["0"]
    assert set(limits.values()) == {0.0}


def test_traces_and_budgets_are_told_apart(tmp_path):
    folders = [tmp_path / "a", tmp_path / "b", tmp_path / "c" / "a"]
    for folder in folders:
        folder.mkdir(parents=True)
        write(folder, [[0, 1] * 5, [0] * 10])
    files = [folder / "versions.parquet" for folder in folders]
    assert trace_names([*files, folders[0], folders[0] / ".." / "b"]) == [
        "a",
        "b",
        "a (2)",
        "a (3)",
        "b (2)",
    ]
    trace = read_trace(folders[0])
    assert [run["budget"] for run in compare([trace], [], ["1", "2", "1"]).runs] == ["1", "2"]
    with pytest.raises(BadInput, match="different names"):
        compare([trace, trace], [], ["1"])


@pytest.mark.parametrize(
    ("weight", "says"),
    [
        ({"https://other.example/": 1.0}, "Got 1 weight, none"),
        ({}, "Got 0 weights, none"),
        ({f"https://h.example/p{p}": 0.0 for p in range(2)}, "a sum above 0"),
        ({f"https://h.example/p{p}": 1e308 for p in range(2)}, "and finite. Got inf"),
    ],
)
def test_weights_that_weigh_nothing_are_refused(tmp_path, weight, says):
    trace = read_trace(write(tmp_path, [[0, 1] * 5, [0] * 10]))
    with pytest.raises(BadInput, match=says):
        compare([trace], [], ["1"], weights=weight)


@pytest.mark.parametrize("change", ["column", "order", "window", "twice"])
def test_bad_traces_are_refused(tmp_path, change):
    folder = write(tmp_path, [[0, 1] * 5, [0] * 10])
    table = pq.read_table(tmp_path / "versions.parquet")
    if change == "window":
        (tmp_path / "README.md").unlink()
    bad = {
        "column": lambda: table.drop_columns(["text"]),
        "order": lambda: table.take(pa.array(range(len(table)))[::-1]),
        "twice": lambda: pa.concat_tables([table.slice(0, 1), table]),
        "window": lambda: table,
    }[change]()
    pq.write_table(bad, tmp_path / "versions.parquet")
    says = {"column": "'text'", "order": "sorted", "twice": "sorted", "window": "--window"}[change]
    with pytest.raises(BadInput, match=says):
        read_trace(folder)
