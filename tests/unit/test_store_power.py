"""A store whose machine lost power while DuckDB wrote: it opens, with all that was acknowledged."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import duckdb
import pytest
from support import batch

from recrawl.errors import StoreInvalid
from recrawl.history import Store, recovery
from recrawl.history.database import connect

SECTOR = 512
BLOCK = 262_144


@pytest.fixture
def folders(tmp_path):
    """Two batches, the second in the log; and the same after the checkpoint. With saved blocks."""
    committed, after = tmp_path / "committed", tmp_path / "after"
    with pytest.MonkeyPatch.context() as patch, Store.open(after, create=True) as store:
        store.append(batch(0))
        patch.setattr(recovery, "drop_saved", lambda path: None)
        with store.together():
            store.append(batch(1))
            shutil.copytree(after, committed)
    assert (committed / "history.duckdb.wal").stat().st_size > 4 * SECTOR
    assert not (after / "history.duckdb.wal").exists()
    shutil.copy(after / "history.duckdb.saved", committed)
    return committed, after


def tear(file, start, size=SECTOR):
    """A sector that was not written. Whether that makes a difference: it may hold zeros anyway."""
    content = bytearray(file.read_bytes())
    makes_difference = any(content[start : start + size])
    content[start : start + size] = bytes(size)
    file.write_bytes(content)
    return makes_difference


def n_visits(folder):
    return Store.open(folder).summary().visits


def opens(folder):
    """Whether DuckDB opens the file as it is."""
    try:
        duckdb.connect(str(folder / "history.duckdb"), read_only=True).close()
    except duckdb.Error:
        return False
    return True


def test_a_batch_whose_log_is_torn_is_not_there_and_the_store_goes_on(folders, tmp_path):
    folder, whole = folders
    one, both = batch(0).num_rows, n_visits(whole)
    n_refused = 0
    for sector in range(1, 12):
        torn = shutil.copytree(folder, tmp_path / str(sector))
        log = torn / "history.duckdb.wal"
        if not tear(log, sector * SECTOR):
            continue
        n_refused += not opens(torn)
        assert n_visits(torn) == one, "a reader recovers it"
        with Store.open(torn) as store:
            store.append(batch(1))
        assert n_visits(torn) == both
        assert not log.exists()
    assert n_refused


def test_batches_before_the_one_that_is_torn_stay(tmp_path):
    folder = tmp_path / "torn"
    with Store.open(tmp_path / "store", create=True) as store, store.together():
        store.append(batch(0))
        first = (store.path / "history.duckdb.wal").stat().st_size
        store.append(batch(1))
        shutil.copytree(store.path, folder)
    assert tear(folder / "history.duckdb.wal", first + 2 * SECTOR)
    assert n_visits(folder) == batch(0).num_rows


def test_damage_in_what_was_synced_is_no_torn_end(tmp_path):
    folder = tmp_path / "damaged"
    with Store.open(tmp_path / "store", create=True) as store, store.together():
        store.append(batch(0))
        store.append(batch(1))
        shutil.copytree(store.path, folder)
    log = folder / "history.duckdb.wal"
    content = bytearray(log.read_bytes())
    content[200] ^= 1
    log.write_bytes(content)
    with pytest.raises(StoreInvalid, match="Nothing was touched"):
        Store.open(folder)
    assert log.read_bytes() == content


def test_a_log_that_another_process_has_changed_since_is_not_cut(folders):
    folder, _ = folders
    log = folder / "history.duckdb.wal"
    error = duckdb.IOException("Corrupt WAL file: entry at byte position 600 computed checksum 1")
    before = recovery.log_state(folder / "history.duckdb")
    log.write_bytes(log.read_bytes() + b"more")
    content = log.read_bytes()
    assert recovery.cut_log(folder / "history.duckdb", error, before), "try again"
    assert log.read_bytes() == content
    assert not recovery.cut_log(folder / "history.duckdb", duckdb.IOException("other"), before)


def mixed(old, new):
    """The old file with every second sector of its first block as a checkpoint writes it."""
    content, written = bytearray(old.read_bytes()), new.read_bytes()
    for start in range(recovery.HEADERS_BYTES, recovery.HEADERS_BYTES + BLOCK, 2 * SECTOR):
        content[start : start + SECTOR] = written[start : start + SECTOR]
    return bytes(content)


@pytest.fixture
def torn(folders):
    """A store that lost power while a checkpoint wrote its metadata."""
    folder, after = folders
    file = folder / "history.duckdb"
    file.write_bytes(mixed(file, after / "history.duckdb"))
    with pytest.raises(duckdb.Error, match="checksum"):
        duckdb.connect(str(file), read_only=True)
    return folder


def test_blocks_that_a_checkpoint_has_half_written_are_put_back(torn, folders):
    assert n_visits(torn) == n_visits(folders[1])
    assert not (torn / "history.duckdb.saved").exists()
    with Store.open(torn) as store:
        store.append(batch(2))
    assert {file.name for file in torn.iterdir()} == {"history.duckdb", "writer.lock"}


def test_saved_blocks_of_a_checkpoint_that_has_ended_are_dropped(folders):
    _, after = folders
    content = (after / "history.duckdb").read_bytes()
    both = n_visits(after)
    assert (after / "history.duckdb").read_bytes() == content
    assert not (after / "history.duckdb.saved").exists()
    with Store.open(after) as store:
        assert store.append(batch(1)).added == 0
    assert n_visits(after) == both


@pytest.mark.parametrize("damage", ["cut", "empty", "foreign", "link", "pipe"])
def test_saved_blocks_that_recrawl_did_not_write_whole_are_not_used(folders, damage, tmp_path):
    folder, after = folders
    saved = folder / "history.duckdb.saved"
    content, other = saved.read_bytes(), tmp_path / "other"
    saved.unlink()
    if damage in ("cut", "empty"):
        saved.write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
    elif damage == "foreign":  # a number of blocks that it does not have
        told = content[32 : 32 + recovery.HEADERS_BYTES] + b"\xff" * 16
        saved.write_bytes(recovery.hashlib.sha256(told).digest() + told)
    elif damage == "link":
        other.write_bytes(content)
        saved.symlink_to(other)
    else:
        os.mkfifo(saved)
    both = n_visits(after)
    assert n_visits(folder) == both
    with Store.open(folder) as store:
        store.append(batch(2))
    assert n_visits(folder) > both
    if damage == "link":
        assert other.read_bytes() == content


def test_a_file_that_somebody_has_open_is_left_alone(torn):
    content = (torn / "history.duckdb").read_bytes()
    script = "import fcntl, sys; f = open(sys.argv[1], 'r+b'); fcntl.lockf(f, fcntl.LOCK_EX)\n"
    words = [sys.executable, "-c", script + "print(1, flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        [*words, str(torn / "history.duckdb")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        holder.stdout.readline()
        recovery.restore_blocks(torn / "history.duckdb")
        holder.stdin.close()
    assert (torn / "history.duckdb").read_bytes() == content
    assert (torn / "history.duckdb.saved").exists()


def test_a_save_keeps_the_lock_of_duckdb(store):
    """A process that closes a file a second time loses its locks on it."""
    store.append(batch(0))
    script = "import duckdb, sys; duckdb.connect(sys.argv[1], read_only=True)"
    with connect(store.path, write=True) as connection:
        recovery.save_blocks(connection, store.path / "history.duckdb")
        recovery.restore_blocks(store.path / "history.duckdb")
        other = subprocess.run(
            [sys.executable, "-c", script, str(store.path / "history.duckdb")],
            capture_output=True, text=True,
        )  # fmt: skip
    assert "Could not set lock" in other.stderr


CREATE = """
import resource, sys
from recrawl.errors import StoreError
from recrawl.history import Store
limit = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
try:
    Store.open(sys.argv[1], create=True)
except StoreError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, limit)
print(Store.open(sys.argv[1], create=True).summary().visits, "visits")
"""


def test_a_disk_that_fills_up_during_the_creation_leaves_no_store(tmp_path):
    """There is room for the log of the new tables, and none for the tables."""
    words = [sys.executable, "-c", CREATE, str(tmp_path / "store")]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    assert "is full" in told
    assert told.endswith("0 visits\n")
