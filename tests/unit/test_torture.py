"""`make torture` sees the damage that it looks for, and reports it."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import time
from functools import partial

import pytest

from recrawl.history import Store
from torture import fuzz_child, hostile_hosts
from torture.__main__ import PIECES
from torture.clocks import JumpingClock, late_visits
from torture.fuzz import feed, smaller
from torture.fuzz_child import Mailbox, Probe, crash, mutate
from torture.fuzz_targets import Target
from torture.hostile_web import judge
from torture.journal import Journal, damage, examine, keep_journal
from torture.pieces import Piece, Run
from torture.power import SECTOR, Disk, Kind, Operation, Victim, build, read_log
from torture.processes import ChildFailed, call, command, end, kill, start
from torture.report import (
    BEGIN,
    END,
    PAGE,
    PUBLISHED,
    Result,
    page_text,
    publish,
    read_results,
    table,
    write_result,
)

A, B, C = ("http://a/", 1), ("http://b/", 2), ("http://c/", 3)


def lines(*records):
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def test_a_journal_says_what_was_acknowledged_and_what_interrupted():
    text = lines({"begin": [A]}, {"done": 1}, {"begin": [B, C]}, {"begin": [C]}) + b'{"do'
    journal = Journal.of(text)
    assert journal.acknowledged == {A}
    assert journal.interrupted == [{B, C}, {C}]


@pytest.mark.parametrize(
    ("held", "lost", "half", "nowhere"),
    [
        ({A}, 0, 0, 0),
        ({A, B, C}, 0, 0, 0),
        ({A, B}, 0, 1, 0),
        ({B, C}, 1, 0, 0),
        (set(), 1, 0, 0),
        ({A, ("http://d/", 4)}, 0, 0, 1),
    ],
)
def test_damage_is_counted(held, lost, half, nowhere):
    journal = Journal({A}, [{B, C}])
    found = damage(held, journal)
    assert found == {"lost": lost, "half batches": half, "visits from nowhere": nowhere}


def test_a_batch_whose_visits_were_known_is_not_half_there():
    assert damage({A, B}, Journal({A, B}, [{A, C}]))["half batches"] == 0
    assert damage({A, B, C}, Journal({A}, [{B}, {B, C}]))["half batches"] == 0


def test_a_store_that_lost_a_visit_or_cannot_be_opened_is_noticed(tmp_path):
    log = tmp_path / "a.jsonl"
    log.write_text('{"url": "http://a.example/", "at": 1700000000, "status": 200}\n')

    def ingest():
        keep_journal(tmp_path / "journal")
        command("ingest", tmp_path / "store", log)

    assert end(start(ingest, tmp_path / "log")) == 0
    journal = Journal.read(tmp_path / "journal")
    assert journal.acknowledged == {("http://a.example/", 1_700_000_000_000_000)}
    assert set(examine(tmp_path / "store", journal).values()) == {0}
    more = Journal({*journal.acknowledged, A})
    assert examine(tmp_path / "store", more)["lost"] == 1
    (tmp_path / "store/history.duckdb").write_bytes(b"no store")
    assert examine(tmp_path / "store", journal)["not opened"] == 1
    shutil.rmtree(tmp_path / "store")
    assert examine(tmp_path / "store", journal)["not opened"] == 1
    assert examine(tmp_path / "store", Journal())["not opened"] == 0
    assert Store.append.__name__ == "append"
    assert Store.append.__module__ == "recrawl.history.store", "only the child is changed"


def test_visits_later_than_the_clock_allows_are_counted():
    clock = JumpingClock(100.0, 1e-9)
    assert clock.now() == pytest.approx(100)
    clock.move(50)
    clock.now()
    clock.move(-70)
    assert clock.now() == pytest.approx(80)
    assert clock.state["limit"] == pytest.approx(150)
    visits = [["http://a/", at * 1_000_000] for at in (148, 149, 151)]
    text = lines({"begin": visits}, {"done": 3, **clock.state}, {"begin": visits}).decode()
    assert late_visits(text) == 1


def test_a_crawl_may_be_ahead_of_a_clock_by_half_of_the_time_that_passed():
    clock = JumpingClock(0.0, 1000.0)
    begun = clock.now()
    assert clock.state["limit"] == begun
    clock.move(-(10**6))
    for _ in range(3):  # as often as one looks
        time.sleep(0.01)
        clock.now()
    clock.move(9 * 10**5)  # still behind: a jump is no time that passed
    passed = clock.now() - begun + 10**5
    assert clock.state["limit"] == pytest.approx(begun + passed / 2)


# Processes


def test_children_end_are_killed_and_report(tmp_path):
    log = tmp_path / "log"
    assert call(lambda: {"a": [1]}, log) == {"a": [1]}
    assert end(start(partial(sys.exit, 3), log)) == 3
    assert end(start(partial(time.sleep, 60), log), 0.1) is None
    assert kill(start(partial(time.sleep, 60), log))
    with pytest.raises(ChildFailed, match="ZeroDivisionError"):
        call(lambda: 1 / 0, log)


# Power loss


def write(inode, data, offset=0):
    return Operation(Kind.WRITE, inode, offset, "", "", data)


def create(inode, path):
    return Operation(Kind.CREATE, inode, 0, path, "", b"")


def sync(inode):
    return Operation(Kind.SYNC, inode, 0, "", "", b"")


def states(*operations, draws=300):
    """All that may be found after a power loss."""
    disk = Disk()
    for operation in operations:
        disk.apply(operation)
    chance = random.Random(0)
    return {tuple(sorted(disk.after_power_loss(chance).items())) for _ in range(draws)}


def test_what_was_synced_lasts_and_nothing_else_has_to():
    assert states(create(1, "/a"), write(1, b"x"), sync(1)) == {(("/a", b"x"),)}
    assert states(create(1, "/a"), write(1, b"x")) == {(), (("/a", b""),), (("/a", b"x"),)}
    later = states(create(1, "/a"), write(1, b"x"), sync(1), write(1, b"y"), write(1, b"z", 1))
    assert {found for ((_, found),) in later} == {b"x", b"y", b"xz", b"yz"}


def test_writes_are_torn_at_sectors():
    data = b"a" * SECTOR + b"b" * SECTOR
    found = {dict(state)["/a"] for state in states(create(1, "/a"), sync(1), write(1, data))}
    assert found == {b"", data, data[:SECTOR], bytes(SECTOR) + data[SECTOR:]}


def test_names_change_in_their_order():
    rename = Operation(Kind.RENAME, 0, 0, "/new", "/old", b"")
    first = create(1, "/old"), write(1, b"1"), sync(1), create(2, "/new"), write(2, b"2")
    assert states(*first, sync(2), rename) == {
        (("/new", b"2"), ("/old", b"1")),
        (("/old", b"2"),),
    }
    unsynced = {dict(state).get("/old") for state in states(*first, rename)}
    assert unsynced == {b"1", b"", b"2"}, "a rename before the fsync may leave an empty file"
    assert {dict(s)["/old"] for s in states(*first, sync(2), rename, sync(1))} == {b"2"}


def test_truncation_removal_and_a_reused_inode():
    cut = Operation(Kind.TRUNCATE, 1, 1, "", "", b"")
    assert states(create(1, "/a"), write(1, b"xyz"), cut, sync(1)) == {(("/a", b"x"),)}
    gone = Operation(Kind.UNLINK, 0, 0, "/a", "", b"")
    again = states(create(1, "/a"), write(1, b"xyz"), gone, create(1, "/b"), sync(1))
    assert again == {(("/b", b""),)}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_the_log_explains_what_a_process_did_to_its_files(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    script = """
