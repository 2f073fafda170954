"""K13: six pages of bit strings whose every cycle was worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.lab.bits import read_bits
from recrawl.lab.metrics import daily
from recrawl.lab.replay import replay
from recrawl.model import Budget

TOY = "111111\n101010\n000000\n001000\n010101\n000011\n"
BY_CYCLE = {
    "tx": [1, 0.5, 1, 1],
    "cho": [1, 0.5, 1, 0.5],
    "nad-text": [1, 1, 1, 1],
    "nad-code": [1, 0.5, 1, 1],
    "sad-text": [0.5, 1, 1, 0.5],
    "sad-code": [0.5, 1, 1, 0.5],
    "aad-text": [0.5, 1, 1, 1],
    "aad-code": [0.5, 1, 1, 0.5],
    "gad-text": [0.5, 1, 1, 0.5],
    "gad-code": [0.5, 1, 1, 0.5],
    "oldest": [1, 0.5, 1, 1],
}


@pytest.mark.parametrize("policy", BY_CYCLE)
def test_change_ratio_of_every_cycle(tmp_path, policy):
    (tmp_path / "bits.txt").write_text(TOY)
    trace = read_bits(tmp_path)
    run = daily(trace, replay(trace, policy, Budget(fetches=2), ties="id"))
    np.testing.assert_array_equal(run.changed / run.fetched, BY_CYCLE[policy])


def test_the_pages_picked(tmp_path):
    (tmp_path / "bits.txt").write_text(TOY)
    trace = read_bits(tmp_path)
    picks = {}
    for policy in ("tx", "oldest"):
        cycles = replay(trace, policy, Budget(fetches=2), ties="id")
        late = cycles.page[cycles.cycle > 2].reshape(-1, 2)
        picks[policy] = ["".join(map(str, sorted(pair))) for pair in late]
    assert picks == {"tx": ["01", "01", "04", "01"], "oldest": ["01", "23", "45", "01"]}
