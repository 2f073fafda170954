"""Parts from outside: docs/adding-a-part.md followed to the letter, and what may go wrong."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import command
from typer.testing import CliRunner

import recrawl
from recrawl import registry
from recrawl.cli import app
from recrawl.errors import BadInput
from recrawl.lab.worlds import poisson_log

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "tests" / "golden" / "small"
PAGE = (ROOT / "docs" / "adding-a-part.md").read_text()
FILES = re.compile(
    r"`([\w-]+\.(?:py|toml))`[^`]*:\n\n```(?:python|ini)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
SHELL = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(line: str, folder: Path, *path: Path) -> subprocess.CompletedProcess[str]:
    """A line of shell in a folder, with `recrawl` and `pip` those of this Python."""
    line = line.replace("recrawl ", f"{sys.executable} -m recrawl ", 1)
    install = f"{sys.executable} -m pip install -q --no-build-isolation --no-deps --target site"
    line = line.replace("pip install", install, 1) if line.startswith("pip ") else line
    line = line.replace("PYTHONPATH=.", "", 1)  # `python -m` looks into the folder itself
    places = os.pathsep.join([*map(str, path), str(Path(recrawl.__file__).parents[1])])
    env = os.environ | {"PYTHONPATH": places}
    return subprocess.run(line, shell=True, cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    """A project far from the repository, with the page's files and a store."""
    folder = tmp_path_factory.mktemp("scratch")
    for name, content in FILES.findall(PAGE):
        (folder / name).write_text(content)
    table = poisson_log(pages=50, days=40, start=1_767_225_600.0, seed=1)
    log = "".join(json.dumps(row) + "\n" for row in table.to_pylist())
    assert "50 new pages" in command("ingest", folder / "my-crawl", "-", stdin=log).stderr
    return folder


def test_the_page_followed_to_the_letter(scratch):
    assert {path.name for path in scratch.iterdir()} == {
        "youngest.py",
        "pyproject.toml",
        "my-crawl",
    }
    lines = [line for block in SHELL.findall(PAGE) for line in block.splitlines()]
    assert len(lines) == 7
    printed = {}
    for line in lines:
        done = run(line, scratch, scratch / "site")
        assert done.returncode == 0, (line, done.stderr)
        printed[line] = done.stdout
        if " plan " in line:
            assert len(done.stdout.splitlines()) == 3
    plans = [
        [json.loads(row)["url"] for row in out.splitlines()]
        for line, out in printed.items()
        if " plan " in line and "half_life" not in line
    ]
    assert plans[0] == plans[1] == plans[2]
    assert re.search(r"policy +youngest +recrawl-youngest 1.0 +Visit first", printed[lines[5]])
    code = "import recrawl; recrawl.check(recrawl.make('policy', 'youngest'))"
    assert run(f'{sys.executable} -c "{code}"', scratch, scratch / "site").returncode == 0


def announce(folder: Path, name: str, entries: str) -> Path:
    """A package as it looks when installed: entry points in a dist-info folder."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(entries)
    return folder


def test_a_part_that_fails_to_import_or_has_a_name_that_is_taken_is_a_warning(scratch, tmp_path):
    site = announce(
        tmp_path,
        "broken",
        "[recrawl.policies]\nbad = broken_part\ntaken = taken_part\ngone = no_such_module\n"
        "[recrawl.papers]\nbroken = broken_part:command\n",
    )
    (site / "broken_part.py").write_text("raise RuntimeError('no luck')\n")
    methods = "def score(self, pages, now): ...\n    def learn(self, history, pages, now): ...\n"
    (site / "taken_part.py").write_text(f"class Mine:\n    name = 'poisson'\n    {methods}")
    done = run("recrawl parts policy", scratch, site)
    assert done.returncode == 0
    assert "poisson" in done.stdout
    assert "broken_part of broken 1.0 could not be imported" in done.stderr
    assert "no luck" in done.stderr
    assert "no_such_module" in done.stderr
    assert "'poisson' of broken 1.0 is left out" in done.stderr
    assert "Traceback" not in done.stderr
    papers = run("recrawl paper --help", scratch, site)
    assert papers.returncode == 0, papers.stderr
    assert "santos" in papers.stdout
    planned = run("recrawl plan my-crawl --policy poisson --budget 2", scratch, site)
    assert (planned.returncode, planned.stderr) == (0, "")


PARTS = """
import numpy as np

class HalfRate:
    name = "half"
    def rate(self, pages):
        return np.full(len(pages), 0.5)

class Longer:
    name = "longer"
    needs = ("bytes",)
    def changed(self, before, after):
        import pyarrow.compute as pc
        return pc.not_equal(before["bytes"], after["bytes"])

class Lines:
    name = "lines"
    def example(self):
        return b"https://h.example/1"
    def accepts(self, head, filename):
        return False
    def read(self, stream, source):
        import pyarrow as pa
        from recrawl import VISITS
        urls = [line.decode().strip() for line in stream]
        columns = {f.name: pa.nulls(len(urls), f.type) for f in VISITS} | {"url": pa.array(urls)}
        yield pa.table(columns, schema=VISITS)

