"""What the README promises for a plain install works from the wheel, in an empty environment."""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from plain_install import ROOT, build_wheel, make_environment

if TYPE_CHECKING:
    from pathlib import Path


#: Tests of the core that need no extra.
CORE_TESTS = [
    "tests/contract/test_parts.py",
    "tests/unit/ingest",
    "tests/unit/test_store.py",
    "tests/unit/test_rates.py",
    "tests/unit/test_explain.py",
    "tests/unit/test_urls.py",
    "tests/unit/test_html.py",
]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain")
    wheel = build_wheel(folder)
    return make_environment(
        folder / "venv", wheel, "pytest", "hypothesis", "zstandard", "selectolax"
    )


def run(python: Path, *words: str, cwd: Path = ROOT, status: int = 0) -> str:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "COV", "PYTEST"))}
    done = subprocess.run(
        [python, *words], cwd=cwd, env=env | {"NO_COLOR": "1"}, capture_output=True, text=True
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_extras_are_not_there(python):
    found = run(python, "-c", "import importlib.util as u; print([m for m in "
                "('sklearn', 'matplotlib', 'jinja2', 'scrapy', 'tantivy', 'lightgbm', 'protego') "
                "if u.find_spec(m)])")  # fmt: skip
    assert found.strip() == "[]"


def test_the_commands_of_the_readme(python, tmp_path):
    (tmp_path / "crawl.jsonl").write_text(run(python, "-m", "recrawl.lab.worlds"))
    at = ["--now", "2026-03-03"]
    recrawl = ["-m", "recrawl"]
    assert "32,862 visits added" in run(
        python, *recrawl, "ingest", "s", "crawl.jsonl", cwd=tmp_path
    )
    plan = run(python, *recrawl, "plan", "s", "--budget", "8", *at, cwd=tmp_path)
    best = [json.loads(line) for line in plan.splitlines() if line.startswith("{")]
    assert len(best) == 8
    url = best[0]["url"]
    assert "rank 1 of 2,000" in run(python, *recrawl, "explain", "s", url, *at, cwd=tmp_path)
    assert "2,000" in run(python, *recrawl, "info", "s", cwd=tmp_path)
    assert "auto" in run(python, *recrawl, "parts")
    run(python, *recrawl, "world", "hubs", "--pages", "50", "--days", "20", "-o", "w", cwd=tmp_path)
    assert "auto" in run(python, *recrawl, "replay", "w", "--policy", "auto", cwd=tmp_path)


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["replay", str(ROOT / "tests/golden/small"), "--report", "r.html"], "lab"),
        (["search", "s", "words"], "search"),
        (["crawl", "s", "--seeds", "seeds.txt", "--budget", "5/day", "--cycles", "1"], "crawl"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_needs_an_extra_names_it(python, tmp_path, words, extra):
    (tmp_path / "seeds.txt").write_text("https://a.example/\n")
    (tmp_path / "v.jsonl").write_text('{"url": "https://a.example/", "at": "2026-01-01"}\n')
    run(python, "-m", "recrawl", "ingest", "s", "v.jsonl", cwd=tmp_path)
    assert f"pip install 'recrawl[{extra}]'" in run(
        python, "-m", "recrawl", *words, cwd=tmp_path, status=1
    )


def test_the_core_tests(python):
    assert "100%" in run(python, "-m", "pytest", "-p", "no:cacheprovider", *CORE_TESTS)
