"""Figure 3 and footnote 4 by hand; only pages that change; the page made whole."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support import write_trace

from recrawl.errors import BadInput
from recrawl.lab.traces import open_trace
from recrawl.model import DAY
from recrawl.papers.pandey import page as page_module
from recrawl.papers.pandey.data import SearchStudy, prepare_study
from recrawl.papers.pandey.experiment import Trial
from recrawl.papers.pandey.figures import NEARNESS, forecast
from recrawl.papers.pandey.forecasts import correlations, gains_of_halves, recency_weights
from recrawl.papers.pandey.tables import _forecast
from recrawl.search.matches import Matches
from recrawl.search.views import view_probabilities
from recrawl.search.workload import build_workload

GOLDEN = Path(__file__).parents[2] / "golden"


def study_of(changes, pages, cycles, every=DAY):
    """A study with these changes: cycle, page, gain."""
    cycle, page, gain = (np.array(column) for column in zip(*sorted(changes), strict=True))
    live = np.zeros((cycles + 1, pages), np.int32)
    no_matches = Matches(
        np.zeros(1, np.int64), np.empty(0, np.int32), np.empty(0), np.empty(0), np.arange(pages)
    )
    return SearchStudy(
        trace=SimpleNamespace(urls=[f"https://a.example/{i}" for i in range(pages)]),
        rows=np.arange(pages),
        live=live,
        matches=no_matches,
        p_view=view_probabilities(2),
        cycle=cycle,
        page=page,
        distance=np.ones(len(page)),
        gain=gain.astype(float),
        estimated_gain=gain.astype(float),
        every=every,
        workload=build_workload(["cat"], np.ones(1)),
        by="tfidf",
        volume=1.0,
        key="",
    )


def test_figure_3_divides_each_gain_by_the_days_since_the_update_before():
    changes = [(1, 0, 7), (2, 0, 14), (4, 0, 28), (3, 1, 21)]
    study = study_of(changes, pages=3, cycles=4, every=7 * DAY)
    first, second = gains_of_halves(study, study.gain)
    # Page 0: 7 a week, then 14 a week, each over one week; then 28 over two weeks, of 7 days each.
    assert first.tolist() == pytest.approx([(1 + 2) / 2, 0, 0])
    assert second.tolist() == pytest.approx([2, 1, 0])  # page 1: 21 over three weeks


def test_a_correlation_without_the_pages_that_never_gain_is_an_artefact():
    first, second = np.array([5.0, 0, 0, 0]), np.array([0, 5.0, 0, 0])
    counted = correlations(first, second)
    # Average ranks are 4 2 2 2 and 2 4 2 2: covariance −1, variances 3.
    assert counted["all"] == (4, pytest.approx(-1 / 3))
    assert counted["either"] == (2, pytest.approx(-1))
    assert counted["both"][0] == 0
    assert np.isnan(counted["both"][1])
    persistent = correlations(np.array([1.0, 2, 3, 0]), np.array([2.0, 4, 9, 0]))
    assert [n for n, _ in persistent.values()] == [4, 3, 3]
    assert [rho for _, rho in persistent.values()] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(
    ("recent", "a_day"),
    [
        ({}, (2 + 8) / 4),
        ({"window": 2}, 8 / 2),
        ({"half_life": 1.0}, (2 / 8 + 8) / (1 / 8 + 1 / 4 + 1 / 2 + 1)),
        ({"window": 1, "half_life": 1.0}, 8),
    ],
)
def test_recent_refreshes_may_count_more(recent, a_day):
    study = study_of([(1, 0, 2), (4, 0, 8)], pages=2, cycles=4)
    trial = Trial.of(study, "in-sample", **recent)
    assert trial.daily_gain(study.gain).tolist() == pytest.approx([a_day, 0])
    # In the split only cycles 1 and 2 are known.
    split = Trial.of(study, "split", window=1)
    assert split.daily_gain(study.gain).tolist() == [0, 0]


def test_what_is_said_of_forecasts():
    """Of the gain of the second half, 6 + 4, page 1 has 4, and it had none in the first."""
    study = study_of([(1, 0, 2), (3, 0, 6), (4, 1, 4)], pages=2, cycles=4)
    text = _forecast(replace(study, estimated_gain=np.array([-1.0, 5.0, 3.0])))
    assert "Of the exact gain of the second half 40% falls on pages with none in the first" in text
    assert text.endswith("change by change: 1.00; 33% of the estimates are below 0.")


def test_weights_of_recent_refreshes_must_be_possible():
    assert recency_weights(3).tolist() == [1, 1, 1]
    with pytest.raises(BadInput, match=r"half_life must be above 0 refreshes\. Got 0"):
        recency_weights(3, half_life=0.0)


def test_only_pages_that_change_and_links_from_all(tmp_path):
    urls = [f"https://a.example/{i}" for i in range(3)]
    rows = [
        (urls[0], 0, 200, "cat", [urls[1]]),
        (urls[1], 0, 200, "cat", []),
        (urls[1], 5, 200, "cat dog", []),
        (urls[2], 0, 200, "cat", [urls[1]]),
    ]
    trace = open_trace(write_trace(tmp_path / "t", rows))
    workload = build_workload(["cat", "dog"], np.ones(2))
    study = prepare_study(trace, workload, every=DAY, by="inlinks", changed=True)
    assert study.urls == [urls[1]]
    assert study.pages == 1
    assert study.matches.score.tolist() == [2, 2, 2]  # both copies hold cat, the second also dog
    assert (study.cycle.tolist(), study.page.tolist()) == ([5], [0])
    every = prepare_study(trace, workload, every=DAY, by="inlinks")
    assert (every.pages, len(every.matches.score)) == (3, 5)

    still = open_trace(write_trace(tmp_path / "still", rows[:2]))
    with pytest.raises(BadInput, match="At least one page must change"):
        prepare_study(still, workload, every=DAY, changed=True)


def test_figure_3_shows_pages_with_a_gain_in_either_half_by_distance_from_the_diagonal():
    drawn = forecast("page", np.array([1.0, 0, 0]), np.array([2.0, 3, 0]))
    assert [drawn.count(f"fill: {colour}") for colour in NEARNESS] == [1, 0, 0, 1]
    nothing = forecast("page", np.zeros(3), np.zeros(3))
    assert not any(f"fill: {colour}" in nothing for colour in NEARNESS)


@pytest.mark.slow
def test_the_whole_page_on_the_bundled_trace(tmp_path, monkeypatch):
    shutil.copytree(GOLDEN / "small", tmp_path / "traces" / "small")
    for name, value in {
        "SHARED": tmp_path,
        "QUERIES": GOLDEN / "frozen" / "queries.tsv",
        "HERE": tmp_path,
        "RESULTS": tmp_path / "runs",
        "TRACES": ("small",),
        "DRAWN": ("small",),
        "INDEXED": "small",
    }.items():
        monkeypatch.setattr(page_module, name, value)
    page_module.main()
    text = (tmp_path / "pandey.md").read_text()
    for heading in ("## Findings", "## Figure 2", "## Which past refreshes count", "## Results"):
        assert heading in text
    for title in ("titles queries", "scored by inlinks", "scored by inlinks, pages that change"):
        assert f"### small, general queries, {title}" in text or f"### small, {title}" in text
    drawn = {file.name for file in tmp_path.glob("*.svg")}
    for name in drawn:
        ET.parse(tmp_path / name)  # raises if it is no XML
    assert {name for name in drawn if f"]({name})" in text} == drawn
    assert "pandey-small-general-inlinks-changed-figure-3.svg" in drawn
    assert "nan" not in text.split("## Results")[0]
