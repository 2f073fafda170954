"""Policies that use what people search for."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from support import write_trace

from recrawl.cycle import run_cycle
from recrawl.errors import BadInput
from recrawl.history import Store
from recrawl.history.memory import MemoryHistory
from recrawl.lab.replay import TraceEngine, replay
from recrawl.lab.traces import open_trace
from recrawl.model import DAY, Budget
from recrawl.planner import plan
from recrawl.planner.policy import policy_for
from recrawl.registry import make
from recrawl.search.impact import SearchImpact
from recrawl.search.link_scores import LINK_SCORES
from recrawl.search.queries import read_workload

WORDS = [
    "alpha",
    "beta",
    "gamma",
    "delta",
    "epsilon",
    "zeta",
    "eta",
    "theta",
    "iota",
    "kappa",
    "lambda",
    "mu",
]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Page 0 changes in words people search for, page 1 in others, both daily; 2 to 9 never."""
    rows = []
    for day in range(10):
        sought = "cat " * (1 + day % 3) + ("dog" if day % 2 else "bird")
        rows.append(("https://a.example/0", day, 200, f"{sought} {' '.join(WORDS)}", []))
        other = " ".join(f"{word}{day}" for word in WORDS)
        rows.append(("https://a.example/1", day, 200, f"cat {other}", []))
    rows += [
        (f"https://a.example/{i}", 0, 200, f"cat dog {' '.join(WORDS)} {i}", [])
        for i in range(2, 10)
    ]
    return open_trace(write_trace(tmp_path_factory.mktemp("t") / "trace", rows))


@pytest.fixture(scope="module")
def queries(tmp_path_factory):
    file = tmp_path_factory.mktemp("q") / "queries.tsv"
    file.write_text("cat\t5\ndog\t3\nbird\t2\n")
    return file


def train(trace, policy, days=6):
    """The policy after some days on which every page was visited."""
    engine = TraceEngine(trace)
    history = MemoryHistory(
        trace.urls, make("detector", "digest"), seen=trace.window[0], copies=trace
    )
    for day in range(days):
        now = trace.window[0] + day * DAY
        history.append(engine.visits(np.arange(len(trace)), now), now=now)
        policy.learn(history, history.pages(), now)
    return policy, history.pages(), now + DAY


def test_a_page_that_searchers_see_change_comes_first(trace, queries):
    for raw in (True, False):
        policy = make("policy", f"user-centric:queries={queries}", raw=raw)
        policy, pages, now = train(trace, policy)
        score = policy.score(pages, now)
        assert np.argmax(score) == 0
        assert score[1] < score[0] / 2
        assert (score[2:] > 0).all() != raw  # the paper's starves pages without a gain
        assert policy.impact_.changes.tolist()[:3] == [5, 5, 0]


#: Pages of a site that a crawl finds one by one from page 0: page i is linked from i other pages.
FOUND = 4


def crawl_from_seed(folder, policy, cycles=8):
    """The policy after a crawl that began with page 0; it finds page i + 1 on page i."""
    urls = [f"https://a.example/{i}" for i in range(FOUND)]
    # Page i appears on day i, and links to itself and, one of them twice, to all later pages.
    rows = [(urls[i], i, 200, f"cat {i}", [*urls[i:], urls[-1]]) for i in range(FOUND)]
    trace = open_trace(write_trace(folder, rows), cohort="all")
    engine = TraceEngine(trace)
    history = MemoryHistory(
        trace.urls,
        make("detector", "digest"),
        seen=trace.window[0],
        known=engine.known,
        copies=trace,
    )
    for cycle in range(cycles):
        now = trace.window[0] + (cycle + 1) * DAY
        run_cycle(history, policy, engine, Budget(fetches=FOUND), now=now)
    policy.learn(history, history.pages(), now)
    return policy, history, now


def test_scores_by_links_follow_the_pages_that_a_crawl_finds(tmp_path, queries):
    policy = make("policy", f"user-centric:queries={queries},scoring=inlinks")
    policy, history, _ = crawl_from_seed(tmp_path / "t", policy)
    assert (history.pages().n_visits > 0).all()
    # Links of a page to itself and second links to a page do not count.
    assert policy.impact_.page_score.tolist() == [0, 1, 2, 3]
    visibility = policy.impact_.visibility
    assert visibility[0] == 0  # nothing links to it, so no answer lists it
    assert (np.diff(visibility) > 0).all()

    ranked = make("policy", f"user-centric:queries={queries},scoring=pagerank")
    ranked, *_ = crawl_from_seed(tmp_path / "t", ranked)
    assert ranked.impact_.page_score.sum() == pytest.approx(1)
    assert (np.diff(ranked.impact_.page_score) > 0).all()


def test_scores_by_links_are_not_computed_again_for_nothing(tmp_path, queries, monkeypatch):
    computed = []
    plain = LINK_SCORES["inlinks"]

    def counted(*graph):
        computed.append(graph)
        return plain(*graph)

    monkeypatch.setitem(LINK_SCORES, "inlinks", counted)
    policy = make("policy", f"user-centric:queries={queries},scoring=inlinks")
    policy, history, now = crawl_from_seed(tmp_path / "t", policy)
    assert len(computed) == FOUND  # once for each new page
    policy.learn(history, history.pages(), now + DAY)
    assert len(computed) == FOUND


