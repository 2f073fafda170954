"""SIGKILL at any moment: what was acknowledged is there, nothing is half there."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time

from support import BATCH, batch, write

from recrawl.history import Store

KILLS = 50


def test_sigkill_at_random_moments_loses_nothing_acknowledged(tmp_path):
    path = tmp_path / "store"
    with Store.open(path, create=True) as store:
        store.append(batch(0))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support"])
    acknowledged, rng = 0, random.Random(4)
    for _ in range(KILLS):
        ours, theirs = context.Pipe(duplex=False)
        writer = context.Process(target=write, args=(str(path), acknowledged + 1, theirs))
        writer.start()
        theirs.close()
        assert ours.poll(60), "the writer never wrote"
        time.sleep(rng.uniform(0, 0.15))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        while True:
            try:
                acknowledged = int.from_bytes(ours.recv_bytes())
            except EOFError:
                break
        counts = Store.open(path).query(
            'SELECT "at", count(*) AS n FROM visits GROUP BY "at" ORDER BY "at"'
        )
        assert set(counts["n"].to_pylist()) == {BATCH}
        assert acknowledged + 1 <= len(counts) <= acknowledged + 2
        acknowledged = len(counts) - 1  # an unacknowledged batch may be there, whole
    with Store.open(path) as store:
        assert store.append(batch(acknowledged)).added == 0
        assert store.summary().visits == (acknowledged + 1) * BATCH
        assert store.query("SELECT count(*) AS n FROM contents")["n"][0].as_py() == BATCH