import ctypes, os, pathlib
os.mkdir("d")
with open("d/a", "wb", buffering=0) as file:
    file.write(b"hello world")
    os.fsync(file.fileno())
    os.pwrite(file.fileno(), b"J", 0)
    os.writev(file.fileno(), [b"!", b"?"])
    os.ftruncate(file.fileno(), 12)
with open("d/a", "ab") as file:
    file.write(b"more")
pathlib.Path("b").write_text("old")
pathlib.Path("c").write_text("new")
os.rename("c", "b")
pathlib.Path(".tmpf").write_text("renamed by a system call that no library sees")
number = 316 if os.uname().machine == "x86_64" else 276
assert ctypes.CDLL(None).syscall(number, -100, b".tmpf", -100, b"f", 0) == 0
pathlib.Path(".tmpg").write_text("stays")
pathlib.Path("e").write_text("gone")
os.unlink("e")
pathlib.Path("/dev/null").write_text("elsewhere")
pathlib.Path(".tmph").write_text("renamed as the last thing")
assert ctypes.CDLL(None).syscall(number, -100, b".tmph", -100, b"h", 0) == 0
"""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(build(tmp_path)),
        "TORTURE_ROOT": str(root),
        "TORTURE_LOG": str(tmp_path / "operations"),
    }
    subprocess.run([sys.executable, "-c", script], cwd=root, env=environment, check=True)
    disk = Disk()
    for operation in read_log(tmp_path / "operations"):
        disk.apply(operation)
    real = {str(path): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert real[f"{root}/d/a"] == b"Jello world!more"
    assert {name: data for name, data in disk.now().items() if data is not None} == real
    assert f"{root}/d" in disk.now()


def test_a_victim_that_stores_nothing_proves_nothing(tmp_path, monkeypatch):
    """As a crawl of a web whose days are over."""
    nothing = partial(subprocess.Popen, [sys.executable, "-c", ""])
    monkeypatch.setattr("torture.power.popen", lambda *_, **__: nothing())
    victim = Victim(Run("power", folder=tmp_path), "crawl", tmp_path)
    with pytest.raises(ChildFailed, match="stored nothing"):
        victim.live(())
    (victim.root / "journal").write_bytes(lines({"begin": [A]}, {"done": 1}))
    victim.live(())


# Fuzzing


def test_crashes_are_kept_once_and_made_small(tmp_path):
    def fragile(data):
        if b"x" in data and b"y" in data:
            raise KeyError(data)

    target = Target(fragile, [b"abc"])
    probe = Probe(target, Mailbox(tmp_path / "box"), tmp_path)
    for data in (b"fine", b"xy", b"y and x"):
        probe(data)
    assert Mailbox(tmp_path / "box").get() == (3, b"y and x")
    kept = [path for path in tmp_path.iterdir() if path.name.startswith("KeyError")]
    assert sorted(path.suffix for path in kept) == ["", ".txt"]
    assert smaller(target, b"some x and then y, " * 20) in (b"xy", b"yx")
    assert crash(target, b"fine") is None


def test_mutants_differ_and_repeat():
    made = [mutate(b"an example", random.Random(number), [b"other"]) for number in [*range(50), 7]]
    assert len(set(made)) > 40
    assert made[7] == made[-1]
    assert all(len(data) <= fuzz_child.MAX_BYTES for data in made)


@pytest.mark.slow
def test_an_endless_input_is_a_hang_and_a_dead_process_a_death(tmp_path, monkeypatch):
    script = """
