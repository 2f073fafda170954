"""A store at its limits: a full disk, a reader that stays, and more text than memory."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import pytest

from recrawl.errors import StoreBusy, StoreError, StoreInvalid
from recrawl.history import Store, database

A = "https://a.example/"


@contextmanager
def small_disk(folder, size: str):
    """A file system in memory, of this size."""
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
    )
    if made.returncode:
        pytest.skip(f"only root may mount a small disk: {made.stderr.decode()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(sys.platform != "linux" or os.getuid() != 0, reason="needs root to mount")
def test_a_full_disk_is_called_by_its_name_and_earlier_visits_stay(tmp_path, visits):
    with small_disk(tmp_path / "disk", "3m") as disk:
        with Store.open(disk / "store", create=True) as store:
            store.append(visits((A, 0, 1)))
            (disk / "others").write_bytes(b"x" * (2**20))
            rows = [(f"{A}{i}", 1, i, {"text": os.urandom(5_000).hex()}) for i in range(300)]
            with pytest.raises(StoreError, match=r"The disk of the store .* is full") as full:
                store.append(visits(*rows))
            assert not isinstance(full.value, StoreInvalid)
            assert "Make room there" in str(full.value)
            assert store.summary().visits == 1
            (disk / "others").unlink()
            assert store.append(visits((A, 1, 1))).added == 1
        (disk / "rest").write_bytes(b"x" * shutil.disk_usage(disk).free)
        assert Store.open(disk / "store").summary().visits == 2
        with pytest.raises(StoreError, match="is full"):
            Store.open(disk / "another", create=True)


OUTSIDE = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as held:
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_reader_that_stays_is_named_and_waited_for_until_a_bound(
    store, visits, caplog, monkeypatch
):
    store.append(visits((A, 0, 1)))
    monkeypatch.setattr(database, "QUIET_WAIT_SECONDS", 0.05)
    monkeypatch.setattr(database, "WRITER_WAIT_SECONDS", 0.5)
    with subprocess.Popen(
        [sys.executable, "-c", OUTSIDE, str(store.path / "history.duckdb")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as reader:
        assert reader.stdout.readline() == b"held\n"
        with pytest.raises(StoreBusy, match=f"process {reader.pid} "):
            store.append(visits((A, 1, 1)))
        warned = [r.getMessage() for r in caplog.records if r.name == database.__name__]
        assert 1 <= len(warned) <= 5  # after twice as long each time, not at each try
        assert f"waits for process {reader.pid} " in warned[0]
        reader.stdin.close()
    assert store.append(visits((A, 1, 1))).added == 1


APPEND = """
import sys
import numpy as np, pyarrow as pa
from recrawl.history import Store
n, size, rng = int(sys.argv[2]), 2_000, np.random.default_rng(0)
letters = rng.integers(97, 123, size=2_000_000).astype(np.uint8).tobytes().decode()
with Store.open(sys.argv[1], create=True, detector=sys.argv[3]) as store:
    for begin in range(0, n, size):
        at = np.full(size, 1_700_000_000_000_000 + begin)
        store.append(pa.table({
            "url": [f"https://h{i % 97}.example/{i}" for i in range(begin, begin + size)],
            "at": pa.array(at).cast(pa.timestamp("us", tz="UTC")),
            "digest": pa.array(rng.integers(0, 2**63, size).astype(np.uint64)),
            "digest_of": ["text"] * size,
            "text": [letters[x : x + 3_000] for x in rng.integers(0, 1_990_000, size=size)],
        }))
print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is needed")
def test_memory_is_bounded_however_much_text_is_stored(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", APPEND, str(tmp_path / "store"), "160000", "digest"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 1000  # MiB; the texts are 480 MB in 80 batches
