"""SIGKILL while an index is updated: the next update repairs it."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time

import numpy as np
from support import BATCH, batch, index_pages, make_workload

from recrawl.history import Store
from recrawl.search.index import SearchIndex
from recrawl.search.terms import count_terms

KILLS = 30


def test_the_next_update_repairs_an_index_after_sigkill(tmp_path, caplog):
    path = tmp_path / "store"
    with Store.open(path, create=True) as store:
        store.append(batch(0))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support", "tantivy", "recrawl.search.index"])
    rng, interrupted = random.Random(4), 0
    for _ in range(KILLS):
        ours, theirs = context.Pipe(duplex=False)
        writer = context.Process(target=index_pages, args=(str(path), theirs))
        writer.start()
        theirs.close()
        assert ours.poll(120), "the writer never started"
        time.sleep(rng.uniform(0, 0.2))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        ours.close()
        with Store.open(path) as store:
            index = SearchIndex(store)
            changed, gone = index.outdated()
            impact = index.impact(make_workload())
            done = index.update(impact)
            assert (done.indexed, done.removed) == (changed.tolist(), gone.tolist())
            assert [len(rows) for rows in index.outdated()] == [0, 0]
            assert len(index) == BATCH
            interrupted += bool(len(changed))
            texts = store.query("SELECT text FROM contents ORDER BY page_id")["text"]
            held, counted = (
                impact.terms.take(np.arange(BATCH)),
                count_terms(texts.combine_chunks(), impact.workload.vocabulary),
            )
            assert all(
                np.array_equal(a, b)
                for a, b in zip(vars(held).values(), vars(counted).values(), strict=True)
            )
    assert not caplog.text, "the saved gains were damaged"
    assert interrupted, "no update was interrupted"
    with Store.open(path) as store:
        # Two versions in a row of this page never share a digest; of page 7 some do.
        text = store.query("SELECT text FROM contents WHERE page_id = 60")["text"][0].as_py()
        assert 60 in [result.page for result in SearchIndex(store).search(text, BATCH)]
