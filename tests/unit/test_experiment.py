"""The runner of experiments: interrupted, with other settings, with damaged files."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import experiment_tasks
from experiment_tasks import halves, square, squares
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment


def runs(log):
    return [int(line) for line in log.read_text().split()]


@pytest.mark.parametrize("processes", [1, 2])
def test_results_come_in_the_order_of_the_tasks_and_are_kept(tmp_path, processes):
    log, reported = tmp_path / "log", []
    results = run_experiment(
        squares(log),
        tmp_path / "kept",
        shared="shared",
        processes=processes,
        progress=lambda *news: reported.append(news),
        describe=lambda key, result: f"{key}: {result['square']}",
    )
    assert list(results) == [f"number {i}" for i in range(5)]
    assert results["number 3"] == {"square": 9, "shared": "shared"}
    assert [(done, total) for done, total, _ in reported] == [(i, 5) for i in range(6)]
    assert "number 4: 16" in [text for *_, text in reported]
    assert sorted(runs(log)) == [0, 1, 2, 3, 4]
    assert run_experiment(squares(log), tmp_path / "kept") == results
    assert len(runs(log)) == 5


def test_a_killed_experiment_continues(tmp_path):
    command = [sys.executable, experiment_tasks.__file__, tmp_path / "log", tmp_path / "kept"]
    killed = subprocess.run(command, check=False)
    assert killed.returncode == -9
    assert runs(tmp_path / "log") == [0, 1, 2]
    results = run_experiment(squares(tmp_path / "log"), tmp_path / "kept")
    assert runs(tmp_path / "log") == [0, 1, 2, 3, 4]
    assert [result["square"] for result in results.values()] == [0, 1, 4, 9, 16]


def test_other_settings_make_other_files(tmp_path):
    log = tmp_path / "log"
    run_experiment(squares(log, "a"), tmp_path / "kept")
    run_experiment(squares(log, "b"), tmp_path / "kept")
    assert len(runs(log)) == 10
    assert len(list((tmp_path / "kept").iterdir())) == 10


@pytest.mark.parametrize("damage", [b"", b'{"square": ', b"\xff\xfe"])
def test_a_damaged_file_is_made_again(tmp_path, damage):
    log, kept = tmp_path / "log", tmp_path / "kept"
    results = run_experiment(squares(log), kept)
    (kept / "a-number-2.json").write_bytes(damage)
    assert run_experiment(squares(log), kept) == results
    assert runs(log) == [0, 1, 2, 3, 4, 2]


@pytest.mark.parametrize("length", [0, 10, 400])
def test_arrays_are_kept_as_npz(tmp_path, length):
    task = ExperimentTask("halves", digest(np.arange(3)), halves, (7,), "npz")
    first = run_experiment([task], tmp_path)["halves"]
    file = task.file(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    again = run_experiment([task], tmp_path)["halves"]
    np.testing.assert_array_equal(first["halves"], np.arange(7) / 2)
    np.testing.assert_array_equal(again["halves"], first["halves"])
    assert int(again["size"]) == 7


def test_digests_tell_arrays_apart():
    parts = [np.arange(4), np.arange(4.0), np.arange(4).reshape(2, 2), [0, 1, 2, 3]]
    assert len({digest(part) for part in parts}) == len(parts)
    assert digest("ab", "c") != digest("a", "bc")


def test_keys_must_differ(tmp_path):
    twice = [ExperimentTask("a b", "x", square), ExperimentTask("a/b", "x", square)]
    with pytest.raises(ValueError, match="different keys"):
        run_experiment(twice, tmp_path)
