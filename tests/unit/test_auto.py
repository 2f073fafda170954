"""The policy `auto` in the loop: no leak, no harm, bad input, what it keeps and says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from recrawl import explain, plan, registry, units
from recrawl.auto import saved_state
from recrawl.auto.model import HitModel
from recrawl.errors import BadInput, RecrawlError
from recrawl.history import Store
from recrawl.lab.delays import links_found
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.traces import open_trace
from recrawl.lab.worlds import write
from recrawl.model import DAY
from recrawl.policies.auto import weights

BEGIN = 1_767_225_600.0


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Traces of worlds, made once."""
    made = {}

    def trace(name, **sizes):
        key = (name, *sizes.items())
        if key not in made:
            folder = tmp_path_factory.mktemp(name)
            write(registry.make("world", name).make(**sizes), folder)
            made[key] = open_trace(folder)
        return made[key]

    return trace


def found(trace, policy, **options):
    cycles = replay(trace, policy, units.budget("5%"), parts=4, **options)
    return summary(daily(trace, cycles, None)), cycles


@pytest.mark.slow
def test_it_finds_releases_that_a_rate_does_not(world):
    trace = world("releases", pages=400, days=60)
    runs = {
        policy: [found(trace, policy, seed=seed)[0] for seed in range(3)]
        for policy in ("auto", "poisson")
    }
    for metric, gain in (("change_ratio", 0.01), ("freshness", 0.01)):
        auto, poisson = (np.mean([run[metric] for run in runs[name]]) for name in runs)
        assert auto > poisson + gain, metric


@pytest.mark.slow
def test_where_there_is_nothing_to_learn_it_loses_next_to_nothing(world):
    trace = world("poisson", pages=600, days=60)
    auto, poisson = (found(trace, name)[0] for name in ("auto", "poisson"))
    assert auto["change_ratio"] > poisson["change_ratio"] - 0.01


def test_what_happens_later_changes_nothing_before(world):
    trace = world("releases", pages=150, days=30)
    until = trace.window[0] + 15 * DAY
    late = trace.valid_from > until
    still = trace.content[trace.version_at(until)][trace.page]
    other = replace(trace, content=np.where(late, still, trace.content))
    one, two = (found(t, "auto")[1] for t in (trace, other))
    same = one.at <= until
    assert np.array_equal(one.page[same], two.page[two.at <= until])
    assert np.array_equal(one.p_change[same], two.p_change[two.at <= until], equal_nan=True)
    assert not np.array_equal(one.page, two.page)


@pytest.mark.slow
def test_nor_do_links_that_come_later(world):
    trace = world("hubs", pages=100, days=30)
    until = trace.window[0] + 15 * DAY
    late = trace.valid_from > until
    version = np.where(late, trace.version_at(until)[trace.page], np.arange(len(trace.page)))
    other = replace(trace, links=trace.links.take(version), row=trace.row[version])
    one, two = (found(t, "links")[1] for t in (trace, other))
    assert np.array_equal(one.page[one.at <= until], two.page[two.at <= until])
    assert not np.array_equal(one.page, two.page)


@pytest.mark.slow
def test_links_finds_new_links_sooner_than_a_rate_of_changes(world):
    trace = world("hubs", pages=200, days=60)
    links, poisson = (links_found(trace, found(trace, name)[1]) for name in ("links", "poisson"))
    assert links["links_within_7d"] > poisson["links_within_7d"] + 0.03


@pytest.mark.slow
def test_the_same_seed_gives_the_same_run(world):
    trace = world("releases", pages=150, days=30)
    one, two = (found(trace, "auto", seed=3)[1] for _ in range(2))
    assert np.array_equal(one.page, two.page)


def test_pages_that_become_known_later(tmp_path):
    folder = tmp_path / "hubs"
    write(registry.make("world", "hubs").make(pages=120, days=20), folder)
    trace = open_trace(folder, cohort="all")
    late = trace.window[0] + 5 * DAY + np.arange(len(trace.page))  # of every second page
    first = np.where(trace.page % 2, np.maximum(trace.valid_from, late), trace.valid_from)
    trace = replace(trace, valid_from=first)
    cycles = replay(trace, "auto", units.budget("10%"), discover="oracle")
    assert (cycles.page[cycles.at > late[0]] % 2).any()
    assert not (cycles.page[cycles.at <= late[0]] % 2).any()


def visited(store, day, digests, text="some words on things {} {}"):
    n = len(digests)
    store.append(
        pa.table(
            {
                "url": [f"https://a.example/{'xyz'[i % 3]}/{i}" for i in range(n)],
                "at": pa.array([int((BEGIN + day * DAY) * 1e6)] * n).cast(
                    pa.timestamp("us", tz="UTC")
                ),
                "digest": pa.array(digests, pa.uint64()),
                "digest_of": ["text"] * n,
                "text": pa.array(
                    [text and text.format(i, d) for i, d in enumerate(digests)], pa.string()
                ),
            }
        )
    )


