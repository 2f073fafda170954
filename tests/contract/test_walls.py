"""Truth cannot reach a policy: not by import, not by time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import recrawl
from recrawl.checks import check_policy

ROOT = Path(recrawl.__file__).parent.parent.parent


def test_a_policy_that_imports_the_lab_fails_the_import_contract(tmp_path):
    shutil.copytree(
        ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__")
    )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    sneaky = tmp_path / "src" / "recrawl" / "policies" / "sneaky.py"
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]

    def kept() -> bool:
        env = {"PYTHONPATH": str(tmp_path / "src"), "PATH": ""}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert "Contracts:" in done.stdout, done.stdout + done.stderr
        return done.returncode == 0

    assert kept()
    sneaky.write_text("from recrawl.lab.trace import read_trace\n")
    assert not kept()


class Prophet:
    """Scores by changes it cannot know of yet."""

    name = "prophet"

    def score(self, pages, now):
        past = pages.intervals()
        row = np.repeat(np.arange(len(pages)), np.diff(past.start))
        return np.bincount(row, past.changed, minlength=len(pages)).astype(float)

    def learn(self, history, pages, now):
        pass


def test_a_policy_that_reads_after_now_fails_its_check():
    with pytest.raises(AssertionError, match="later"):
        check_policy(Prophet())
