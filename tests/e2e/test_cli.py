"""The command line as people and pipes use it."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from unittest import mock

import pytest

from recrawl.cli import main

NOW = "2026-03-03"


def recrawl(*arguments: object, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Like a process of its own, without the second it takes to start one."""
    out, err, code = StringIO(), StringIO(), 0
    words = ["recrawl", *map(str, arguments)]
    with (
        mock.patch.object(sys, "argv", words),
        mock.patch.object(sys, "stdin", TextIOWrapper(BytesIO(stdin.encode()))),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="module")
def log() -> str:
    from recrawl.lab.worlds import poisson_log

    table = poisson_log(pages=300, days=60, start=1_767_225_600.0, seed=1)
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist())


@pytest.fixture(scope="module")
def path(tmp_path_factory, log):
    store = tmp_path_factory.mktemp("cli") / "store"
    done = recrawl("ingest", store, "-", stdin=log)
    assert done.returncode == 0, done.stderr
    assert "300 new pages" in done.stderr
    return store


def test_plan_in_a_pipe_is_json_lines_best_first(path):
    done = recrawl("plan", path, "--budget", "10", "--now", NOW)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["rank"] for row in rows] == list(range(1, 11))
    assert set(rows[0]) == {"url", "rank", "score", "p_change", "last_visit", "reason"}
    assert sorted((row["score"] for row in rows), reverse=True) == [row["score"] for row in rows]


@pytest.mark.parametrize(
    ("format", "begins"),
    [
        ("urls", "https://"),
        ("nutch", "https://"),
        ("heritrix", "F+ https://"),
        ("urlfrontier", '{"known"'),
        ("table", "rank"),
    ],
)
def test_plan_formats(path, format, begins):
    done = recrawl("plan", path, "--budget", "5", "--now", NOW, "--format", format)
    assert done.returncode == 0, done.stderr
    assert done.stdout.lstrip().startswith(begins)
    assert len(done.stdout.splitlines()) == (6 if format == "table" else 5)


def test_ingesting_again_adds_nothing(path, log):
    assert "0 visits added" in recrawl("ingest", path, "-", stdin=log).stderr


def test_rejects_are_told_by_exit_status_and_file(path, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(
        '{"url": "https://x.example/", "at": "2026-01-05"}\n{"url": "nonsense", "at": 5}\n'
    )
    done = recrawl("ingest", tmp_path / "new", bad, "--rejects", tmp_path / "rejects")
    assert done.returncode == 3
    assert "1 visit added" in done.stderr
    [reject] = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert "nonsense" in json.dumps(reject)


def test_explain_says_what_would_have_to_happen(path):
    urls = recrawl(
        "plan", path, "--budget", "100%", "--now", NOW, "--format", "urls"
    ).stdout.split()
    first = recrawl("explain", path, urls[0], "--budget", "10", "--now", NOW)
    last = recrawl("explain", path, urls[-1], "--budget", "10", "--now", NOW)
    assert "It is in the plan." in first.stdout
    assert "rank 1 of 300" in first.stdout
    assert "unseen" in last.stdout
    assert f"budget of {len(urls)} fetches" in last.stdout


def test_every_policy_plans(path):
    listed = recrawl("parts", "policy").stdout.splitlines()[1:]
    for name in (line.split()[1] for line in listed):
        done = recrawl(
            "plan", path, "--budget", "3", "--policy", name, "--now", NOW, "--format", "urls"
        )
        assert len(done.stdout.splitlines()) == 3, (name, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plan", "{path}", "--policy", "poison"], "Did you mean 'poisson'?"),
        (["plan", "{path}", "--budget", "120%"], "from 0% to 100%"),
        (["plan", "{path}", "--explore", "5"], "from 0% to 100%"),
        (["plan", "{path}", "--budget", "-3"], "try 200 or 2%"),
        (["plan", "{path}", "--now", "yesterday"], "ISO 8601"),
        (["plan", "{path}", "--now", "2026-01-09"], "not before the last visit"),
        (["plan", "{path}", "--budget", "inf"], "try 200 or 2%"),
        (["plan", "{path}", "--objective", "oldest"], "No objective"),
        (["plan", "{path}", "--bytes", "1MB"], "limit the fetches instead"),
        (["plan", "{path}", "--bytes", "1 parsec"], "500kB"),
        (["info", "{path}/history.duckdb"], "no store"),
        (["ingest", "{path}/history.duckdb", "-"], "store"),
        (["plan", "{path}", "--policy", "tx", "--objective", "age"], "not both"),
        (["plan", "{path}", "--rules", "/nonexistent"], "cannot be read"),
        (["plan", "/nonexistent"], "recrawl ingest"),
        (["explain", "{path}", "https://unknown.example/"], "never seen"),
        (["explain", "{path}", "not a url"], "not a url"),
        (["ingest", "{path}", "/nonexistent"], "standard input"),
    ],
)
def test_errors_are_one_line_with_a_remedy(path, arguments, says):
    done = recrawl(*[a.format(path=path) for a in arguments])
    assert done.returncode == 1
    assert says in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_data_is_never_taken_for_markup(tmp_path):
    log = '{"url": "https://a.example/p?a[/foo][red]", "at": "2026-01-05"}\n'
    assert recrawl("ingest", tmp_path / "s", "-", stdin=log).returncode == 0
    table = recrawl("plan", tmp_path / "s", "--format", "table", "--now", NOW, "--budget", "1")
    told = recrawl("explain", tmp_path / "s", "https://a.example/p?a[/foo][red]", "--now", NOW)
    assert "p?a[/foo][red]" in table.stdout
    assert "p?a[/foo][red]" in told.stdout