def filled(path, pages=30, days=20, digest=lambda page, day: day // (page % 5 + 2), **options):
    store = Store.open(path, create=True)
    for day in range(days):
        visited(store, day, [digest(page, day) for page in range(pages)], **options)
    store.close()
    return Store.open(path)


STORES = {
    "no page": {"pages": 0},
    "one page": {"pages": 1},
    "one visit each": {"days": 1},
    "two visits each": {"days": 2},
    "no changes ever": {"digest": lambda page, day: 1},
    "all pages change always": {"digest": lambda page, day: day + 1},
    "no text": {"text": None},
    "the same text everywhere": {"text": "the same"},
}


@pytest.mark.slow
@pytest.mark.parametrize("options", STORES.values(), ids=STORES)
def test_stores_with_little_to_learn_from(tmp_path, options):
    store = filled(tmp_path / "store", **options)
    for day in (20.5, 21.5):
        chosen = plan(store, 5, now=BEGIN + day * DAY, policy="auto")
        assert len(chosen) == min(5, options.get("pages", 30))
        assert np.isfinite(chosen.score).all()
        assert ((chosen.p_change > 0) & (chosen.p_change <= 1)).all()


@pytest.mark.slow
def test_visits_that_come_late_are_learned_as_if_in_time(tmp_path):
    store = filled(tmp_path / "store")
    model = HitModel()
    model.learn(store, store.pages(), BEGIN + 20.5 * DAY)
    visited(store, 3.5, [99] * 30)
    model.learn(store, store.pages(), BEGIN + 20.5 * DAY)
    fresh = HitModel()
    fresh.learn(Memoryless(store), store.pages(), BEGIN + 20.5 * DAY)
    assert np.array_equal(model.state.history.n_hits, fresh.state.history.n_hits)
    assert np.allclose(model.state.rate, fresh.state.rate)


@pytest.mark.slow
def test_late_visits_teach_on_the_same_day(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    model, now = HitModel(), BEGIN + 20.5 * DAY
    for day in (18, 19):
        visited(store, day, [1] * 30)
    model.learn(Memoryless(store), store.pages(), now)
    assert model.learner.linear is None
    for day in range(15):
        visited(store, day, [day] * 30)
    model.learn(Memoryless(store), store.pages(), now)
    assert model.learner.linear is not None


class Memoryless:
    """A store beside which nothing is saved_state."""

    def __init__(self, store):
        self.store = store

    def pages(self):
        return self.store.pages()

    def signals(self):
        return None

    def models(self):
        return None

    def database(self):
        return None


@pytest.mark.slow
def test_learned_at_once_or_day_by_day_is_the_same(tmp_path):
    store = Store.open(tmp_path / "store", create=True)
    daily_, once = HitModel(), HitModel()
    for day in range(15):
        visited(store, day, [day // (page % 5 + 2) for page in range(30)])
        daily_.learn(Memoryless(store), store.pages(), BEGIN + (day + 0.5) * DAY)
    once.learn(Memoryless(store), store.pages(), BEGIN + 14.5 * DAY)
    assert np.array_equal(daily_.state.history.n_hits, once.state.history.n_hits)
    assert np.allclose(daily_.state.rate, once.state.rate, rtol=1e-6)
    days = slice(0, 5)
    assert np.allclose(daily_.state.columns[days], once.state.columns[days], atol=0.05)


@pytest.mark.slow
def test_what_was_learned_is_kept_beside_the_store(tmp_path):
    store = filled(tmp_path / "store")
    now = BEGIN + 20.5 * DAY
    one = plan(store, 30, now=now, policy="auto")
    [_file] = saved_state.versions(store.models(), "change")
    loaded = HitModel()
    saved_state.load(loaded, store.models(), "change", today=10**6)
    assert loaded.learner.version == 1
    assert loaded.state.history.n_hits.sum() > 0
    two = plan(store, 30, now=now, policy="auto")
    assert np.allclose(one.score, two.score)
    for day in range(21, 27):
        plan(store, 3, now=BEGIN + (day + 0.5) * DAY, policy="auto")
    assert len(saved_state.versions(store.models(), "change")) == saved_state.FILES_KEPT


@pytest.mark.slow
def test_what_cannot_be_kept_leaves_nothing_behind(tmp_path, monkeypatch):
    store, now = filled(tmp_path / "store"), BEGIN + 20.5 * DAY
    store.models().mkdir(exist_ok=True)
    (store.models() / "auto-change-backup.npz").write_bytes(b"")

    def full(stream, **arrays):
        stream.write(b"x" * 1_000)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saved_state.np, "savez", full)
    assert len(plan(store, 3, now=now, policy="auto")) == 3
    assert [file.name for file in store.models().iterdir()] == ["auto-change-backup.npz"]


@pytest.mark.slow
def test_the_chance_of_a_change_does_not_depend_on_who_else_is_asked_about(tmp_path):
    store, now, policy = filled(tmp_path / "store"), BEGIN + 20.5 * DAY, "auto:objective=new-links"
    many, few = (plan(store, n, now=now, policy=policy) for n in (30, 3))
    p_change = dict(zip(many.urls(), many.p_change, strict=True))
    assert [p_change[url] for url in few.urls()] == pytest.approx(few.p_change.tolist())


@pytest.mark.slow
def test_what_was_kept_of_a_later_day_is_not_known_before_it(tmp_path):
    store = filled(tmp_path / "store")
    now = BEGIN + 20.5 * DAY
    one = plan(store, 30, now=now, policy="auto")
    for day in (30, 60, 90):
        plan(store, 30, now=now + day * DAY, policy="auto")
    two = plan(store, 30, now=now, policy="auto")
    assert one.urls() == two.urls()
    assert np.allclose(one.score, two.score)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"no archive", "half", "bit", "about"])
def test_what_was_kept_and_is_damaged_is_learned_anew(tmp_path, caplog, damage):
    store = filled(tmp_path / "store")
    now = BEGIN + 20.5 * DAY
    one = plan(store, 30, now=now, policy="auto")
    [file] = saved_state.versions(store.models(), "change")
    if damage == "about":
        np.savez(file, about=np.array('{"format": [2], "tree": 7}'))
    elif damage == "bit":  # an unknown way to pack
        data = bytearray(file.read_bytes())
        data[data.index(b"PK\1\2") + 10] = 99
        file.write_bytes(data)
    else:
        file.write_bytes(file.read_bytes()[:5_000] if damage == "half" else damage)
    two = plan(store, 30, now=now, policy="auto")
    assert np.allclose(one.score, two.score)
    assert "is not used" in caplog.text


def test_it_says_why(tmp_path):
    store = filled(tmp_path / "store", days=5, digest=lambda page, day: 1)
    visited(store, 6, [99] * 9)  # three pages of each directory
    told = explain(store, 29, 5, now=BEGIN + 6.5 * DAY, policy="auto")
    assert told.reasons[0] == "never seen to change in 4 visits; explored"
    assert told.reasons[1].startswith(
        "since our visit 3 of 3 pages seen of its directory changed: ×"
    )
    again = explain(store, 3, 5, now=BEGIN + 6.5 * DAY, policy="auto")
    assert again.reasons[0] == "changed in 1 of the last 5 visits"
    assert explain(store, 3, 5, now=BEGIN + 6.5 * DAY, policy="oldest").reasons == []


@pytest.mark.slow
def test_objectives_and_their_weights(tmp_path):
    store = filled(tmp_path / "store")
    now = BEGIN + 20.5 * DAY
    for objective in ("balanced", "change-ratio", "freshness", "age", "harmonic", "new-links"):
        chosen = plan(store, 30, now=now, policy=f"auto:objective={objective}")
        assert np.isfinite(chosen.score).all()
    alone = plan(store, 30, now=now, policy="auto:objective=freshness")
    same = plan(store, 30, now=now, policy="auto:objective=freshness=1+age=0")
    assert alone.pages.page_id.tolist() == same.pages.page_id.tolist()
    assert weights("freshness=0.5,new-links=2") == {"freshness": 0.5, "new-links": 2.0}


@pytest.mark.slow
def test_new_links_and_searches_are_parts_of_it(tmp_path):
    store = filled(tmp_path / "store")
    asked = tmp_path / "queries.tsv"
    asked.write_text("words\t3\n7\t1\n")
    now = BEGIN + 20.5 * DAY

    def score(policy):
        made = registry.make("policy", policy)
        made.learn(store, store.pages(), now)
        return made.score(store.pages(), now)

    queries = f"queries={asked}"
    links, search = score("links"), score(f"user-centric:{queries}")
    assert score("auto:objective=new-links") == pytest.approx(links)
    with pytest.raises(BadInput, match="search needs queries"):
        score("auto:objective=search")
    both = score(f"auto:objective=new-links=1+search=3,{queries}")
    assert both == pytest.approx(links / links.mean() + 3 * search / search.mean())


@pytest.mark.parametrize(
    "written", ["", "freshnes", "freshness=x", "freshness=-1", "age=0", "age=nan"]
)
def test_objectives_that_are_none(written):
    with pytest.raises(RecrawlError, match="objective"):
        weights(written)


def test_an_event_that_is_none():
    with pytest.raises(BadInput, match="event must be one of change, links, never-seen-links"):
        HitModel("price")
