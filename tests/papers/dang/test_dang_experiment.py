"""The protocol of Dang et al.: on a world whose truth is known, whole, cut off, and on bad input."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from support import write_trace
from typer.testing import CliRunner

from experiment_tasks import Threads
from recrawl.cli import app
from recrawl.errors import BadInput
from recrawl.lab import experiment as runner
from recrawl.lab.learners import learner
from recrawl.lab.rankings import spearman
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds.files import write
from recrawl.lab.worlds.hubs import Hubs
from recrawl.lab.worlds.world import START
from recrawl.model import DAY
from recrawl.papers.dang import families, page, tuning
from recrawl.papers.dang.data import study
from recrawl.papers.dang.experiment import _run, _settings, dang
from recrawl.papers.dang.feature import lag, table
from recrawl.papers.dang.models import PAPER_NGBOOST, Experiment
from recrawl.papers.dang.tables import ModeResults, tables


@pytest.fixture(scope="module")
def world():
    return Hubs(mean=0.1).make(pages=300, days=70, seed=3)


@pytest.fixture(scope="module")
def trace(world, tmp_path_factory):
    return read_trace(write(world, tmp_path_factory.mktemp("world")))


@pytest.fixture(scope="module")
def data(trace):
    return study(trace)


def test_the_study_is_what_weekly_crawls_show(trace, data):
    assert len(data.snapshot.crawls) == 10
    assert len(data) == len(trace)
    end = trace.window[1]
    links = trace.links
    before, after = trace.live_at(end - 7 * DAY), trace.live_at(end)
    page = 17
    old = set(links.target[links.start[before[page]] : links.start[before[page] + 1]].tolist())
    new = set(links.target[links.start[after[page]] : links.start[after[page] + 1]].tolist())
    found = sum(data.count[kind][page] for kind in data.count)
    assert found == len(new - old)
    assert ((data.rate["external"] > 0) >= (data.count["external"] > 0)).all()


def test_with_one_interval_looking_around_tells_the_truth_better(world, data):
    """Hubs of a topic grow together: their last week says more of a hub than its own alone."""
    truth, half = world.truth["rate"], np.arange(len(data)) % 2 == 0
    target = data.snapshot.intervals[-1].new

    def agreement(features):
        x = table(data.snapshot, features)
        taught = learner("hist-boost", "count", max_iter=60).fit(x[half], target[half])
        return spearman(truth[~half], taught.predict(x[~half]))

    count = families.COUNTS["any"]
    own, both = agreement([lag(count, 1)]), agreement(families.lbla("any", 1))
    assert both > own + 0.05


def test_all_of_it_and_on_where_it_was_cut_off(data, tmp_path, quick):
    told = []
    found = dang(data, tmp_path, history=1, progress=lambda *now: told.append(now))
    assert told[-1][:2] == (18, 18)
    text = tables([ModeResults(data, found)])
    for title in ("Table 2", "Table 3", *(f"Figure {n}:" for n in (8, 9, 10, 12, 14, 15))):
        assert title in text
    assert "Figures 11 and 13" in text
    assert "LCR-ET_LBLA" in text
    marker = next(tmp_path.glob("*-external-rates-1.json"))
    marker.write_text(json.dumps(found["internal-rates-1"]))
    again = dang(data, tmp_path, history=1)
    assert again["external-rates-1"] == found["internal-rates-1"]
    assert again["external-rankings-2"] == found["external-rankings-2"]


def test_other_data_or_settings_are_another_experiment(data):
    def settings(study=data, **more):
        return _settings(Experiment(study, **more))

    def with_crawl(**changed):
        crawls = [replace(data.snapshot.crawls[0], **changed), *data.snapshot.crawls[1:]]
        return replace(data, snapshot=replace(data.snapshot, crawls=crawls))

    first = data.snapshot.crawls[0]
    others = [
        settings(history=1),
        settings(ngboost=PAPER_NGBOOST),
        settings(replace(data, changed=data.changed + 1)),
        settings(replace(data, snapshot=replace(data.snapshot, strict=False))),
        settings(with_crawl(words=first.words + 1)),
        settings(with_crawl(meaning=first.meaning + 1)),
    ]
    assert settings() == settings()
    assert len({settings(), *others}) == len(others) + 1


def test_the_command(world, tmp_path, quick):
    folder = write(world, tmp_path / "world")
    arguments = ["--history", "0", "--mode", "paper", "-o", str(tmp_path / "out")]
    ran = CliRunner().invoke(app, ["paper", "dang", str(folder), *arguments])
    assert ran.exit_code == 0, ran.output
    assert "NNL-ET_LBLA" in ran.output
    drawn = {file.stem for file in (tmp_path / "out").glob("*.svg")}
    by_kind = {f"figure-{n}-{kind}" for n in (3, 4, 15) for kind in ("internal", "external")}
    assert drawn == {*by_kind, "figure-5", "figure-8"}


def test_ngboost_as_in_the_paper(data):
    """500 steps of 0.01 on all features: the defaults of the library, which the paper took."""
    from inspect import signature

    from ngboost import NGBRegressor

    defaults = signature(NGBRegressor).parameters
    assert {name: defaults[name].default for name in PAPER_NGBOOST} == PAPER_NGBOOST
    made = learner("ngboost", "count", **PAPER_NGBOOST).learner
    assert (made.n_estimators, made.learning_rate, made.col_sample) == (500, 0.01, 1.0)


@pytest.mark.slow
def test_the_page(world, tmp_path, quick, monkeypatch):
    monkeypatch.setattr(page, "TRACE", write(world, tmp_path / "world"))
    monkeypatch.setattr(page, "RESULTS", tmp_path / "kept")
    monkeypatch.setattr(page, "HERE", tmp_path)
    page.main()
    text = (tmp_path / "dang.md").read_text(encoding="utf-8")
    assert "## What to make of it" in text
    assert "R², strict | R², paper mode" in text
    assert "(0.82)" in text
    linked = re.findall(r"\]\((dang-[\w-]+\.svg)\)", text)
    assert sorted(linked) == sorted(file.name for file in tmp_path.glob("*.svg"))
    assert len(linked) == 8
    for name in linked:
        ET.parse(tmp_path / name)
    rates = json.loads(next((tmp_path / "kept").glob("*-internal-rates-0.json")).read_text())
    assert rates["settings"]["max_iter"] in tuning.SIZES
    assert len(list((tmp_path / "kept").glob("*.json"))) == 2 * 18


def test_no_trace_no_page(tmp_path, monkeypatch):
    monkeypatch.setattr(page, "TRACE", tmp_path / "none")
    with pytest.raises(SystemExit, match="stays as it is"):
        page.main()


def test_a_window_too_short_for_the_history(trace):
    with pytest.raises(BadInput, match=r"must hold 10 crawls.*Got 3, 30 d apart"):
        study(trace, every=30 * DAY)


WINDOW = (START, START + 80 * DAY)


def still(folder, pages, *, links=()):
    rows = [
        (f"https://a.example/{i:03}", 0.0, 200, f"words {i} here", list(links))
        for i in range(pages)
    ]
    return write_trace(folder, rows)


def test_nothing_to_tell(tmp_path):
    few = read_trace(still(tmp_path, 5), WINDOW)
    with pytest.raises(BadInput, match="40 pages with text"):
        study(few)
    same = study(read_trace(still(tmp_path, 50), WINDOW))
    with pytest.raises(BadInput, match="0 of 50 with new internal ones"):
        dang(same, tmp_path)


def test_a_worker_limits_the_threads_of_libraries_that_its_first_step_loads(tmp_path):
    tasks = [runner.ExperimentTask(name, "", _run, ("count",)) for name in "ab"]
    counts = runner.run_experiment(tasks, tmp_path, shared=Threads(), processes=2)
    assert all(set(threads) == {1} for threads in counts.values())
