"""The scripts that write docs/results.md and docs/choosing.md, on tiny traces."""

from __future__ import annotations

import pytest

from benchmarks import choose, replays, results
from recrawl import registry
from recrawl.lab.worlds import write


@pytest.fixture
def traces(tmp_path, monkeypatch):
    """Two small worlds in the place of the real traces, and few replays of them."""
    for name, seed in (("first", 1), ("second", 2)):
        world = registry.make("world", "bursty").make(pages=40, days=12, seed=seed)
        write(world, tmp_path / "traces" / name)
    for module in (replays, choose):
        monkeypatch.setattr(module, "TRACES", tmp_path / "traces")
    for module in (results, choose):
        monkeypatch.setattr(module, "PROCESSES", 1)
        monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
        monkeypatch.setattr(module, "SEEDS", 1)
    return tmp_path


@pytest.mark.slow
def test_the_results(traces, monkeypatch):
    few = {"FOLDER": traces / "kept", "CLASSIC": ["oldest", "poisson"], "LEARNED": ["links"]}
    rival = ("Poisson", "links", "poisson", "new_links_capped_per_fetch", ["5%"])
    for name, value in (few | {"BUDGETS": ["5%"], "RIVALS": [rival]}).items():
        monkeypatch.setattr(results, name, value)
    results.main()
    text = (traces / "page.md").read_text()
    assert "| | first | second |" in text
    assert text.count("| `poisson` |") == 2
    assert "| `links` | Poisson, `poisson` | new links capped per fetch |" in text
    assert len(list((traces / "kept").iterdir())) == 6


@pytest.mark.slow
def test_how_auto_was_chosen(traces, monkeypatch):
    monkeypatch.setattr("sys.argv", ["choose", str(traces / "kept")])
    small = {"SEEDS_IF_SMALL": 1, "PARTS": 1, "BUDGETS": ("1%", "2%"), "WORLDS": ("poisson",)}
    small |= {"WORLD": {"pages": 40, "days": 12, "seed": 5}, "TIGHT": ("first", "1%")}
    small |= {"CHOICES": ["auto", "fresh 0"], "AT_STAKE": ["fresh 0"], "LEFT_OUT": {}}
    small |= {"MODELS": (), "TRIED": ["oldest", "poisson", "auto", "fresh 0", choose.IN_ONE]}
    for name, value in small.items():
        monkeypatch.setattr(choose, name, value)
    choose.main()
    text = (traces / "page.md").read_text()
    assert "| fresh 0 |" in text
    assert "| left out | chosen | there | `auto` there |" in text


@pytest.mark.parametrize("variant", choose.TRIED)
def test_every_variant_of_auto_can_be_made(variant):
    with choose.altered(variant):
        pass