def test_rejects_may_not_be_an_input_nor_a_refused_run_make_a_store(tmp_path, log):
    source = tmp_path / "log.jsonl"
    source.write_text(log)
    assert recrawl("ingest", tmp_path / "s", source, "--rejects", source).returncode == 1
    assert source.read_text() == log
    (tmp_path / "noise").write_bytes(bytes(range(256)) * 9)
    assert recrawl("ingest", tmp_path / "s", tmp_path / "noise").returncode == 1
    assert not (tmp_path / "s").exists()


def test_seed_draws_a_random_policy(path):
    plans = {
        recrawl(
            "plan",
            path,
            "--policy",
            "random",
            "--seed",
            i,
            "--budget",
            3,
            "--now",
            NOW,
            "--format",
            "urls",
        ).stdout
        for i in range(5)
    }
    assert len(plans) == 5


def test_output_is_plain_in_a_pipe_and_a_closed_pipe_is_no_error(path):
    assert "\x1b" not in recrawl("info", path).stdout
    command = f"{sys.executable} -c 'from recrawl.cli import main; main()' plan {path} --budget 100% | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert "Traceback" not in done.stderr


def test_replay_prints_a_ranking_or_json(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    days = [(page, day) for page in range(5) for day in range(0, 20, page + 1)]
    trace = {
        "url": [f"https://h.example/{page}" for page, _ in days],
        "valid_from": pa.array([(1_767_225_600 + d * 86_400) * 1000 for _, d in days]).cast(
            pa.timestamp("ms")
        ),
        "status": pa.array([200] * len(days), pa.int16()),
        "text": [f"day {d}" for _, d in days],
        "links": [[f"https://x.example/{d}"] for _, d in days],
    }
    pq.write_table(pa.table(trace), tmp_path / "t.parquet")
    arguments = [
        "replay",
        tmp_path / "t.parquet",
        "--window",
        "2026-01-01..2026-01-20",
        "--budget",
        "1",
        "--policy",
        "tx",
    ]
    shown = recrawl(*arguments)
    assert "clairvoyant" in shown.stdout, shown.stderr
    assert "oldest" in shown.stdout
    found = json.loads(recrawl(*arguments, "--json", "-", "--keep", tmp_path / "raw").stdout)
    raw = pq.read_table(tmp_path / "raw" / "t" / "tx-1-0.parquet")
    assert raw.column_names == ["cycle", "at", "url", "succeeded"]
    assert len(raw) == 3 * 5 + 17
    assert [run["policy"] for run in found["runs"]] == ["oldest", "tx"]
    assert found["bounds"]["t"]["1"]["change_ratio"] >= max(
        run["change_ratio"] for run in found["runs"]
    )
    assert (
        "within the data"
        in recrawl("replay", tmp_path / "t.parquet", "--window", "1999-01-01..1999-02-01").stderr
    )


def test_version_and_help():
    assert recrawl("--version").stdout[0].isdigit()
    assert "ingest" in recrawl("--help").stdout
