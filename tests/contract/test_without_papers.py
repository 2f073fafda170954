"""The core works without the wings of papers: their folder deleted, announced or not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

import pytest

import recrawl

pytestmark = pytest.mark.slow
SMALL = Path(__file__).parents[1] / "golden" / "small"
CHECKS = """
from recrawl import registry
from recrawl.checks import yield_checks

assert "papers" not in str(sorted(registry.parts("policy").values(), key=str))
for kind in registry.GROUPS:
    assert registry.parts(kind), kind
    for part in registry.parts(kind).values():
        for rule in yield_checks(kind):
            rule(part())
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package without papers/, with metadata of its own that still announces them."""
    site = tmp_path_factory.mktemp("without-papers")
    ignored = shutil.ignore_patterns("papers", "__pycache__")
    shutil.copytree(Path(recrawl.__file__).parent, site / "recrawl", ignore=ignored)
    info = site / "recrawl-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: recrawl\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(distribution("recrawl").read_text("entry_points.txt"))
    return site


def run(site: Path, *words: object) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, *map(str, words)], cwd=site, env=env, capture_output=True, text=True
    )


def commands(site: Path) -> str:
    """What the commands write to standard error; all of them succeed."""
    pages = [f'{{"url": "https://h.example/{page}"}}\n' for page in range(9)]
    (site / "urls.jsonl").write_text("".join(pages))
    said = ""
    for line in (
        "--help",
        "parts",
        "paper --help",
        "ingest store urls.jsonl",
        "plan store --budget 3",
        f"replay {SMALL} --policy poisson --budget 4%",
    ):
        done = run(site, "-m", "recrawl", *line.split())
        assert done.returncode == 0, (line, done.stderr)
        said += done.stderr
    return said


def test_the_wings_announced_but_deleted_are_warnings(copy):
    said = commands(copy)
    assert "recrawl.papers.santos.policies of recrawl 0.1.0 could not be imported" in said
    assert "The paper santos could not be imported" in said
    assert "Traceback" not in said


def test_without_the_wings_every_part_of_the_core_keeps_its_contract(copy):
    entries = copy / "recrawl-0.1.0.dist-info" / "entry_points.txt"
    entries.write_text(re.sub(r".*recrawl\.papers\..*\n", "", entries.read_text()))
    assert "papers" not in commands(copy)
    done = run(copy, "-c", CHECKS)
    assert done.returncode == 0, done.stderr
