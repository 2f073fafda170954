"""Figure 8: the pages that it crawls, what it measures, and its tests of differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import daily_trace

from recrawl.errors import BadInput
from recrawl.lab.metrics import daily
from recrawl.lab.replay import replay
from recrawl.model import Budget
from recrawl.papers.radinsky import crawl
from recrawl.papers.radinsky.crawl import CrawlFreshness, difference_cells, verdict
from recrawl.papers.radinsky.data import PredictionProtocol

DAYS = 40
PROTOCOL = PredictionProtocol(alpha=0.3, n=10, days=10, k=2, detector="digest")


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Eight pages that flip every other day, half of them by one word of a hundred; four calm ones.

    The other half replaces 200 words: χ² = 4 · 100² / 100 = 400 with 101 degrees of freedom.
    """
    base = " ".join(f"same{i}" for i in range(100))

    def text(page, day):
        version = day // 2
        if page >= 8:
            return base
        if page % 2:
            return f"{base} word{version}"
        return " ".join(["news", "olds"][version % 2 : version % 2 + 1] * 200) + " " + base

    texts = {f"https://x.org/{p:02}": [text(p, day) for day in range(DAYS)] for p in range(12)}
    return daily_trace(tmp_path_factory.mktemp("web") / "trace", texts)


def crawled(trace, **options):
    return crawl.crawled_pages(trace, replace(PROTOCOL, **options))


def names(trace):
    return [int(url[-2:]) for url in trace.urls]


def test_the_crawl_obeys_alpha_pages_and_detector(trace):
    assert names(crawled(trace)) == list(range(8))
    assert names(crawled(trace, alpha=0.0)) == list(range(12))
    few = names(crawled(trace, pages=3))
    assert len(few) == 3
    assert set(few) < set(range(8))
    # One word in a hundred is no significant change: only the even pages flip.
    assert names(crawled(trace, detector="chi-squared")) == [0, 2, 4, 6]
    every = crawled(trace, detector="chi-squared", alpha=0.0)
    n_contents = [
        len(np.unique(every.content[every.start[i] : every.start[i + 1]])) for i in range(12)
    ]
    assert n_contents == [2, 1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1]
    status = trace.status.copy()
    status[trace.start[1:8] - 1] = 410  # seven of the eight are gone on the last day
    with pytest.raises(BadInput, match=r"Got 1; give a smaller --alpha"):
        crawled(replace(trace, status=status))


def test_freshness_by_page_adds_up_to_the_metric(trace):
    log = replay(trace, "oldest", Budget(share=crawl.BUDGET_SHARE))
    days, kept = daily(trace, log), crawl._replay(trace, "oldest", 0)
    np.testing.assert_allclose(kept["fresh"].mean(axis=0), days.fresh)
    assert 0.2 < days.fresh.mean() < 0.9
    assert kept["fresh"][8:].all()  # calm pages
    assert kept["found"] == pytest.approx(days.changed.sum() / days.fetched.sum())


def test_differences_over_pages_and_weeks():
    # Each page gains 0.5 on every other day: the mean over pages is certain, that of days nearly.
    gap = np.tile([0.0, 0.5], (30, 14))
    mean, over_pages, p, over_weeks, _ = difference_cells(gap)
    assert mean == "+0.2500"
    assert over_pages == "+0.2500 to +0.2500"
    assert float(p) < 0.001
    low, high = (float(end) for end in over_weeks.split(" to "))
    assert low < 0.25 < high
    assert high - low < 0.1
    assert verdict(gap) == "fresher than"
    assert verdict(-gap) == "less fresh than"
    # One page of thirty gains: another draw of pages may lack it, every week has it.
    one = np.zeros((30, 28))
    one[0] = 0.3
    _, over_pages, p, over_weeks, p_weeks = difference_cells(one)
    assert float(over_pages.split(" to ")[0]) <= 0
    assert float(p) > 0.1
    assert over_weeks == "+0.0100 to +0.0100"
    assert float(p_weeks) < 0.001
    assert verdict(one).startswith("neither")


def test_the_tables_of_figure_8():
    random = np.random.default_rng(0)
    fresh = {policy: random.random((20, 130)) < 0.5 for policy in crawl.POLICIES}
    fresh["coin:by=experts"] = np.ones((20, 130), bool)
    fresh = {policy: values.astype(float) for policy, values in fresh.items()}
    text = CrawlFreshness(fresh, dict.fromkeys(fresh, 0.25)).table()
    assert "Of 20 pages." in text
    assert "3D, `coin:by=experts` | 1.0000" in text
    assert "Experts: 3D keeps copies fresher than 2D." in text
    assert "Freshest is `coin:by=experts`, 1.0000" in text
    late = 1 - fresh["coin:by=content"][:, crawl.LATE :].mean()
    assert f"3D − 2D | from 101 | {late:+.4f}" in text
    assert text.count("| 3D − 2D |") == 2


def test_the_crawl_is_kept_and_averages_its_coins(trace, tmp_path, monkeypatch):
    monkeypatch.setattr(crawl, "POLICIES", ("coin", "oldest"))
    monkeypatch.setattr(crawl, "WORKERS", 1)
    reports = []
    freshness = crawl.replay_policies(
        trace, tmp_path, PROTOCOL, progress=lambda *report: reports.append(report[:2])
    )
    assert reports[-1] == (4, 4)  # three coins, one oldest-first
    assert freshness.fresh["oldest"].shape == (8, DAYS - 3)
    pages = crawled(trace)
    runs = [crawl._replay(pages, "coin", seed)["fresh"] for seed in range(3)]
    np.testing.assert_allclose(freshness.fresh["coin"], np.mean(runs, axis=0))
    assert not np.array_equal(runs[0], runs[1])
    other = crawl.replay_policies(trace, tmp_path, replace(PROTOCOL, alpha=0.0))
    assert other.fresh["oldest"].shape == (12, DAYS - 3)