class Two:
    name = "two"
    def make(self, pages=5, days=9, seed=0):
        from recrawl import make
        return make("world", "poisson").make(pages=pages, days=days, seed=seed)
"""


def test_every_kind_of_part_may_be_a_file(scratch, tmp_path):
    (scratch / "parts.py").write_text(PARTS)
    (scratch / "urls.txt").write_text("https://h.example/new\n")
    lines = (
        "recrawl plan my-crawl --policy freshness:rate=./parts.py --budget 3",
        "recrawl ingest other --format ./parts.py --detector ./parts.py:Longer urls.txt",
        "recrawl world ./parts.py -o world --pages 7",
        f"recrawl replay {SMALL} --detector ./parts.py --policy oldest",
    )
    for line in lines:
        done = run(line, scratch)
        assert done.returncode == 0, (line, done.stderr)


def test_a_store_does_not_choose_the_code_that_runs(scratch):
    """Only who opens it does: a store may come from somebody else."""
    (scratch / "parts.py").write_text(PARTS + "\nopen('ran', 'w').close()\n")
    (scratch / "urls.txt").write_text("https://h.example/new\n")
    ingest = "recrawl ingest chosen --format ./parts.py urls.txt"
    assert run(f"{ingest} --detector ./parts.py:Longer", scratch).returncode == 0
    (scratch / "ran").unlink()
    refused = run("recrawl info chosen", scratch)
    assert refused.returncode == 1
    assert "'./parts.py:Longer', which is not installed" in refused.stderr
    assert not (scratch / "ran").exists()
    assert run(f"{ingest} --detector ./parts.py:Longer", scratch).returncode == 0


def test_a_registered_name_must_be_free_and_the_class_a_part(monkeypatch):
    class Mine:
        name = "poisson"
        score = learn = lambda self, *_: None

    with pytest.raises(BadInput, match="which comes from recrawl"):
        recrawl.register(Mine)
    with pytest.raises(BadInput, match="has the methods of no kind"):
        recrawl.register(str)
    monkeypatch.setattr(Mine, "name", "mine")
    monkeypatch.setitem(registry._registered, "policy", {})
    assert recrawl.register(Mine) is Mine
    assert registry.parts_with_origin("policy")["mine"].origin == "registered"
    assert registry.outside_parts() is None  # no other process can import a class of a function


def test_the_list_shows_brackets_of_a_docstring(monkeypatch):
    class Brackets:
        """Reads [/b] as it is."""

        name = "brackets"
        score = learn = lambda self, *_: None

    monkeypatch.setitem(registry._registered, "policy", {})
    recrawl.register(Brackets)
    assert "Reads [/b] as it is." in CliRunner().invoke(app, ["parts", "policy"]).stdout


def test_what_is_wrong_with_a_file_or_module_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("bad.py").write_text("1 / 0\n")
    Path("two.py").write_text(PARTS + PARTS.replace("HalfRate", "Third").replace("half", "third"))
    for written, says in (
        ("./none.py", "No such file"),
        ("./bad.py", "ZeroDivisionError"),
        ("./two.py", "HalfRate, Third; write the name of the class after a colon"),
        ("./two.py:Nobody", "no class 'Nobody'"),
        ("./two.py:Lines", "must be a rate. It is a reader"),
        ("no.such.module:Rate", "could not be imported"),
    ):
        with pytest.raises(BadInput, match=re.escape(says)):
            registry.make("rate", written)
    assert registry.make("rate", "./two.py:Third").name == "third"


CLASS = """
class Newest:
    name = "newest"
    def __init__(self, *, sign: float = -1.0):
        self.sign = sign
    def score(self, pages, now):
        return self.sign * pages.days_since_visit(now)
    def learn(self, history, pages, now):
        pass
"""
SCRIPT = """
import json, sys, recrawl

if __name__ == "__main__":
    recrawl.register(Newest)
    from_file = recrawl.make("policy", "./newest.py:sign=2.0")
    policies = ["newest", Newest(sign=1.0), "./newest.py", from_file]
    runs = recrawl.replay(sys.argv[1:], policies, "4%")
    print(json.dumps([(run["trace"], run["policy"], run["change_ratio"]) for run in runs]))
"""


@pytest.mark.parametrize("first", [CLASS, "from newest import Newest\n"], ids=["script", "module"])
def test_registered_parts_objects_and_files_are_replayed_on_several_traces(tmp_path, first):
    """Another process can import the class from a module, but not from a script."""
    (tmp_path / "newest.py").write_text(CLASS)
    (tmp_path / "script.py").write_text(first + SCRIPT)
    shutil.copytree(SMALL, tmp_path / "copy")
    done = run(f"{sys.executable} script.py {SMALL} copy", tmp_path)
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)
    names = ["oldest", "newest", "newest:sign=1.0", "./newest.py", "newest:sign=2.0"]
    assert [(trace, policy) for trace, policy, _ in runs] == [
        (trace, policy) for trace in ("small", "copy") for policy in names
    ]
    ratios = {policy: ratio for _, policy, ratio in runs}
    assert ratios["newest"] == ratios["./newest.py"]
    assert ratios["newest:sign=1.0"] == ratios["newest:sign=2.0"]
