"""Every policy, rate and detector says what it said before; `freeze.py` writes what that is."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest

spec = importlib.util.spec_from_file_location("freeze", Path(__file__).parent / "freeze.py")
freeze = importlib.util.module_from_spec(spec)
spec.loader.exec_module(freeze)


@pytest.fixture(scope="module")
def frozen():
    return json.loads(freeze.FROZEN.read_text())


def differences(now, before, where=""):
    """Where two nested values differ, numbers by more than 1e-9 of themselves."""
    if isinstance(before, dict):
        assert now.keys() == before.keys(), where
        pairs = ((now[key], before[key], f"{where}/{key}") for key in before)
    elif isinstance(before, list):
        assert len(now) == len(before), where
        pairs = ((a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(now, before, strict=True)))
    elif isinstance(before, float) and math.isnan(before):
        return [] if math.isnan(now) else [(where, now, before)]
    elif isinstance(before, int | float):
        return [] if now == pytest.approx(before, rel=1e-9, abs=1e-300) else [(where, now, before)]
    else:
        return [] if now == before else [(where, now, before)]
    return [difference for pair in pairs for difference in differences(*pair)]


def test_scores_plans_and_rates(frozen, tmp_path):
    assert not differences(
        freeze.scores(tmp_path / "store"), {k: frozen[k] for k in ("rates", "scores", "plans")}
    )


def test_detectors(frozen):
    assert not differences(freeze.verdicts(), frozen["detectors"])


def test_replays(frozen):
    assert not differences(freeze.replays(), frozen["replays"])
