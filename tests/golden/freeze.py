"""What every policy, rate and detector says today, written down so that a change of it is seen.

`python tests/golden/freeze.py` writes `frozen.json`; `test_frozen.py` compares with it. The
history is `frozen/visits.parquet`: 180 pages of three made-up webs, visited over 40 days, with
failures, answers 304 and pages that were never reached.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import recrawl
from recrawl import registry
from recrawl.lab.compare import compare
from recrawl.lab.traces import open_trace

HERE = Path(__file__).parent
FROZEN = HERE / "frozen.json"
VISITS = HERE / "frozen" / "visits.parquet"
QUERIES = HERE / "frozen" / "queries.tsv"
NOW = 1_767_225_600.0 + 41 * 86_400  # a day after the last visit


def policies() -> list[str]:
    """Every policy with its defaults, and those with arguments that matter."""
    coins = [f"coin:by={by}" for by in ("content", "experts", "mean-experts")]
    return [*sorted(registry.parts("policy")), *coins, f"user-centric:queries={QUERIES}"]


def detectors() -> list[str]:
    """Every detector with its defaults, and those whose defaults see no change here."""
    sensitive = ["chi-squared:alpha=0.9", f"relevance:queries={QUERIES}"]
    return [*sorted(registry.parts("detector")), *sensitive]


def label(policy: str) -> str:
    """The name of a policy without the folder that the tests lie in."""
    return policy.replace(str(HERE), "")


def scores(folder: Path) -> dict[str, Any]:
    """Scores, plans and reasons of each policy on a store, and what each rate says of its pages."""
    with recrawl.open(folder, create=True) as store:
        recrawl.ingest(store, [VISITS], now=NOW)
        pages = store.pages()
        order = np.argsort(np.array(pages.urls()))
        frozen: dict[str, Any] = {"rates": {}, "scores": {}, "plans": {}}
        for name in sorted(registry.parts("rate")):
            frozen["rates"][name] = registry.make("rate", name).rate(pages)[order].tolist()
        for name in policies():
            policy = registry.make("policy", name)
            policy.learn(store, store.pages(), NOW)
            frozen["scores"][label(name)] = policy.score(pages, NOW)[order].tolist()
            plan = recrawl.plan(store, "10%", now=NOW, policy=name)
            frozen["plans"][label(name)] = list(plan.records())
    return frozen


def verdicts() -> dict[str, list[bool | None]]:
    """What each detector says of each visit against the one before it in the file."""
    table = pq.read_table(VISITS)
    table = table.filter(table["text"].is_valid())
    before, after = table.slice(0, len(table) - 1), table.slice(1)
    same = np.flatnonzero(np.array(before["url"]) == np.array(after["url"]))
    before, after = before.take(pa.array(same)), after.take(pa.array(same))
    return {
        label(name): registry.make("detector", name).changed(before, after).to_pylist()
        for name in detectors()
    }


def replays() -> dict[str, dict[str, float]]:
    """Every number of a replay of the bundled trace, by policy."""
    names = policies()
    found = compare([open_trace(HERE / "small")], names, ["4%"])
    return {
        label(run["policy"]): {k: v for k, v in run.items() if isinstance(v, int | float)}
        for run in found.runs
    }


def freeze() -> dict[str, Any]:
    """All of it."""
    with tempfile.TemporaryDirectory() as folder:
        frozen = scores(Path(folder) / "store")
    return {**frozen, "detectors": verdicts(), "replays": replays()}


if __name__ == "__main__":
    FROZEN.write_text(json.dumps(freeze(), indent=0, allow_nan=True) + "\n")
