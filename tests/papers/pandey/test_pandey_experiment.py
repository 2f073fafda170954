"""The experiment on a small trace: both protocols, resumed, and as a command."""

from __future__ import annotations

import subprocess
import sys
from xml.dom import minidom

import numpy as np
import pytest
from support import write_trace

from recrawl.lab.traces import open_trace
from recrawl.model import DAY
from recrawl.papers.pandey.data import above_knee, prepare_study, title_workload
from recrawl.papers.pandey.experiment import POLICIES, TAUS, Trial, needed, pandey, rival
from recrawl.papers.pandey.tables import tables

BUDGETS = (0.1, 0.5, 1.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(3)
    words = [f"word{i}" for i in range(30)]
    rows = []
    for page in range(40):
        text = " ".join(rng.choice(words, 20))
        links = [f"https://a.example/{other:02}" for other in rng.integers(0, 40, 5)]
        for day in range(10):
            if rng.random() < (page % 4) / 6 and day:
                text = " ".join([*text.split()[5:], *rng.choice(words, 5)])
                rows.append((f"https://a.example/{page:02}", day, 200, f"{text}\nmore", links))
            elif not day:
                rows.append((f"https://a.example/{page:02}", day, 200, f"{text}\nmore", links))
    return write_trace(tmp_path_factory.mktemp("web") / "trace", rows)


@pytest.fixture(scope="module")
def experiment(folder, tmp_path_factory):
    trace = open_trace(folder)
    study = prepare_study(trace, title_workload(trace), every=DAY)
    kept = tmp_path_factory.mktemp("runs")
    return trace, study, kept, pandey(study, kept, budgets=BUDGETS)


def test_refreshing_all_pages_is_perfect_and_rivals_are_not_much_better(experiment):
    *_, runs = experiment
    for run in runs:
        if run.share == 1.0:
            assert run.way == pytest.approx(1.0), run
    raw = [r.way for r in runs if (r.mode, r.policy) == ("in-sample", "raw exact")]
    rival = [r.way for r in runs if (r.mode, r.policy) == ("in-sample", "staleness")]
    assert all(ours >= theirs - 0.05 for ours, theirs in zip(raw, rival, strict=True))
    assert np.isnan(needed(runs, "in-sample", "raw", 1.1))


def test_a_rival_has_its_best_threshold(experiment):
    _, study, _, runs = experiment
    trial = Trial.of(study, "split")
    best = next(
        r for r in runs if (r.mode, r.policy, r.share) == ("split", "staleness", BUDGETS[0])
    )
    assert best.refreshes == 4
    each = {tau: rival(trial, "staleness", tau, best.refreshes) for tau in TAUS}
    assert min(each.values()) < best.quality == each[best.tau] == max(each.values())


def test_queries_are_cut_at_the_knee_of_relevance():
    relevance = np.array([100.0, 90, 80, 70, 60, 0.001, 0.0005, 0.0])
    assert above_knee(relevance).tolist() == [True] * 5 + [False] * 3


def test_finished_runs_are_not_repeated(experiment):
    _, study, kept, runs = experiment
    files = {file: file.stat().st_mtime_ns for file in kept.glob("*.json")}
    # In-sample, the policy knows the tested cycles already: it has nothing to go on learning.
    assert len(files) == len(BUDGETS) * (2 * len(POLICIES) - 1)
    gone = next(iter(files))
    gone.unlink()
    assert pandey(study, kept, budgets=BUDGETS) == runs
    for file, at in files.items():
        assert (file.stat().st_mtime_ns == at) == (file != gone)


def test_the_tables(experiment):
    _, study, _, runs = experiment
    text = tables("web", study, runs)
    for said in ("in-sample: way", "split: way", "best τ", "refreshes a cycle for", "40 pages"):
        assert said in text


def test_the_command_draws_and_prints(folder, tmp_path):
    command = [
        sys.executable,
        "-m",
        "recrawl",
        "paper",
        "pandey",
        str(folder),
        "--queries",
        "titles",
    ]
    command += ["--every", "1d", "--budget", "10%", "--split", "--scoring", "inlinks", "-o", "runs"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "split: way" in done.stdout
    assert "in-sample" not in done.stdout
    minidom.parse(str(tmp_path / "runs" / "trace-titles-figure-3.svg"))  # it is XML
