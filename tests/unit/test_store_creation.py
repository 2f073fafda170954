"""Creating a store: several processes at once, and none loses what another wrote."""

from __future__ import annotations

import multiprocessing
import threading

import pytest
from support import batch, create_and_append

from recrawl.errors import StoreBusy
from recrawl.history import Store, schema
from recrawl.history.database import WriterLock

ROUNDS, PROCESSES = 10, 2


def test_a_store_that_came_to_be_meanwhile_is_kept(tmp_path):
    """Its creator looked before another process created it, and gets the lock after that one."""
    with Store.open(tmp_path / "s", create=True, detector="simhash") as store:
        visits = store.append(batch(0)).added
    schema.create(tmp_path / "s", "digest")
    assert Store.open(tmp_path / "s").summary().visits == visits
    assert Store.open(tmp_path / "s").summary().detector == "simhash"


def test_a_creator_waits_for_one_that_is_at_work(tmp_path, monkeypatch):
    other = WriterLock(tmp_path)
    other.acquire()
    threading.Timer(0.2, other.release).start()
    assert Store.open(tmp_path, create=True).summary().visits == 0
    (tmp_path / "history.duckdb").unlink()
    monkeypatch.setattr(schema, "CREATION_SECONDS", 0.05)
    other.acquire()
    with pytest.raises(StoreBusy, match="is being written by process"):
        Store.open(tmp_path, create=True)
    other.release()


def test_what_a_killed_creator_left_is_no_part_of_the_store(tmp_path):
    with Store.open(tmp_path / "killed", create=True) as store:
        store.append(batch(0))
    (tmp_path / "new").mkdir()
    for name in ("history.duckdb.new", "history.duckdb.new.wal"):
        (tmp_path / "new" / name).write_bytes(b"half of a file")
    assert Store.open(tmp_path / "new", create=True).summary().visits == 0
    assert {file.name for file in (tmp_path / "new").iterdir()} == {"history.duckdb", "writer.lock"}


@pytest.mark.slow
def test_processes_that_create_one_store_lose_no_acknowledged_visit(tmp_path):
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support"])
    barrier, results = context.Barrier(PROCESSES), context.Queue()
    workers = [
        context.Process(
            target=create_and_append, args=(str(tmp_path), ROUNDS, number, barrier, results)
        )
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    acknowledged = [results.get(timeout=300) for _ in range(ROUNDS * PROCESSES)]
    for worker in workers:
        worker.join(30)
        assert worker.exitcode == 0
    for number in range(ROUNDS):
        wanted = sum(added for round_, added in acknowledged if round_ == number)
        assert Store.open(tmp_path / str(number)).summary().visits == wanted, number
