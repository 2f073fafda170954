"""What is known of pages as a crawl grows: nothing of later, nothing lost, nothing made up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from recrawl import registry
from recrawl.auto.features import NAMES, FeatureState
from recrawl.auto.hazard import Hazard
from recrawl.auto.model import HitModel
from recrawl.auto.reasons import _words, reasons
from recrawl.auto.trees import DEPTH, BoostedTrees
from recrawl.history import Store
from recrawl.model import DAY

BEGIN = 1_767_225_600.0
FRUIT, METAL = "apple pear plum fruit tree", "iron steel copper metal ore"


@pytest.fixture
def store(tmp_path):
    with Store.open(tmp_path / "store", create=True) as made:
        yield made


def visit(store, day, rows):
    """Rows of url, digest, text, and links if there are any."""
    url, digest, text, links = zip(*[(*row, None)[:4] for row in rows], strict=True)
    at = pa.array([int((BEGIN + day * DAY) * 1e6)] * len(rows)).cast(pa.timestamp("us", tz="UTC"))
    columns = {
        "url": url, "at": at, "digest": pa.array(digest, pa.uint64()),
        "digest_of": ["text"] * len(rows), "text": pa.array(text, pa.string()),
        "links": pa.array(links, pa.list_(pa.string())),
    }  # fmt: skip
    store.append(pa.table(columns))


def tell_of(store, *urls, day):
    store.append(pa.table({"url": list(urls)}), now=BEGIN + day * DAY)


def row_of(store, url):
    return list(store.pages().urls()).index(url)


@pytest.mark.parametrize("grown", [False, True])
def test_what_a_visit_brought_was_not_known_before_it(store, grown):
    state, url = FeatureState(), "https://a.example/x/1"
    visit(store, 0, [(url, 1, "short")])
    state.update(store.pages(), BEGIN + 0.5 * DAY)
    visit(store, 1, [(url, 2, "long " * 200)])
    if grown:
        tell_of(store, "https://a.example/y/9", day=1)
    [examples] = state.update(store.pages(), BEGIN + 1.5 * DAY)
    assert examples.visits.hit.tolist() == [True]
    assert np.expm1(examples.columns[NAMES.index("length")]) == pytest.approx(len("short"))


def test_no_more_of_copies_is_read_than_asked_for(store):
    links = [[f"https://o.example/{i}" for i in range(n)] for n in (3, 0, 2)]
    visit(store, 0, [(f"https://a.example/{i}", 1, "äöü und so", links[i]) for i in range(3)])
    tell_of(store, "https://a.example/new", day=0)
    pages = store.pages().take(np.array([2, 3, 0, 1]))
    assert pages.n_links().tolist() == [2, 0, 3, 0] == np.diff(pages.outlinks().start).tolist()
    assert pages.texts(2).to_pylist() == ["äö", None, "äö", "äö"]
    assert pages.texts().to_pylist()[0] == "äöü und so"


@pytest.mark.slow
def test_texts_that_come_late_are_read(store):
    urls = [f"https://a.example/{'xy'[i % 2]}/{i}" for i in range(12)]
    state = FeatureState()
    for day in range(8):
        rows = [(u, 1, None if day < 3 else (FRUIT, METAL)[i % 2]) for i, u in enumerate(urls)]
        visit(store, day, rows[:1] if day == 3 else rows)
        state.update(store.pages(), BEGIN + (day + 0.5) * DAY)
    assert (state.columns[NAMES.index("length")] > 0).all()
    near = state.neighbours.row[row_of(store, urls[0])]
    assert {row_of(store, u) for u in urls[2::2]} <= set(near.tolist())


@pytest.mark.slow
def test_a_page_that_joins_a_busy_one_is_expected_to_be_busy(store):
    busy = "https://a.example/news/1"
    still = [f"https://a.example/old{i // 2}/{i}" for i in range(10)]
    for day in range(40):
        visit(store, day + 0.4, [(busy, day, "t"), *((u, 1, "t") for u in still)])
    grown, fresh = FeatureState(), FeatureState()
    grown.update(store.pages(), BEGIN + 39.5 * DAY)
    tell_of(store, "https://a.example/news/2", day=40)
    for state in (grown, fresh):
        state.update(store.pages(), BEGIN + 40.5 * DAY)
        assert state.rate[row_of(store, "https://a.example/news/2")] > 0.5
    # but what one page did before the two were a group promised nothing to the group
    day = NAMES.index("days of directory")
    assert abs(grown.columns[day, row_of(store, busy)]) < 0.1


def test_pages_alone_have_no_mates(store):
    urls = [f"https://a{i}.example/d{i}/p" for i in range(6)]
    for day in range(3):
        visit(store, day, [(u, day, "t") for u in urls])
    model = HitModel()
    model.learn(store, store.pages(), BEGIN + 2.5 * DAY)
    assert _words(model.state, "days of directory", 5).startswith("nothing seen")


@pytest.mark.slow
def test_visits_of_other_pages_that_come_late_begin_all_anew(store):
    def visits(host, days):
        for day in days:
            visit(store, day, [(f"https://{host}.example/x/{i}", day // 3, "t") for i in range(4)])

    state = FeatureState()
    visits("a", range(30))
    state.update(store.pages(), BEGIN + 29.5 * DAY)
    visits("b", [29, 30])  # reported when done: not late
    assert state.update(store.pages(), BEGIN + 30.5 * DAY) is not None
    visits("c", range(1, 29))
    assert state.update(store.pages(), BEGIN + 30.6 * DAY) is None


@pytest.mark.slow
def test_pages_first_seen_after_now(store):
    visit(store, 0, [(f"https://a.example/x/{i}", 1, "t") for i in range(4)])
    tell_of(store, "https://a.example/x/9", day=9_000)
    state = FeatureState()
    state.update(store.pages(), BEGIN + DAY)
    assert np.isfinite(state.columns).all()


@pytest.mark.slow
def test_what_our_copy_is_now_does_not_tell_of_visits_long_ago(store):
    random = np.random.default_rng(0)
    changes = np.zeros(200, int)
    for day in range(50):  # a line more with every change, at the same rate everywhere
        changes += random.random(200) < 0.08
        rows = [
            (f"https://a.example/x/{i}", c, "a line\n" * (1 + c)) for i, c in enumerate(changes)
        ]
        visit(store, day + 0.3, rows[day % 2 :: 2])
    examples = FeatureState().update(store.pages(), BEGIN + 50 * DAY)
    length = NAMES.index("length")
    early = np.concatenate([one.columns[length] for one in examples[:-4]])
    assert early.std() == pytest.approx(0.0, abs=1e-6)
    assert examples[-1].columns[length].std() > 0.1
    assert examples[0].columns[NAMES.index("length of the URL")].std() > 0.0


@pytest.mark.slow
def test_old_logs_that_come_after_the_first_plan(store):
    state, now = FeatureState(), BEGIN + 100.5 * DAY
    urls = [f"https://a.example/x/{i}" for i in range(5)]
    visit(store, 100, [(u, 1, "t") for u in urls])
    state.update(store.pages(), now)
    for day in range(100):
        visit(store, day, [(u, day // 7, "t") for u in urls])
    assert state.update(store.pages(), now) is None


@pytest.mark.slow
def test_pages_are_watched_from_their_first_visit_on(store):
    urls = [f"https://h{i}.example/d/{i}" for i in range(6)]
    tell_of(store, *urls, day=0)
    daily, once = FeatureState(), FeatureState()
    for day, some in ((1, urls[:2]), (60, urls[2:]), (61, urls[2:])):
        visit(store, day, [(u, 1, FRUIT) for u in some])
        daily.update(store.pages(), BEGIN + (day + 0.5) * DAY)
    once.update(store.pages(), BEGIN + 61.5 * DAY)
    for name in ("like pages since", "days since a hit"):
        assert np.allclose(daily.columns[NAMES.index(name)], once.columns[NAMES.index(name)])


@pytest.mark.slow
def test_words_are_not_learned_anew_every_day_where_some_pages_say_nothing(store, monkeypatch):
    monkeypatch.setattr("recrawl.neighbours.vectors.MAX_SAMPLE", 20)
    rows = [(f"https://a.example/{i}", 1, f"apple w{i % 7} pear") for i in range(100)]
    visit(store, 0, [(u, d, text if i % 20 else None) for i, (u, d, text) in enumerate(rows)])
    state = FeatureState()
    for day in (1, 2):
        state.update(store.pages(), BEGIN + (day + 0.5) * DAY)
    assert not state.copies.texts.is_outgrown(int(state.copies.has_text.sum()))
    assert not len(state.copies.changed(store.pages()))


@pytest.mark.slow
def test_outcomes_that_are_not_those_that_were_learned(tmp_path):
    state, now = FeatureState(), BEGIN + 9.5 * DAY
    for name, digest in (("a", lambda day: day), ("b", lambda day: 1)):
        with Store.open(tmp_path / name, create=True) as made:
            for day in range(9):
                visit(made, day, [("https://a.example/x", digest(day), "t")])
            examples = state.update(made.pages(), now)
    assert examples is None


def test_an_earlier_day_is_learned_anew(store):
    visit(store, 0, [("https://a.example/x", 1, "t")])
    state = FeatureState()
    assert state.update(store.pages(), BEGIN + 90 * DAY) is not None
    assert state.update(store.pages(), BEGIN + DAY) is None


@pytest.mark.slow
def test_reasons_of_links_speak_of_links(store):
    def rows(day):
        yield "https://a.example/x/0", 1, "same", [f"https://o.example/{i}" for i in range(day + 1)]
        yield "https://a.example/x/1", day, f"text {day}", []

    for day in range(12):
        visit(store, day, list(rows(day)))
    links = registry.make("policy", "links")
    links.learn(store, store.pages(), BEGIN + 11.5 * DAY)
    first, second = (links.reasons(store.pages(), row)[0] for row in range(2))
    assert first == "showed new links in 11 of 11 visits"
    assert second == "never seen to show new links in 11 visits; explored"


@pytest.mark.slow
def test_what_only_the_trees_say_is_a_reason(store):
    for day in range(3):
        visit(store, day, [(f"https://a.example/x/{i}", day, "long " * 9 * i) for i in range(4)])
    model, names = HitModel(), len(NAMES)
    model.learn(store, store.pages(), BEGIN + 2.5 * DAY)
    none = np.zeros(names)
    model.learner.linear = Hazard(model.state.columns.mean(axis=1), none + 1, none, 0.0)
    length, leaf = np.full((1, DEPTH), NAMES.index("length")), np.zeros((1, 2**DEPTH))
    leaf[0, -1] = 2.0 * np.log(3.0)  # averaged with what the linear model says
    above = model.state.columns[length, :].mean(axis=-1)
    model.learner.trees = BoostedTrees(length, above.astype(np.float32), leaf)
    said = reasons(model, store.pages(), row_of(store, "https://a.example/x/3"))
    assert said[1:] == ["what our copy and its URL look like: × 3"]
    assert len(reasons(model, store.pages(), row_of(store, "https://a.example/x/0"))) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "objective", ["balanced", "freshness", "age", "harmonic", "freshness=1+new-links=1"]
)
def test_pages_first_heard_of_now_have_a_score(store, objective):
    for day in range(4):
        visit(store, day, [(f"https://a.example/{i}", day, "t") for i in range(3)])
    tell_of(store, "https://a.example/new", day=3.5)
    now = BEGIN + 3.5 * DAY
    policy = registry.make("policy", f"auto:objective={objective}")
    policy.learn(store, store.pages(), now)
    score = policy.score(store.pages(), now)
    assert np.isfinite(score).all()
    assert score.max() > 0