def test_scores_by_links_are_kept_with_the_gains(tmp_path, queries):
    workload = read_workload(queries)
    policy = make("policy", f"user-centric:queries={queries},scoring=inlinks")
    policy, *_ = crawl_from_seed(tmp_path / "t", policy)
    policy.impact_.save(tmp_path)
    again = SearchImpact.of(workload, "inlinks")
    again.load(tmp_path)
    assert again.page_score.tolist() == [0, 1, 2, 3]
    assert again.visibility.tolist() == policy.impact_.visibility.tolist()
    other = SearchImpact.of(workload, "pagerank")
    other.load(tmp_path)
    assert len(other.page_score) == 0


def test_small_changes_do_not_make_a_page_stale(trace):
    policy, pages, _ = train(trace, make("policy", "staleness:tau=0.9"))
    # Page 0 keeps most of its text from day to day, page 1 nothing but a word.
    assert policy.large_changes(pages).tolist()[:3] == [0, 5, 0]
    policy, pages, _ = train(trace, make("policy", "staleness:tau=0.05"))
    assert policy.large_changes(pages).tolist()[:3] == [5, 5, 0]


def test_embarrassment_counts_views(trace, queries):
    policy = make("policy", f"embarrassment:queries={queries},tau=0.05,visits_per_day=5")
    policy, pages, now = train(trace, policy)
    score = policy.score(pages, now)
    assert np.isfinite(score).all()
    assert score.max() > 0


def test_replays_measure_gains_in_memory(trace, queries):
    done = replay(trace, f"user-centric:queries={queries}", Budget(fetches=2))
    assert done.spent() == 2 * (len(done.times) - 3)
    assert 0 in done.page[done.cycle == 3]  # seen to change, and in what is searched for


@pytest.mark.slow
def test_plans_of_a_store_measure_gains_while_indexing(trace, queries, tmp_path):
    with Store.open(tmp_path / "s", create=True) as store:
        for day in range(4):
            now = trace.window[0] + day * DAY
            text = trace.texts(np.arange(len(trace)), np.full(len(trace), now))
            table = TraceEngine(trace).visits(np.arange(len(trace)), now)
            place = table.schema.get_field_index("text")
            store.append(table.set_column(place, "text", text.cast("string")))
            made = plan(store, 1, now=now + DAY / 2, policy=f"user-centric:queries={queries}")
        assert made.urls() == ["https://a.example/0"]
        assert (tmp_path / "s" / "index" / "measured.npz").exists()


@pytest.mark.parametrize("name", ["a, b.tsv", "q.json"])
def test_a_file_of_queries_may_have_any_name(tmp_path, name):
    (tmp_path / name).write_text('{"query": "cat"}\n' if "json" in name else "cat\t1\n")
    written = policy_for("search", tmp_path / name)
    policy = make("policy", f"{written},scoring=bm25")
    assert (policy.queries, policy.scoring) == (str(tmp_path / name), "bm25")


def test_a_missing_query_file_is_an_error(tmp_path, trace):
    with pytest.raises(BadInput, match="must be a text file"):
        replay(trace, f"user-centric:queries={tmp_path / 'none.tsv'}", Budget(fetches=1))
    assert len(read_workload(_one(tmp_path))) == 1


def _one(folder):
    file = folder / "one.tsv"
    file.write_text("cat\t1\n")
    return file


def visits_of_two_pages(day, *answers):
    """Visits on a day to page 0 and page 1: a text, 304, or None for no visit."""
    rows = [(i, answer) for i, answer in enumerate(answers) if answer is not None]
    texts = [None if answer == 304 else answer for _, answer in rows]
    at = pa.array([int((1_700_000_000 + day * DAY) * 1e6)] * len(rows))
    return pa.table(
        {
            "url": [f"https://a.example/{i}" for i, _ in rows],
            "at": at.cast(pa.timestamp("us", tz="UTC")),
            "status": pa.array([304 if text is None else 200 for text in texts], pa.int16()),
            "digest": pa.array([text and len(text) for text in texts], pa.uint64()),
            "digest_of": ["text"] * len(rows),
            "text": pa.array(texts, pa.string()),
        }
    )


def test_raw_priority_counts_from_the_last_visit_also_if_it_was_answered_304(tmp_path):
    """Both pages start to match the query on day 10, with the same text: they gain alike.

    Page 0 answered 304 on day 8, so its gain is that of 2 days; page 1 was not visited since day 0:
    10 days. Page 0 has two past visits, page 1 has one: mean gains a day are g/4 and g/10. On day 12
    both have waited 2 days. Page 1 is visited then, and has g/20. On day 13 they have waited 3 days
    and 1 day: 3g/4 and g/20.
    """
    queries = tmp_path / "queries.tsv"
    queries.write_text("cat dog\t1\n")
    policy = make("policy", f"user-centric:queries={queries},raw=true")
    days = [
        (0, "cat x", "cat y"),
        (8, 304, None),
        (10, "cat dog x y", None),
        (10, None, "cat dog z w"),
        (12, None, 304),
    ]
    before = []
    with Store.open(tmp_path / "s", create=True) as store:
        for day, *answers in days:
            now = 1_700_000_000 + day * DAY
            before.append(policy.score(store.pages(), now))
            store.append(visits_of_two_pages(day, *answers))
            policy.learn(store, store.pages(), now)
        gain = policy.impact_.gain
        pages = store.pages()
        score = policy.score(pages, now + DAY)
    np.testing.assert_allclose(before[-1], gain * [2 / 4, 2 / 10])
    assert pages.n_compared.tolist() == [2, 2]
    assert gain[0] > 0
    np.testing.assert_allclose(policy.impact_.daily_gain, gain / [2, 10])
    np.testing.assert_allclose(score, gain * [3 / 4, 1 / 20])
