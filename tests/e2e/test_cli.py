"""The command line as people and pipes use it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from support import command as recrawl

from recrawl.cli import common

NOW = "2026-03-03"


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


def test_a_narrow_terminal_cuts_no_url():
    long = "https://a.example/" + "x" * 200
    with mock.patch.object(common, "out", Console(file=StringIO(), width=80)) as narrow:
        common.show("rank", "page", rows=[("1", long)])
    assert long in narrow.file.getvalue()
    assert narrow.width == 80


def test_ingesting_again_adds_nothing(path, log):
    assert "0 visits added" in recrawl("ingest", path, "-", stdin=log).stderr


def test_rejects_set_the_exit_status_and_go_to_a_file(path, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(
        '{"url": "https://x.example/", "at": "2026-01-05"}\n{"url": "nonsense", "at": 5}\n'
    )
    done = recrawl("ingest", tmp_path / "new", bad, "--rejects", tmp_path / "rejects")
    assert done.returncode == 3
    assert "1 visit added" in done.stderr
    [reject] = [json.loads(line) for line in (tmp_path / "rejects").read_text().splitlines()]
    assert "nonsense" in json.dumps(reject)


def test_explain_says_when_the_page_would_be_picked(path):
    urls = recrawl(
        "plan", path, "--budget", "100%", "--now", NOW, "--format", "urls"
    ).stdout.split()
    first = recrawl("explain", path, urls[0], "--budget", "10", "--now", NOW)
    plans = recrawl("plan", path, "--budget", "100%", "--now", NOW, "--format", "jsonl").stdout
    healthy = [r["url"] for r in map(json.loads, plans.splitlines()) if "failed" not in r["reason"]]
    last = recrawl("explain", path, healthy[-1], "--budget", "10", "--now", NOW)
    assert "It is in the plan." in first.stdout
    assert "rank 1 of 300" in first.stdout
    assert "unseen" in last.stdout
    needed = re.search(r"budget of (\d+) fetches", last.stdout)[1]
    assert len(healthy) <= int(needed) <= len(urls)


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
        (["plan", "{path}", "--now", "2026-01-09"], "at most a day before the last visit"),
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


def test_data_is_never_read_as_markup(tmp_path):
    log = '{"url": "https://a.example/p?a[/foo][red]", "at": "2026-01-05"}\n'
    assert recrawl("ingest", tmp_path / "s", "-", stdin=log).returncode == 0
    table = recrawl("plan", tmp_path / "s", "--format", "table", "--now", NOW, "--budget", "1")
    told = recrawl("explain", tmp_path / "s", "https://a.example/p?a[/foo][red]", "--now", NOW)
    assert "p?a[/foo][red]" in table.stdout
    assert "p?a[/foo][red]" in told.stdout


def test_rejects_must_not_be_an_input_and_a_refused_run_makes_no_store(tmp_path, log):
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
        "--objective",
        "new-links",
    ]
    shown = recrawl(*arguments)
    assert "clairvoyant" in shown.stdout, shown.stderr
    assert "oldest" in shown.stdout
    found = json.loads(recrawl(*arguments, "--json", "-", "--keep", tmp_path / "raw").stdout)
    raw = pq.read_table(tmp_path / "raw" / "t" / "tx-1-0.parquet")
    assert raw.column_names == ["cycle", "at", "url", "succeeded", "said"]
    assert len(raw) == 3 * 5 + 17
    assert [run["policy"] for run in found["runs"]] == ["oldest", "tx", "links"]
    assert found["bounds"]["t"]["1"]["change_ratio"] >= max(
        run["change_ratio"] for run in found["runs"]
    )
    assert (
        "within the data"
        in recrawl("replay", tmp_path / "t.parquet", "--window", "1999-01-01..1999-02-01").stderr
    )


def test_several_traces_are_replayed_in_parallel_and_a_store_is_a_trace(path, tmp_path):
    small = Path(__file__).parents[1] / "golden" / "small"
    copy = shutil.copytree(small, tmp_path / "copy")
    weights = tmp_path / "weights.csv"
    weights.write_text("url,weight\nhttps://gopo.example/about/000-gego,5\n")
    options = ["--budget", "4%", "--ties", "id", "--json", "-", "--weights", weights]
    found = json.loads(recrawl("replay", small, copy, *options).stdout)
    assert [(run["trace"], run["policy"]) for run in found["runs"]] == [
        ("small", "oldest"),
        ("small", "auto"),
        ("copy", "oldest"),
        ("copy", "auto"),
    ]
    assert found["runs"][0] | {"trace": ""} == found["runs"][2] | {"trace": ""}
    own = recrawl("replay", path, "--cohort", "all", "--discover", "oracle")
    assert own.returncode == 0, own.stderr
    assert "answers are known" in own.stdout
    weights.write_text("https://gopo.example/about/000-gego,-5\n")
    assert "line 1: must be a URL and a weight" in recrawl("replay", small, *options).stderr


VERSION = {
    "url": pa.array(["https://h.example/"]),
    "valid_from": pa.array([1_767_225_600_000]).cast(pa.timestamp("ms")),
    "status": pa.array([200], pa.int16()),
    "text": pa.array(["words"]),
    "links": pa.array([["https://x.example/"]]),
}
MAIN = "from recrawl.cli import main; main()"
WINDOW = ["--window", "2026-01-01..2026-01-20"]


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("url", pa.array([None], pa.string()), "url must not be null"),
        ("url", pa.array([1]), "url must be text. Got int64"),
        ("valid_from", pa.array([None], pa.timestamp("us")), "valid_from must not be null"),
        ("valid_from", pa.array([20_000]).cast("int32").cast("date32"), "must be a timestamp"),
        ("valid_from", pa.array(["2026-01-01"]), "must be a timestamp. Got string"),
        ("status", pa.array([None], pa.int16()), "status must not be null"),
        ("status", pa.array([100_000]), "from 100 to 599. Got 100000"),
        ("text", pa.array([5]), "text must be text. Got int64"),
        ("links", pa.array(["https://x.example/"]), "must be a list of texts. Got string"),
        ("links", pa.array([[1]]), "must be a list of texts"),
        ("links", pa.array([["https://x.example/", None]]), "links must not be null"),
        ("url", None, "must hold versions of pages"),
    ],
)
def test_a_trace_with_wrong_columns_is_refused(tmp_path, column, values, says):
    table = pa.table(VERSION)
    pq.write_table(
        pa.table(VERSION | {column: values}) if values is not None else table.slice(1),
        tmp_path / "t.parquet",
    )
    done = recrawl("replay", tmp_path / "t.parquet", *WINDOW)
    assert done.returncode == 1
    assert says in done.stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "data", "options", "says"),
    [
        ("empty", b"", WINDOW, "must be a Parquet file"),
        ("README.md", b"# A trace", WINDOW, "must be a Parquet file"),
        ("cut.parquet", b"PAR1cut", WINDOW, "must be a Parquet file"),
        ("bits", b"0", [], "more cycles than the warm-up, 2. Got 1"),
        ("bits", b"0" * 20, WINDOW, "--window must be left out"),
        ("bits", b"0" * 20, ["--every", "0s"], "at least a second"),
        ("bits", b"0" * 20, ["--every", "30d"], "Got 0, of 30 d each"),
        ("bits", b"0" * 20, ["--warm-up", "100"], "Got 20, of 24 h each"),
        ("bits", b"0" * 20, ["--policy", "random:seed=x"], "seed must be a whole number"),
        ("bits", b"0" * 20, ["--budget", "1" + "0" * 18], "must be below 10^18"),
        ("bits", b"0" * 20, ["--weights", "{here}/binary"], "must be a CSV file in UTF-8"),
        ("bits", b"0" * 20, ["--weights", "{here}/long"], "field larger than"),
        ("ok.parquet", None, ["--window", "1900-01-01..1900-02-01"], "Got 1900-01-01T00:00:00Z"),
        ("ok.parquet", None, [], "no line 'Window: A .. B'"),
        ("gone.parquet", None, [*WINDOW, "--cohort", "all"], "give another --window."),
    ],
)
def test_impossible_replays_are_refused(tmp_path, name, data, options, says):
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "long").write_text("x" * 200_000)
    table = pa.table(VERSION | {"status": pa.array([404 if "gone" in name else 200], pa.int16())})
    if data is None:
        (tmp_path / "README.md").write_bytes(b"\xff\xfe")
        pq.write_table(table, tmp_path / name)
    else:
        (tmp_path / name).write_bytes(data)
    done = recrawl("replay", tmp_path / name, *[o.format(here=tmp_path) for o in options])
    assert done.returncode == 1, done.stdout
    assert says in done.stderr.replace("\n", " ")


def test_a_damaged_parquet_file_is_an_error_of_one_line(tmp_path):
    file = tmp_path / "t.parquet"
    pq.write_table(pa.table(VERSION), file)
    data = bytearray(file.read_bytes())
    data[8:60] = b"\xff" * 52
    file.write_bytes(data)
    done = recrawl("replay", file, *WINDOW)
    assert done.returncode == 1
    assert "It cannot be read: " in done.stderr


def test_an_interrupted_replay_of_several_traces_prints_nothing(tmp_path):
    small = Path(__file__).parents[1] / "golden" / "small"
    budgets = [word for n in range(1, 60) for word in ("--budget", str(n))]
    done = subprocess.Popen(
        [sys.executable, "-c", MAIN, "replay", small, small, "--keep", tmp_path, *budgets],
        stderr=subprocess.PIPE,
        start_new_session=True,
        # A shell's background job, as tests may be, passes on that interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    while not any(tmp_path.glob("*/*.parquet")):
        assert done.poll() is None
        time.sleep(0.05)
    os.killpg(done.pid, signal.SIGINT)
    assert done.communicate(timeout=60)[1] == b""
    assert done.returncode == 130


def test_version_and_help():
    assert recrawl("--version").stdout[0].isdigit()
    assert "ingest" in recrawl("--help").stdout


def test_evolve_writes_a_policy_that_replay_and_plan_take(path, tmp_path, monkeypatch):
    from dataclasses import replace

    from recrawl.evolve.presets import PRESETS

    monkeypatch.setitem(
        PRESETS, "modern", replace(PRESETS["modern"], individuals=30, generations=3)
    )
    trace, policy = tmp_path / "trace", tmp_path / "policy.json"
    recrawl("world", "brdc", "--pages", 300, "--days", 20, "-o", trace)
    done = recrawl("evolve", trace, "-o", policy, "--terminals", "n,X,t,rate", "--explore", "20%")
    assert done.returncode == 0, done.stderr
    formula, _latex, head, ours, known, oldest = done.stdout.splitlines()
    assert json.loads(policy.read_text())["formula"] == formula
    assert "train" in head
    assert ours.startswith("this formula")
    assert known.startswith("t * X")
    assert oldest.startswith("t  ")
    again = recrawl("evolve", trace, "-o", policy, "--terminals", "n,X,t,rate", "--explore", "20%")
    assert again.stdout == done.stdout
    replayed = recrawl("replay", trace, "--policy", policy, "--budget", "5%", "--json", "-")
    assert str(policy) in {run["policy"] for run in json.loads(replayed.stdout)["runs"]}
    planned = recrawl("plan", path, "--policy", policy, "--budget", "5", "--now", NOW)
    assert len(planned.stdout.splitlines()) == 5
    policy.write_text(policy.read_text()[:50])
    refused = recrawl("plan", path, "--policy", policy, "--now", NOW)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "must be JSON" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--terminals", "n,colour"], "terminals must be among"),
        (["--fitness", "speed"], "A fitness must be of"),
        (["--budget", "lots"], "A budget must be"),
        (["--warm-up", "20"], "warm_up must leave"),
    ],
)
def test_evolve_refuses_bad_arguments(tmp_path, arguments, says):
    (tmp_path / "bits.txt").write_text("0101\n1111\n0000\n0010\n1000\n")
    done = recrawl("evolve", tmp_path, "-o", tmp_path / "policy.json", *arguments)
    assert done.returncode == 1
    assert says in done.stderr.replace("\n", " ")
    assert not (tmp_path / "policy.json").exists()
