"""Every policy, rate and detector says what it said before; `freeze.py` writes what that is.

Text vectors are computed in 32 bits, and their last bits depend on the processor. So numbers may
differ by a millionth of themselves. The trees of `lbla` can split elsewhere then: only the order of
its scores is compared.
"""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest
from scipy.stats import spearmanr

spec = importlib.util.spec_from_file_location("freeze", Path(__file__).parent / "freeze.py")
freeze = importlib.util.module_from_spec(spec)
spec.loader.exec_module(freeze)
BY_ORDER = "lbla"


@pytest.fixture(scope="module")
def frozen():
    return json.loads(freeze.FROZEN.read_text())


def differences(now, before, where=""):
    """Where two nested values differ, numbers by more than 1e-6 of themselves."""
    if isinstance(before, dict):
        assert now.keys() == before.keys(), where
        pairs = ((now[key], before[key], f"{where}/{key}") for key in before)
    elif isinstance(before, list):
        assert len(now) == len(before), where
        pairs = ((a, b, f"{where}[{i}]") for i, (a, b) in enumerate(zip(now, before, strict=True)))
    elif isinstance(before, float) and math.isnan(before):
        return [] if math.isnan(now) else [(where, now, before)]
    elif isinstance(before, int | float):
        return [] if now == pytest.approx(before, rel=1e-6, abs=1e-300) else [(where, now, before)]
    else:
        return [] if now == before else [(where, now, before)]
    return [difference for pair in pairs for difference in differences(*pair)]


def test_scores_plans_and_rates(frozen, tmp_path):
    now, before = freeze.scores(tmp_path / "store"), {k: frozen[k] for k in ("scores", "plans")}
    orders = [said["scores"].pop(BY_ORDER) for said in (now, before)]
    assert spearmanr(*orders).statistic > 0.9
    assert len(now["plans"].pop(BY_ORDER)) == len(before["plans"].pop(BY_ORDER))
    assert not differences(now, before | {"rates": frozen["rates"]})


def test_detectors(frozen):
    assert not differences(freeze.verdicts(), frozen["detectors"])


def test_replays(frozen):
    now, before = freeze.replays(), dict(frozen["replays"])
    assert now.pop(BY_ORDER).keys() == before.pop(BY_ORDER).keys()
    assert not differences(now, before)
