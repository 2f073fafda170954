"""Features of pages and their network, now and before: known answers, and that nothing leaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from recrawl.errors import BadInput
from recrawl.model import Neighbours
from recrawl.papers.dang import families
from recrawl.papers.dang.crawls import Crawl, Interval, Snapshot
from recrawl.papers.dang.feature import around, average, change_rate, lag, table
from recrawl.papers.dang.meaning import meaning, merging
from recrawl.papers.dang.network import external_in_links, internal_in_links, rank, trust
from recrawl.papers.dang.page_features import (
    domain_depth,
    new_external,
    new_internal,
    path_depth,
    text_quality,
)

PAGES = 12


def crawl(random, n=PAGES):
    source, target = random.integers(0, n, (2, 3 * n))
    return Crawl(
        pa.array([f"https://www.a.example/{'x/' * (i % 3)}{i}" for i in range(n)]),
        *random.integers(1, 99, (6, n)).astype(float),
        source=source,
        target=target,
        inside=random.random(3 * n) < 0.5,
        trusted=np.array([0]),
        meaning=random.normal(size=(n, 20)),
    )


def look(seed=0, *, intervals=9, strict=True, days=7.0):
    random = np.random.default_rng(seed)
    between = [
        Interval(np.full(PAGES, days), *random.poisson(1.0, (2, PAGES)).astype(float))
        for _ in range(intervals)
    ]
    row = (np.arange(PAGES)[:, None] + np.arange(1, 4)) % PAGES
    near = Neighbours(row, random.random((PAGES, 3)))
    crawls = [crawl(random) for _ in range(intervals + 1)]
    return Snapshot(crawls, between, near, unit=days, strict=strict)


def everything(seen):
    kinds = [families.lbla(kind) for kind in families.COUNTS]
    own = families.dp(meaning=meaning(seen))
    return sum([families.SP, families.SN, own, families.dn(), *kinds], meaning(seen))


def test_families_are_the_papers():
    assert [len(f) for f in (families.SP, families.SN, families.dp(), families.dn())] == [
        7,
        13,
        7 * 8 + 2,
        3 * 8 + 2 + 2 * 8 + 2,
    ]
    assert {f.family for f in families.SN} == {"SN"}
    assert {f.family for f in families.dp()} == {"DP"}
    assert {f.family for f in families.dn()} == {"DN"}
    assert [f.name for f in families.dn(0)] == [
        "related_new_internal_rate",
        "related_new_external_rate",
    ]
    assert families.dp(0) == []
    with_meaning = families.dp(2, meaning(look()))
    assert len(with_meaning) == (7 + 20) * 2 + 2
    assert [f.name for f in with_meaning[:10:2]] == [
        "content_size-1",
        "text_size-1",
        "text_quality-1",
        "internal_links-1",
        "external_links-1",
    ]
    assert with_meaning[10].name == "meaning_0-1"
    assert {f.family for f in with_meaning} == {"DP"}


def test_look_back_look_around_has_nineteen_features():
    own = [*(f"new_internal-{back}" for back in range(1, 9)), "mean_new_internal-1..8"]
    names = [feature.name for feature in families.lbla("internal")]
    assert names == [*own, *(f"related_{name}" for name in own), "related_new_internal_rate"]
    assert [f.name for f in families.lbla_rate("external")] == ["related_new_external_rate"]


def test_every_feature_has_a_name_of_its_own():
    for features in (everything(look())[: 20 + 7 + 13 + 58 + 160 + 44], families.lbla("any")):
        assert len({feature.name for feature in features}) == len(features)


def test_strictly_nothing_of_the_interval_to_be_told_is_seen():
    before = look()
    random = np.random.default_rng(99)
    other = Interval(np.full(PAGES, 7.0), *random.poisson(50.0, (2, PAGES)).astype(float))
    after = replace(
        before,
        crawls=[*before.crawls[:-1], crawl(random)],
        intervals=[*before.intervals[:-1], other],
    )
    assert np.array_equal(
        table(before, everything(before)), table(after, everything(after)), equal_nan=True
    )
    as_in_paper = [replace(each, strict=False) for each in (before, after)]
    a, b = (table(each, everything(each)) for each in as_in_paper)
    moved = [f.name for f, x, y in zip(everything(before), a.T, b.T, strict=True) if (x != y).any()]
    assert "related_new_internal_rate" in moved
    assert "content_size" in moved
    assert "meaning_0" in moved
    assert "meaning_0-1" not in moved
    assert "new_internal-1" not in moved
    with pytest.raises(BadInput, match="history must be within"):
        new_internal.read(before, 0)


def test_depths():
    urls = {
        "https://www.domain.com/en/news/a/": (3, 2),
        "https://sub.domain.com": (0, 3),
        "https://sub.domain.com/": (0, 3),
        "http://wwwx.a.b.example:8080/p?q=/x/y": (1, 4),
    }
    seen = replace(look(), crawls=[replace(c, urls=pa.array(list(urls))) for c in look().crawls])
    found = zip(path_depth.read(seen, 0), domain_depth.read(seen, 0), strict=True)
    assert list(found) == list(urls.values())


def small(days, new, *, unit=1.0):
    """Two pages, each the other's only neighbour; a row an interval, and one to be told."""
    days, new = np.array(days, float), np.array(new, float)
    rows = [Interval(d, n, 2 * n) for d, n in zip(days, new, strict=True)]
    told = Interval(np.ones(2), np.full(2, np.nan), np.full(2, np.nan))
    near = Neighbours(np.array([[1], [0]]), np.array([[0.5], [2.0]]))
    return Snapshot((), [*rows, told], near, unit=unit)


