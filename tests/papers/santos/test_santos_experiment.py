"""The experiment of the thesis: after a kill it continues and gives the same results."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recrawl.evolve.change_history import from_bits
from recrawl.evolve.presets import PRESETS
from recrawl.papers.santos.experiment import ThesisProtocol, santos
from recrawl.papers.santos.tables import tables

SCRIPT = """
import sys
from pathlib import Path
from test_santos_experiment import changes, protocol
from recrawl.papers.santos.experiment import santos
from time import perf_counter
if __name__ == "__main__":
    santos(changes(), Path(sys.argv[1]), protocol(), clock=perf_counter)
"""


def changes():
    random = np.random.default_rng(7)
    chance = random.choice([0.0, 0.1, 0.9], (400, 1))
    return from_bits(random.random((400, 20)) < chance)


def protocol():
    small = replace(PRESETS["thesis"], individuals=20, generations=3, kept=5)
    return ThesisProtocol(3, (111, 222), small)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    reports = []
    found = santos(
        changes(),
        tmp_path_factory.mktemp("whole"),
        protocol(),
        clock=time.perf_counter,
        progress=lambda *report: reports.append(report),
    )
    assert [done for done, of, _ in reports] == list(range(7))
    assert reports[0][2] == ""
    assert reports[-1][2]
    return found


def test_a_killed_experiment_continues(whole, tmp_path):
    folder = tmp_path / "killed"
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)],
        env={**os.environ, "PYTHONPATH": path},
        start_new_session=True,
    )
    for _ in range(600):
        if list(folder.glob("*.json")) or process.poll() is not None:
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = {file: file.read_bytes() for file in folder.glob("*.json")}
    assert done
    found = santos(changes(), folder, protocol(), clock=time.perf_counter)
    for file, content in done.items():
        assert file.read_bytes() == content  # not run again
    for ours, theirs in zip(found.runs, whole.runs, strict=True):
        assert (ours.fold, ours.seed) == (theirs.fold, theirs.seed)
        assert (ours.formulas, ours.train) == (theirs.formulas, theirs.train)
        assert (ours.validation, ours.simulated) == (theirs.validation, theirs.simulated)
    for name, days in whole.daily.items():
        np.testing.assert_array_equal(found.daily[name], days)


def test_the_tables(whole):
    text = tables(whole)
    for name in ("Table 4.2", "Table 4.3", "Table 4.4", "by day", "0.7094", "43,213"):
        assert name in text
    for name in ("SAD (code)", "AAD (code)", "GAD (code)", "GP4C sum (code)", "GP4C avg (code)"):
        assert f"| {name} |" in text
    assert whole.by_fold["GP4C best"].mean() > whole.by_fold["Rand"].mean()
    # NAD as GP4C's code has it ranks like t·X, which any evolved function is measured by.
    assert whole.daily["NAD (code)"].shape == (3, 18)
