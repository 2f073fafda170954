"""The scripts that write docs/results.md and docs/choosing.md, whole, on small traces."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree

import pytest

from benchmarks import choose, replays, results
from recrawl import registry
from recrawl.checks.sample import NOW, SampleHistory, sample_pages
from recrawl.lab.worlds import write
from recrawl.papers.radinsky.live.vote import ExpertVote

BUNDLED = Path(__file__).parents[1] / "golden" / "small"


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """The bundled trace and a small world in the place of the real traces, one order of ties."""
    copytree(BUNDLED, tmp_path / "traces" / "bundled")
    world = registry.make("world", "bursty").make(pages=40, days=12, seed=1)
    write(world, tmp_path / "traces" / "world")
    for module in (replays, choose):
        monkeypatch.setattr(module, "TRACES", tmp_path / "traces")
    for module in (results, choose):
        monkeypatch.setattr(module, "PROCESSES", 1)
        monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
        monkeypatch.setattr(module, "SEEDS", 1)
    return tmp_path


def table_rows(text: str) -> int:
    return sum(line.startswith("| ") for line in text.splitlines())


@pytest.mark.slow
def test_the_results(traces, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", traces / "kept")
    results.main()
    text = (traces / "page.md").read_text()
    policies, budgets = results.CLASSIC + results.LEARNED, len(results.BUDGETS)
    assert "| | bundled | world |" in text
    for policy in policies:
        assert text.count(f"| `{policy}` | ") >= 2 * budgets
    for who, ours, theirs, metric, _ in results.RIVALS:
        assert f"| `{ours}` | {who}, `{theirs}` | {metric.replace('_', ' ')} |" in text
    tables = 2 * budgets * (1 + len(policies)) + budgets  # changes and links; changes have a limit
    assert table_rows(text) == tables + 1 + len(results.RIVALS)


def test_only_the_crawl_of_the_paper_has_its_name():
    theirs = {policy for who, _, policy, *_ in results.RIVALS if "Radinsky & Bennett" in who}
    assert theirs == {"coin:by=experts"}
    policy = registry.make("policy", theirs.pop())
    policy.learn(SampleHistory(sample_pages()), sample_pages(), NOW)
    assert isinstance(policy.forecaster_, ExpertVote)
    assert policy.forecaster_.k == 20


@pytest.mark.slow
def test_how_auto_was_chosen(traces, monkeypatch):
    monkeypatch.setattr("sys.argv", ["choose", str(traces / "kept")])
    small = {"SEEDS_IF_SMALL": 1, "PARTS": 1, "TIGHT": ("bundled", "1%")}
    small |= {"WORLD": {"pages": 40, "days": 12, "seed": 5}}
    for name, value in small.items():
        monkeypatch.setattr(choose, name, value)
    choose.main()
    text = (traces / "page.md").read_text()
    for variant in set(choose.TRIED) - {"oldest"}:  # oldest-first is 0 by definition
        assert f"\n| {variant} |" in text
    assert "| left out | chosen | there | `auto` there |" in text


@pytest.mark.parametrize("variant", choose.TRIED)
def test_every_variant_of_auto_can_be_made(variant):
    with choose.altered(variant):
        pass