def test_counts_are_by_exposure():
    seen = small([[2, 1], [4, 1]], [[6, 0], [0, 3]], unit=2.0)
    assert lag(new_internal, 2).read(seen, 0).tolist() == [6, 0]
    assert lag(new_external, 2).read(seen, 0).tolist() == [12, 0]
    assert average(new_internal, 2).read(seen, 0).tolist() == [2, 3]  # six in six days, 3 in 2
    assert change_rate(new_internal).read(seen, 0).tolist() == pytest.approx([1 / 3, 1])
    assert around(average(new_internal, 2)).read(seen, 0).tolist() == [3, 2]


def test_equal_intervals_give_shares_and_plain_counts():
    seen = small([[7, 7]] * 4, [[1, 0], [0, 0], [5, 0], [1, 2]], unit=7.0)
    assert change_rate(new_internal).read(seen, 0).tolist() == pytest.approx([0.75, 0.25])
    assert lag(new_internal, 1).read(seen, 0).tolist() == [1, 2]


def test_what_is_not_known_does_not_count():
    seen = small([[2, 1], [4, 1]], [[np.nan, np.nan], [8, np.nan]])
    assert average(new_internal, 2).read(seen, 0).tolist() == pytest.approx(
        [2, np.nan], nan_ok=True
    )
    found = around(average(new_internal, 2)).read(seen, 0)
    assert np.isnan(found[0])
    assert found[1] == 2
    nobody = replace(seen, near=Neighbours(np.full((2, 1), -1), np.zeros((2, 1))))
    assert np.isnan(around(average(new_internal, 2)).read(nobody, 0)).all()


def test_a_history_shorter_than_asked_for_is_refused():
    with pytest.raises(BadInput, match=r"within the 1 intervals that came before\. Got the one 2"):
        table(small([[1, 1]], [[1, 1]]), families.lbla("any", 2))
    alone = replace(small([], []), intervals=small([[1, 1]], [[1, 1]]).intervals[-1:])
    with pytest.raises(BadInput, match="must hold an interval before"):
        change_rate(new_internal).read(alone, 0)


def test_links_to_a_page_and_trust():
    one = replace(
        look().crawls[0],
        source=np.array([0, 1, 2, 2]),
        target=np.array([1, 2, 1, 3]),
        inside=np.array([True, True, False, True]),
    )
    seen = replace(look(), crawls=[one] * 10)
    assert internal_in_links.read(seen, 0)[:4].tolist() == [0, 1, 1, 1]
    assert external_in_links.read(seen, 0)[:4].tolist() == [0, 1, 0, 0]
    found = trust.read(seen, 0)
    assert found[4] == 0 < found[3] < found[1]
    found = rank.read(seen, 0)
    assert found[4] == found[0] < found[3] < found[1]


def test_quality_is_of_words_and_none_is_none():
    one = replace(look().crawls[0], words=np.array([0.0, 4]), distinct=np.array([0.0, 4]))
    seen = replace(look(), crawls=[one] * 10)
    assert text_quality.read(seen, 0).tolist() == [0, 2]


def test_meaning_joins_dimensions_that_point_the_same_way():
    random = np.random.default_rng(0)
    base = random.normal(size=(50, 20))
    twice = np.repeat(base, 2, axis=1).astype(np.float32)
    joined = twice @ merging(twice)
    assert joined.shape == (50, 20)
    order = [int(np.abs(base - column[:, None]).sum(axis=0).argmin()) for column in joined.T]
    assert sorted(order) == list(range(20))
    np.testing.assert_allclose(joined, base[:, order], atol=1e-5)


def test_few_dimensions_stay_and_empty_ones_go():
    assert merging(np.zeros((5, 9), np.float32)).shape == (9, 0)
    some = np.zeros((5, 4), np.float32)
    some[:, [1, 3]] = np.random.default_rng(0).normal(size=(5, 2))
    assert merging(some).tolist() == [[0, 0], [1, 0], [0, 0], [0, 1]]
    assert merging(some, groups=1).tolist() == [[0], [0.5], [0], [0.5]]


def test_what_a_page_was_about_is_of_the_crawl_before():
    seen = look()
    features = meaning(seen)
    assert len(features) == 20
    assert [feature.name for feature in features[:2]] == ["meaning_0", "meaning_1"]
    for back in (0, 3):
        column = lag(features[4], back).read(seen, 0)
        assert (column == seen.crawls[len(seen.crawls) - 2 - back].meaning[:, 4]).all()
    leaky = replace(seen, strict=False)
    assert (features[4].read(leaky, 0) == seen.crawls[-1].meaning[:, 4]).all()
