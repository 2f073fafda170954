"""`recrawl` offers every command as a function, and nothing else; it is light to import."""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from support import command

import recrawl
from recrawl import cli, registry, units
from recrawl.errors import MissingExtra

HEAVY = {"numpy", "pyarrow", "duckdb", "numba", "scipy", "sklearn", "typer"}
SOURCE = Path(recrawl.__file__).parent
SMALL = Path(__file__).parents[1] / "golden" / "small"
NOW = "2026-03-03"


def imports(path: Path) -> list[ast.stmt]:
    tree = ast.parse(path.read_text())
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def test_the_names_are_those_that_type_checkers_see():
    static = {
        (alias.name, node.module)
        for node in imports(SOURCE / "__init__.py")
        if isinstance(node, ast.ImportFrom) and node.module.startswith("recrawl.")
        for alias in node.names
    }
    assert static == {(name, f"recrawl.{home}") for name, home in recrawl._HOMES.items()}
    assert sorted(recrawl.__all__) == sorted([*recrawl._HOMES, *recrawl._METHODS])


def test_dir_shows_public_names_only():
    shown = {name for name in dir(recrawl) if not name.startswith("__")}
    assert shown == set(recrawl.__all__)
    assert recrawl.__version__


def test_every_command_but_web_and_paper_is_a_function_of_that_name():
    commands = {each.callback.__name__ for each in cli.app.registered_commands}
    assert {name for name in commands if callable(getattr(recrawl, name, None))} == commands - {
        "web"
    }


def test_classes_are_from_recrawl_and_can_be_pickled():
    classes = [
        value for name in recrawl.__all__ if inspect.isclass(value := getattr(recrawl, name))
    ]
    assert len(classes) > 20
    for each in classes:
        assert each.__module__ == "recrawl"
        assert pickle.loads(pickle.dumps(each)) is each


