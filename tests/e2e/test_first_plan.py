"""A first plan on a new machine does not wait for what it does not need."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from benchmarks.startup import fill_store

#: All that a first plan compiles. Each takes 0.1 to 0.9 s: add one only if NumPy is too slow.
KERNELS = {
    "group_days._add_due", "group_days._add_up", "group_days._divide",
    "group_days._log_multiplier", "group_days._sum_until", "neighbourhood._evidence",
    "neighbourhood._offer", "neighbourhood._place", "neighbourhood._rates",
    "page_history._add_visits", "trees._add_visits", "trees._derivatives",
    "word_buckets._count_terms", "word_hashes._by_letter", "word_hashes._letter",
}  # fmt: skip
PLAN = """
import sys
import recrawl
chosen = recrawl.plan(recrawl.open(sys.argv[1]), 10, now=1_700_800_000)
assert len(chosen) == 10
print(*sys.modules)
"""
OBSERVE = """
import sys
from recrawl.adapters.scrapy import Addon
print(*sys.modules)
"""


def modules(program, *arguments, **settings):
    """The modules that a program of its own has imported in the end."""
    words = [sys.executable, "-c", program, *map(str, arguments)]
    ran = subprocess.run(
        words, env=os.environ | settings, capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


@pytest.mark.slow
def test_a_first_plan_compiles_and_imports_only_what_it_needs(tmp_path):
    fill_store(tmp_path / "store", 100)
    kernels = tmp_path / "kernels"
    loaded = modules(PLAN, tmp_path / "store", NUMBA_CACHE_DIR=str(kernels))
    compiled = [path.name.rsplit("-", 1)[0] for path in kernels.rglob("*.nbi")]
    assert set(compiled) == KERNELS
    assert len(list(kernels.rglob("*.nbc"))) == len(KERNELS)  # each for one signature
    assert "recrawl.auto.trees" in loaded
    assert not loaded & {"scipy.special", "scipy.optimize", "recrawl.search.impact"}


@pytest.mark.slow
def test_observing_with_scrapy_loads_no_planner():
    loaded = modules(OBSERVE)
    assert "recrawl.adapters.scrapy.revisits" in loaded
    assert not loaded & {"recrawl.planner.choose", "recrawl.auto.model", "faiss", "scipy.special"}
