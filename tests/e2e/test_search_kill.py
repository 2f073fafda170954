"""SIGKILL while an index is updated: opened again, it says what it lacks, and then agrees."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time

import numpy as np
from support import BATCH, asked, batch, index_pages

from recrawl.history import Store
from recrawl.search.index import SearchIndex
from recrawl.search.terms import count_terms

KILLS = 30


def test_sigkill_during_updates_leaves_an_index_that_can_be_made_good(tmp_path, caplog):
    path = tmp_path / "store"
    with Store.open(path, create=True) as store:
        store.append(batch(0))
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["support", "tantivy", "recrawl.search.index"])
    rng, lacking = random.Random(4), 0
    for _ in range(KILLS):
        ours, theirs = context.Pipe(duplex=False)
        writer = context.Process(target=index_pages, args=(str(path), theirs))
        writer.start()
        theirs.close()
        assert ours.poll(120), "the writer never began"
        time.sleep(rng.uniform(0, 0.2))
        os.kill(writer.pid, signal.SIGKILL)
        writer.join()
        ours.close()
        with Store.open(path) as store:
            index = SearchIndex(store)
            anew, gone = index.outdated()
            impact = index.impact(asked())
            done = index.update(impact)
            assert (done.indexed, done.removed) == (anew.tolist(), gone.tolist())
            assert [len(rows) for rows in index.outdated()] == [0, 0]
            assert len(index) == BATCH
            lacking += bool(len(anew))
            texts = store.query("SELECT text FROM contents ORDER BY page_id")["text"]
            held, said = (
                impact.terms.take(np.arange(BATCH)),
                count_terms(texts.combine_chunks(), impact.vocabulary),
            )
            assert all(
                np.array_equal(a, b)
                for a, b in zip(vars(held).values(), vars(said).values(), strict=True)
            )
    assert not caplog.text, "what was measured was damaged"
    assert lacking, "no update was cut off"
    with Store.open(path) as store:
        said = store.query("SELECT text FROM contents WHERE page_id = 7")["text"][0].as_py()
        assert 7 in [found.page for found in SearchIndex(store).search(said, BATCH)]