@pytest.mark.slow
def test_a_function_keeps_its_place_when_the_folder_of_its_name_is_imported():
    code = (
        "import recrawl, recrawl.ingest, recrawl.crawl, recrawl.search.index, recrawl.evolve\n"
        "assert all(callable(f) for f in (recrawl.ingest, recrawl.crawl, recrawl.search, recrawl.evolve))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("module", ["recrawl", "recrawl.cli"])
def test_heavy_modules_are_imported_when_they_are_used(module):
    code = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert HEAVY & set(loaded.stdout.split()) <= ({"typer"} if module == "recrawl.cli" else set())


def test_nothing_below_the_command_line_imports_the_door():
    for path in SOURCE.rglob("*.py"):
        if path.relative_to(SOURCE).parts[0] in ("__init__.py", "cli", "papers"):
            continue
        for node in imports(path):
            names = {alias.name for alias in node.names}
            if isinstance(node, ast.Import):
                assert "recrawl" not in names, path
            elif node.module == "recrawl":
                assert not names & set(recrawl.__all__), path


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from recrawl.lab.worlds import poisson_log

    folder = tmp_path_factory.mktemp("door")
    table = poisson_log(pages=100, days=60, start=1_767_225_600.0, seed=1)
    log = folder / "log.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    done = command("ingest", folder / "store", log)
    with recrawl.open(folder / "again", create=True) as store:
        report = recrawl.ingest(store, [log], now=units.time(NOW))
        assert recrawl.info(store) == recrawl.info(recrawl.open(folder / "store"))
    assert str(report) in done.stderr
    assert [row["file"] for row in report] == [str(log)]
    assert "100 new pages" in repr(report)
    return folder / "store"


@pytest.mark.slow
def test_plan_is_what_the_command_prints(path):
    options = ["--budget", "7", "--objective", "age", "--host-cap", "2", "--now", NOW]
    printed = [json.loads(line) for line in command("plan", path, *options).stdout.splitlines()]
    budget = recrawl.Budget(fetches=7, host_cap=2)
    plan = recrawl.plan(recrawl.open(path), budget, now=units.time(NOW), objective="age")
    assert list(plan) == printed
    assert plan.to_arrow().to_pylist() == printed
    assert plan.head(0).to_arrow().schema == plan.to_arrow().schema
    assert plan._repr_html_().count("<tr>") == 8


@pytest.mark.slow
def test_explain_takes_a_url_and_is_what_the_command_prints(path):
    store, now = recrawl.open(path), units.time(NOW)
    url = recrawl.plan(store, 1, now=now).urls()[0]
    explanation = recrawl.explain(store, url, now=now)
    assert str(explanation) + "\n" == command("explain", path, url, "--now", NOW).stdout
    assert explanation == recrawl.explain(store, store.page_id(url), now=now)
    assert {"about": "page", "text": url} in list(explanation)
    assert url in repr(explanation)


@pytest.mark.slow
def test_replay_is_what_the_command_prints_and_takes_objects(tmp_path):
    options = ["--policy", "poisson", "--budget", "4%", "--ties", "id", "--json", "-"]
    printed = json.loads(command("replay", SMALL, *options).stdout)
    policies = [registry.make("policy", "poisson")]
    comparison = recrawl.replay(SMALL, policies, "4%", ties="id")
    assert list(comparison) == printed["runs"]
    assert comparison.bounds == printed["bounds"]
    assert comparison.to_arrow()["policy"].to_pylist() == ["oldest", "poisson"]
    assert "2 runs on 1 trace" in repr(comparison)


def test_a_part_with_arguments_has_a_name_of_its_own_in_a_replay():
    policies = [
        registry.make("policy", "freshness"),
        registry.make("policy", "freshness:rate=gamma"),
    ]
    runs = recrawl.replay(SMALL, policies, "4%")
    assert [run["policy"] for run in runs] == ["oldest", "freshness", "freshness:rate=gamma"]


@pytest.mark.slow
def test_evolve_and_world_and_judge_are_what_the_commands_do(tmp_path, monkeypatch):
    from recrawl.evolve.presets import PRESETS

    small = replace(PRESETS["modern"], individuals=20, generations=2)
    monkeypatch.setitem(PRESETS, "modern", small)
    command("world", "brdc", "--pages", 200, "--days", 20, "-o", tmp_path / "by-command")
    recrawl.world("brdc", tmp_path / "trace", pages=200, days=20)
    for name in ("bits.txt", "README.md"):
        assert (tmp_path / "trace" / name).read_bytes() == (
            tmp_path / "by-command" / name
        ).read_bytes()
    command("evolve", tmp_path / "trace", "-o", tmp_path / "by-command.json")
    learned = recrawl.evolve(tmp_path / "trace")
    learned.save(tmp_path / "policy.json")
    assert (tmp_path / "policy.json").read_text() == (tmp_path / "by-command.json").read_text()
    assert [row["formula"] for row in learned][1] == "t * X"
    assert learned.to_arrow().num_rows == 3


def test_judge_is_what_the_command_does(tmp_path):
    with recrawl.open(tmp_path / "crawl", create=True) as store:
        import pyarrow.parquet as pq

        versions = pq.read_table(SMALL / "versions.parquet", columns=["url", "valid_from"])
        table = versions.rename_columns(["url", "at"])
        store.append(table.cast(recrawl.VISITS.empty_table().select(["url", "at"]).schema))
    printed = command("judge", SMALL, tmp_path / "crawl", "--json", "-")
    judged = recrawl.judge(SMALL, tmp_path / "crawl")
    assert list(judged) == json.loads(printed.stdout)["runs"], printed.stderr


def test_parts_check_and_info_say_what_the_commands_print(path):
    listed = command("parts", "rate").stdout
    for name in recrawl.parts("rate"):
        assert f"rate  {name}" in listed
    assert f"recrawl {recrawl.__version__}" in listed
    recrawl.check(recrawl.make("rate", "gamma"))
    recrawl.check(recrawl.parts("detector")["digest"])
    held = asdict(recrawl.info(recrawl.open(path)))
    assert f"{held['visits']:,}" in command("info", path).stdout


def test_a_table_of_pandas_or_polars_where_installed_else_a_clear_error(path, monkeypatch):
    plan = recrawl.plan(recrawl.open(path), 3, now=units.time(NOW))
    for package in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingExtra, match=f"pip install {package}"):
            getattr(plan, f"to_{package}")()


def test_a_notebook_shows_escaped_text(path):
    plan = recrawl.plan(recrawl.open(path), 1, now=units.time(NOW))
    plan.pages.source.urls = lambda page_id: ["https://h.example/<script>"]
    assert "<script>" not in plan._repr_html_()
    assert "&lt;script&gt;" in plan._repr_html_()