import os, sys
from pathlib import Path
from torture.fuzz_child import Mailbox
Mailbox(Path(sys.argv[2])).put(b"bad")
if sys.argv[1] == "death":
    os.abort()
while sys.argv[1] == "hang":
    pass
"""
    monkeypatch.setattr("torture.fuzz.HANG_SECONDS", 0.5)
    for ended in ("hang", "death", ""):
        box = tmp_path / f"box{ended}"
        words = [sys.executable, "-c", script, ended, str(box)]
        assert feed(words, box, tmp_path / "log") == ended
        assert Mailbox(box).get() == (1, b"bad")


# The hostile web


def request(at, path="/a/1", host="h00.example", address=None, **facts):
    address = address or hostile_hosts.address_of(0)
    return {"at": at, "host": host, "address": address, "path": path, **facts}


ROBOTS = request(0.0, "/robots.txt", robots=["/c/"])


@pytest.mark.parametrize(
    ("requests", "broken"),
    [
        (
            [
                ROBOTS,
                request(0.5),
                request(1.0),
                request(0.6, host="h10.example", path="/robots.txt"),
            ],
            "",
        ),
        ([ROBOTS, request(0.4)], "too soon"),
        ([request(0.0, "/robots.txt", robots=[], delay=1.5), request(1.2)], "too soon"),
        ([ROBOTS, request(1.0, "/c/1")], "forbidden by robots.txt"),
        ([request(0.0, "/robots.txt", robots=["/"]), request(1.0, "/")], "forbidden by robots.txt"),
        ([request(0.0)], "before robots.txt"),
        ([ROBOTS, request(1.0, retry=3), request(3.5)], "within Retry-After"),
        ([ROBOTS, request(1.0, retry=3), request(4.1)], ""),
        ([ROBOTS, request(1.0, address="10.0.0.1")], "private requests"),
        ([ROBOTS, request(1.0, address="::1")], "private requests"),
    ],
)
def test_the_log_of_the_hosts_is_judged(requests, broken):
    found = judge(requests)
    assert found.pop("requests") == len(requests)
    assert {name for name, count in found.items() if count} == ({broken} if broken else set())


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's times of arrival")
def test_a_request_that_is_read_late_arrived_when_it_arrived(tmp_path):
    """As on a busy machine: the crawler gave up, and asked for another page, before it was read."""
    sent = []

    async def main():
        with (tmp_path / "log").open("a") as log:
            server = await asyncio.start_server(hostile_hosts.Hosts(log, 0).serve, "127.0.0.1", 0)
            for path in "ab":
                with socket.create_connection(server.sockets[0].getsockname()) as client:
                    client.sendall(f"GET /{path}/1 HTTP/1.1\r\nHost: h00.example\r\n\r\n".encode())
                    sent.append(time.monotonic())
                    time.sleep(0.4)  # the hosts are busy
            while len((tmp_path / "log").read_text().splitlines()) < 2:
                await asyncio.sleep(0.01)
            server.close()

    asyncio.run(main())
    logged = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    arrived = sorted(line["at"] for line in logged)
    assert arrived == pytest.approx(sent, abs=0.05)


# The report

PIECE = Piece("kills", lambda run: {}, {"lost": 0, "MB": 100}, {"kills": 10})


@pytest.mark.parametrize(
    ("figures", "broken"),
    [
        ({"lost": 0, "MB": 100, "kills": 10}, []),
        ({"lost": 1, "MB": 101, "kills": 9}, ["lost", "MB", "kills"]),
        ({"lost": 0, "MB": 5}, ["kills"]),
    ],
)
def test_figures_beyond_their_limits_are_broken(figures, broken):
    assert PIECE.broken(figures) == broken


def test_results_are_kept_and_shown(tmp_path):
    other = Piece("disk", lambda run: {}, {})
    result = Result.now("kills", 0.5, 90, {"kills": 1200, "lost": 2, "MB": 7}, "")
    write_result(tmp_path, result)
    write_result(tmp_path, Result.now("disk", 1.0, 0, {}, "only root may do it"))
    results = read_results(tmp_path)
    assert results["kills"] == result
    text = table([PIECE, other, Piece("soak", lambda run: {}, {})], results)
    assert "| kills | 1,200 | at least 10 |" in text
    assert "| lost | **2** | 0 |" in text
    assert "| disk | skipped: only root may do it | | |" in text
    assert "| soak | not run yet | | |" in text
    assert results["disk"].broken(PIECE) == []
    page = tmp_path / "page.md"
    page.write_text(f"# Before\n{BEGIN}\nold\n{END}\nafter\n")
    page_text(page, [PIECE, other], results)
    page_text(page, [PIECE, other], results)
    assert page.read_text().startswith(f"# Before\n{BEGIN}\n\nMade by `make torture`")
    assert page.read_text().endswith(f"{END}\nafter\n")
    assert "old" not in page.read_text()


def test_the_page_keeps_the_result_of_the_largest_run_and_of_other_pieces(tmp_path):
    full = Result.now("kills", 1.0, 90, {"kills": 1000}, "")
    disk = Result.now("disk", 0.5, 90, {"rounds": 30}, "")
    assert all(publish(tmp_path, result) for result in (full, disk))
    assert not publish(tmp_path, Result.now("kills", 0.1, 9, {"kills": 100}, ""))
    assert not publish(tmp_path, Result.now("disk", 1.0, 0, {}, "only root may do it"))
    assert read_results(tmp_path) == {"kills": full, "disk": disk}
    again = Result.now("disk", 0.5, 80, {"rounds": 31}, "")
    assert publish(tmp_path, again)
    assert read_results(tmp_path) == {"kills": full, "disk": again}


def test_the_page_names_all_versions_that_the_pieces_ran_with(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}{END}")
    one, other = (Result("kills", "", 1.0, 0, {}, "", {"duckdb": v, "Linux": "6"}) for v in "12")
    page_text(page, [PIECE], {"kills": one, "disk": other})
    assert "with duckdb 1 and 2, Linux 6." in page.read_text()


def test_published_results_make_the_page_again():
    """`python -m torture --report` was run after the last result."""
    assert table(PIECES, read_results(PUBLISHED)) in PAGE.read_text()


def test_a_run_scales_counts_and_empties_its_folders(tmp_path):
    run = Run("kills", 0.1, folder=tmp_path)
    assert (run.n(1000), run.n(3), run.n(3, least=2)) == (100, 1, 2)
    (run.empty_folder("a") / "file").touch()
    assert list(run.empty_folder("a").iterdir()) == []
