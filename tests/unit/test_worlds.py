"""Worlds are what they say: the same for a seed, readable as traces, with the statistics promised."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from recrawl import registry, units
from recrawl.errors import BadInput
from recrawl.lab.bits import read_bits
from recrawl.lab.metrics import daily, summary
from recrawl.lab.replay import replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.lab.worlds.world import START
from recrawl.model import DAY, Budget

NAMES = sorted(registry.parts("world"))
WITH_CONTENT = [name for name in NAMES if name != "brdc"]


def make(written, **size):
    return registry.make("world", written).make(**{"pages": 300, "days": 60, "seed": 1} | size)


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def lifted(before, after):
    """Mean over pairs of the correlation of two columns of days."""
    before, after = (x - x.mean(axis=1, keepdims=True) for x in (before, after))
    return (before * after).sum() / np.sqrt((before**2).sum() * (after**2).sum())


def test_the_worlds_that_the_issue_asks_for():
    expected = [
        "announced",
        "brdc",
        "bursty",
        "flapping",
        "hubs",
        "leaders",
        "poisson",
        "releases",
        "weekly",
    ]
    assert expected == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_bytes_other_seed_others(name, tmp_path):
    first, again, other = (
        files(write(make(name, seed=seed), tmp_path / folder))
        for seed, folder in ((1, "a"), (1, "b"), (2, "c"))
    )
    assert first == again
    assert all(first[file] != other[file] for file in first)
    claims = {"signals.parquet"} if name == "announced" else set()
    changes = "bits.txt" if name == "brdc" else "versions.parquet"
    assert set(first) == {changes, "README.md"} | claims


@pytest.mark.parametrize("name", NAMES)
def test_reads_back_as_a_trace(name, tmp_path):
    world = make(name)
    folder = write(world, tmp_path / name)
    trace = read_bits(folder) if name == "brdc" else read_trace(folder)
    assert list(trace.urls) == list(world.urls)
    assert trace.name == name
    assert trace.window == world.window == (START, START + 60 * DAY)
    np.testing.assert_array_equal(np.diff(trace.start), np.diff(world.start) + 1)
    first = np.zeros(len(trace.valid_from), bool)
    first[trace.start[:-1]] = True
    np.testing.assert_array_equal(trace.valid_from[~first], world.at)
    assert (trace.valid_from[first] == START).all()
    assert trace.alive().all()
    changed = trace.content[1:] != trace.content[:-1]
    assert changed[~first[1:]].all()


@pytest.mark.parametrize("name", WITH_CONTENT)
def test_a_version_says_the_same_whatever_is_asked_beside_it(name):
    world = make(name)
    page = np.repeat(np.arange(len(world)), np.diff(world.start) + 1)
    version = np.arange(len(page)) - (world.start[:-1] + np.arange(len(world)))[page]
    order = np.random.default_rng(0).permutation(len(page))[:200]
    for said in (world.content.texts, world.content.links):
        everything = said(page, version)
        assert [everything[i] for i in order] == said(page[order], version[order])


def test_written_in_batches_as_at_once(monkeypatch, tmp_path):
    whole = read_trace(write(make("hubs"), tmp_path / "whole"))
    monkeypatch.setattr("recrawl.lab.worlds.files.BATCH", 97)
    parts = read_trace(write(make("hubs"), tmp_path / "parts"))
    np.testing.assert_array_equal(whole.valid_from, parts.valid_from)
    np.testing.assert_array_equal(np.diff(whole.links.start), np.diff(parts.links.start))


def test_the_readme_says_how_to_make_it_again(tmp_path):
    folder = write(make("leaders:follow=false"), tmp_path / "w")
    said = (folder / "README.md").read_text()
    command = "recrawl world leaders:follow=false,followers=4,heed=0.9,shape=1.0,mean=0.1,again=0.0,repeats=1"
    assert f"`{command} --pages 300 --days 60 --seed 1`" in said
    assert "Window: 2026-01-01T00:00:00Z .. 2026-03-02T00:00:00Z\n" in said


def test_poisson_pages_change_at_their_rates():
    world = make("poisson", pages=3_000, days=100)
    counts, expected = np.diff(world.start), 100 * world.truth["rate"]
    z = (counts - expected)[expected > 1] / np.sqrt(expected[expected > 1])
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert 0.85 < z.var() < 1.15  # of a Poisson count: 1
    assert world.truth["rate"].mean() == pytest.approx(0.1, rel=0.1)


def test_announced_changes_are_those_of_poisson_and_as_many_as_it_says():
    world = make("announced:recall=0.7,noise=0.05", pages=1_000)
    plain = make("poisson", pages=1_000)
    np.testing.assert_array_equal(world.at, plain.at)
    page, at = world.announced.page, world.announced.at
    first = at == START
    assert sorted(page[first].tolist()) == list(range(1_000))  # a sitemap names every page
    said = set(zip(page[~first].tolist(), at[~first].tolist(), strict=True))
    true = set(zip(world.page.tolist(), world.at.tolist(), strict=True))
    assert len(said & true) / len(true) == pytest.approx(0.7, abs=0.02)
    assert len(said - true) / (1_000 * 60) == pytest.approx(0.05, rel=0.1)


def test_a_replay_reads_the_last_claim_of_each_cycle(tmp_path):
    folder = write(make("announced:recall=1,noise=0,mean=0.5"), tmp_path / "w")
    trace = read_trace(folder)
    begin = trace.window[0]
    read = trace.claims.read(trace.urls, begin + DAY, begin + 3 * DAY)
    found = dict(zip(read["url"].to_pylist(), read["said"].cast("int64").to_pylist(), strict=True))
    expected = {}
    for page, at in zip(trace.page.tolist(), trace.valid_from.tolist(), strict=True):
        if begin + DAY < at <= begin + 3 * DAY:
            expected[trace.urls[page]] = at * 1e6  # in the order of time, so the last stays
    assert found == expected
    assert set(read["seen"].cast("int64").to_pylist()) == {(begin + 3 * DAY) * 1e6}
    half = np.arange(len(trace)) % 2 == 0
    some = trace.take(half)
    assert some.claims.read(some.urls, begin + DAY, begin + 3 * DAY).num_rows == sum(
        url in set(some.urls) for url in expected
    )


def test_perfect_claims_make_every_fetch_find_a_change(tmp_path):
    trace = read_trace(write(make("announced:recall=1,noise=0,mean=0.05"), tmp_path / "w"))
    found = {
        signals: summary(
            daily(trace, replay(trace, "freshness", Budget(fetches=8), signals=signals))
        )
        for signals in (True, False)
    }
    assert found[True]["change_ratio"] > 0.95
    assert found[True]["freshness"] > found[False]["freshness"] + 0.05
    assert found[False]["change_ratio"] < 0.7


@pytest.mark.parametrize(("name", "least", "most"), [("bursty", 1.8, 2.6), ("poisson", 0.9, 1.1)])
def test_gaps_of_bursty_pages_vary_more_than_by_chance(name, least, most):
    world = make(f"{name}:shape=100,mean=1", pages=200, days=400)
    gaps = np.diff(world.at)[np.diff(world.page) == 0]
    assert least < gaps.std() / gaps.mean() < most
    assert len(world.at) == pytest.approx(200 * 400, rel=0.05)  # in full swing from the beginning


def test_weekly_pages_rest_at_weekends():
    world = make("weekly", pages=2_000, days=70)
    weekday = ((world.at - START) // DAY + 3).astype(int) % 7  # 2026-01-01 was a Thursday
    counts = np.bincount(weekday, minlength=7)
    assert counts[5:].mean() / counts[:5].mean() == pytest.approx(0.1, rel=0.2)
    assert counts[:5].min() > 0.85 * counts[:5].max()


def test_releases_change_directories_together():
    world = make("releases", pages=1_200, days=90)
    bits, directory = world.bits().astype(float), world.truth["directory"]
    size = np.bincount(directory)
    changed = np.zeros((len(size), 90))
    np.add.at(changed, directory, bits)
    pairs = (size * (size - 1)).sum() * 90
    together = (changed * (changed - 1)).sum() / pairs
    assert together > 10 * bits.mean() ** 2  # what independent pages would show
    whole = (changed == size[:, None]) & (size[:, None] > 5)
    assert whole.sum() > 100


def test_followers_change_one_to_three_days_after_their_leader():
    found = {}
    for follow in ("true", "false"):
        world = make(f"leaders:follow={follow}", pages=1_000, days=120)
        bits, leader = world.bits().astype(float), world.truth["leader"]
        follower = np.flatnonzero(leader != np.arange(1_000))
        soon = np.max([bits[follower][:, lag : 117 + lag] for lag in (1, 2, 3)], axis=0)
        found[follow] = lifted(bits[leader[follower]][:, :117], soon)
        reverse = np.max([bits[leader[follower]][:, lag : 117 + lag] for lag in (1, 2, 3)], axis=0)
        assert abs(lifted(bits[follower][:, :117], reverse)) < 0.1  # leaders follow nobody
    assert found["true"] > 0.4
    assert abs(found["false"]) < 0.03


def test_following_nobody_leaves_the_rates_as_they_were():
    pair = [make(f"leaders:follow={f}", pages=5_000, days=120) for f in ("true", "false")]
    for world in pair:
        counts, expected = np.diff(world.start), 120 * world.truth["rate"]
        # Followers of one leader share its luck: up to 5 changes come as one.
        assert abs((counts - expected).sum()) < 4 * np.sqrt(5 * expected.sum())
    np.testing.assert_array_equal(pair[0].truth["rate"], pair[1].truth["rate"])
    assert list(pair[0].urls) == list(pair[1].urls)


def test_pages_of_a_topic_share_its_words():
    world = make("leaders", pages=100)
    page = np.arange(100)
    words = [set(text.split()) for text in world.content.texts(page, page * 0)]
    alike = np.array([[len(a & b) / len(a | b) for b in words] for a in words])
    same = world.truth["topic"][:, None] == world.truth["topic"]
    np.fill_diagonal(alike, np.nan)
    assert np.nanmin(alike[same]) > np.nanmax(alike[~same])


def test_hubs_only_grow():
    world = make("hubs")
    page = world.page
    version = np.arange(len(page)) - world.start[page]
    before = world.content.links(page, version)
    after = world.content.links(page, version + 1)
    assert all(set(old) < set(new) for old, new in zip(before, after, strict=True))
    assert all(len(set(links)) == len(links) for links in after)


def test_hubs_of_a_topic_grow_in_the_same_weeks():
    world = make("hubs", pages=400, days=140)
    weeks = world.bits().reshape(400, 20, 7).sum(axis=2).astype(float)
    topic = world.truth["topic"]
    total = np.zeros((topic.max() + 1, 20))
    np.add.at(total, topic, weeks)
    assert lifted(weeks, total[topic] - weeks) > 0.3
    other = (topic + 1) % (topic.max() + 1)
    assert abs(lifted(weeks, total[other])) < 0.1


def test_flapping_pages_return_to_what_they_said():
    world = make("flapping")
    page = world.page
    nth = np.arange(len(page)) - world.start[page] + 1
    page, nth = page[nth >= 2], nth[nth >= 2]
    now, before, earlier = (np.array(world.content.texts(page, nth - back)) for back in (0, 1, 2))
    flaps = world.truth["flaps"][page]
    assert (now != before).all()
    assert np.mean(now[flaps] == earlier[flaps]) == pytest.approx(0.9**2, abs=0.03)
    assert not (now[~flaps] == earlier[~flaps]).any()


def test_brdc_has_the_proportions_of_the_thesis(tmp_path):
    world = make("brdc", pages=40_000, days=57)
    chance, bits = world.truth["chance"], world.bits()
    assert np.mean(chance == 0) == pytest.approx(0.75, abs=0.01)
    assert np.mean(chance >= 0.7) == pytest.approx(0.05, abs=0.005)
    rest = chance[(chance > 0) & (chance < 0.7)]
    assert rest.mean() == pytest.approx(0.5 / 4.5, abs=0.005)
    np.testing.assert_allclose(bits.mean(axis=0), chance.mean(), atol=0.006)
    assert not bits[chance == 0].any()
    lines = (write(world, tmp_path / "w") / "bits.txt").read_text().splitlines()
    assert (len(lines), {len(line) for line in lines}) == (40_000, {57})
    assert lines[5] == "".join(map(str, bits[5]))


@pytest.mark.slow
def test_a_policy_that_knows_poisson_beats_chance_on_poisson_pages(tmp_path):
    trace = read_trace(write(make("poisson", pages=500, days=50), tmp_path / "w"))
    runs = {
        policy: replay(trace, policy, units.budget("5%"))
        for policy in ("poisson", "oldest", "random")
    }
    ratio = {policy: summary(daily(trace, run))["change_ratio"] for policy, run in runs.items()}
    assert ratio["poisson"] > ratio["oldest"] > ratio["random"]
    waits = {
        policy: np.diff(np.sort(run.page * 1_000 + run.cycle))[
            np.diff(np.sort(run.page)) == 0
        ].max()
        for policy, run in runs.items()
    }
    assert waits["oldest"] == 20  # a 20th of the pages a day: nobody can promise less
    assert min(waits, key=waits.get) == "oldest"


def test_a_1_on_day_1_is_seen_by_the_first_warm_up_visit(tmp_path):
    file = tmp_path / "three.txt"
    file.write_text("1000\n0000\n0011\n")
    trace = read_bits(file, start=0.0)
    assert (trace.name, trace.window) == ("three", (0.0, 4 * DAY))
    assert list(trace.urls) == [f"http://page-{i}.invalid/" for i in (1, 2, 3)]
    assert trace.valid_from.tolist() == [0.0, DAY, 0.0, 0.0, 3 * DAY, 4 * DAY]
    run = daily(trace, replay(trace, "oldest", units.budget("3"), warm_up=0))
    assert run.changed.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "must begin with a line of 0s and 1s"),
        (b"\n010\n", "must begin with a line of 0s and 1s"),
        (b"010\n01\n", "line 2: every line must have as many days as the first, 3. Got 2"),
        (b"010\n\n011", "line 2: every line must have as many days as the first, 3. Got 0"),
        (b"010\n0101010\n", "line 2: every line must have as many days as the first, 3. Got 7"),
        (b"0 1 0\n", "line 1: a day must be 0, 1, or . if its visit failed. Got ' '"),
        (b"010\n012\n", "line 2: a day must be 0, 1, or . if its visit failed. Got '2'"),
    ],
)
def test_bit_strings_that_are_none_are_refused(data, says, tmp_path):
    (tmp_path / "bits.txt").write_bytes(data)
    with pytest.raises(BadInput, match=says):
        read_bits(tmp_path)


def test_bit_strings_from_windows_and_without_last_newline(tmp_path):
    (tmp_path / "bits.txt").write_bytes(b"010\r\n111")
    assert np.diff(read_bits(tmp_path).start).tolist() == [2, 4]
    with pytest.raises(BadInput, match=r"or a folder with bits\.txt"):
        read_bits(tmp_path / "none")


@pytest.mark.parametrize(
    ("written", "size", "says"),
    [
        ("poisson", {"pages": 0}, "pages must be 1 or more. Got 0"),
        ("brdc", {"days": 0}, "days must be 1 or more. Got 0"),
        ("poisson", {"pages": 10, "days": 10**8}, "pages times days must be at most 500,000,000"),
        ("poisson", {"seed": -1}, "seed must be 0 or more. Got -1"),
        ("poisson:mean=0", {}, "mean must be a number above 0. Got 0"),
        ("poisson:mean=lots", {}, "mean must be a number. Got 'lots'"),
        ("bursty:burst=2", {}, "burst must be from 0.2 to 1. Got 2"),
        ("weekly:weekend=2", {}, "weekend must be from 0 to 1. Got 2"),
        ("leaders:follow=no", {}, "follow must be true or false. Got 'no'"),
        ("leaders:followers=1.5", {}, "followers must be a whole number. Got 1.5"),
        ("brdc:still=0.99", {}, "still_and_busy must be from 0 to 1. Got 1.04"),
    ],
)
def test_worlds_that_cannot_be_are_refused(written, size, says):
    with pytest.raises(BadInput, match=says):
        make(written, **size)


def test_a_world_writes_over_nothing(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(BadInput, match="must be new or empty"):
        write(make("poisson"), tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine"


def test_a_world_in_which_nothing_changes_can_be_written(tmp_path):
    world = make("poisson:mean=1e-12", pages=5)
    assert not len(world.at)
    assert len(read_trace(write(world, tmp_path / "w")).valid_from) == 5


@pytest.mark.slow
def test_the_demo_log_is_printed_by_the_package():
    done = subprocess.run(
        [sys.executable, "-m", "recrawl.lab.worlds"], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith('{"url": "https://')
    assert len(lines) > 30_000


@pytest.mark.parametrize(("repeats", "least", "most"), [(1, 0.0, 0.0), (5, 0.99, 1.0)])
def test_changes_are_significant_where_words_are_repeated(repeats, least, most):
    """A word that a version has r times, and the next not at all, adds r to the χ² statistic.

    The degrees of freedom are the number of distinct words less 1, so words that come once each
    are never significant, and 12 words that come 5 times among 40 others always are.
    """
    from recrawl.detectors.chi_squared import ChiSquared

    world = make(f"leaders:repeats={repeats}", pages=100)
    page = np.arange(100)
    before, after = (
        pa.table({"text": world.content.texts(page, page * 0 + edition)}) for edition in (0, 1)
    )
    assert least <= np.mean(ChiSquared().changed(before, after).to_pylist()) <= most
