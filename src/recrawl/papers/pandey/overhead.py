"""What does measuring gains cost while an index is updated? Figure 2 of the paper.

Two stores with the same pages take turns: one only indexes a batch of new copies, the other also
measures what each of them gains.
"""

from __future__ import annotations

import os
import platform
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import xxhash

from recrawl.history import Store
from recrawl.lab.experiment import ExperimentTask, digest, run_experiment
from recrawl.search.index import SearchIndex

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray
    from recrawl.search.workload import Workload

BATCHES = (500, 1000, 2000, 4000)  #: pages
TURNS, TURN = (
    3,
    2,
)  #: the fastest turn counts; in one of its two batches the curves are fitted again
WORDS_CUT = 5  #: from the beginning of every text, so that every page is indexed again


@dataclass(frozen=True)
class BatchCost:
    """The seconds that a batch takes, without and with measuring."""

    pages: int
    megabytes: float
    elapsed: tuple[float, float]
    processor: tuple[float, float]  #: of all threads; the index is written in a thread of its own
    machine: str

    @property
    def overheads(self) -> tuple[float, float]:
        """What measuring adds, as a share: of the time elapsed, and of the processor's."""
        return tuple(after / before - 1.0 for before, after in (self.elapsed, self.processor))  # type: ignore[return-value]


def batch_costs(
    trace: Trace, workload: Workload, folder: Path, batches: tuple[int, ...] = BATCHES
) -> list[BatchCost]:
    """The cost of batches of a trace's first copies; `folder` keeps the results."""
    sizes = sorted({min(pages, len(trace)) for pages in batches})
    key = digest(trace.name, trace.content, workload.vocabulary, workload.frequency, machine())
    tasks = [ExperimentTask(f"overhead-{size}", key, _run, (size,)) for size in sizes]
    results = run_experiment(tasks, folder, shared=(trace, workload))
    return [BatchCost(**result) for result in results.values()]


def machine() -> str:
    """The processor, and how many of it there are."""
    name, info = platform.processor() or platform.machine(), Path("/proc/cpuinfo")
    if info.is_file():
        lines = (line.partition(":") for line in info.read_text().splitlines())
        name = next((value.strip() for key, _, value in lines if "model name" in key), name)
    return f"{name}, {os.cpu_count()} processors"


def _run(shared: tuple[Trace, Workload], size: int) -> dict[str, Any]:
    trace, workload = shared
    page = np.flatnonzero(trace.live_at(trace.window[0]) >= 0)[:size]
    texts = trace.texts(page, np.full(len(page), trace.window[0])).fill_null("").to_pylist()
    took = np.zeros((TURNS * TURN, 2, 2))  # batch; elapsed and processor; without and with
    with tempfile.TemporaryDirectory() as folder:
        stores = [Store.open(Path(folder) / name, create=True) for name in ("without", "with")]
        indices = [SearchIndex(store) for store in stores]
        impacts = [None, indices[1].impact(workload)]
        for batch in range(-1, len(took)):  # the first one makes the index and the curves
            cut = [text.split(None, WORDS_CUT * (batch + 1)) for text in texts]
            copies = _visits([words[-1] if words else "" for words in cut], batch + 1)
            for i in (0, 1) if batch % 2 else (1, 0):
                stores[i].append(copies)
                begin = np.array([perf_counter(), process_time()])
                indices[i].update(impacts[i])
                if batch >= 0:
                    took[batch, :, i] = np.array([perf_counter(), process_time()]) - begin
    best: FloatArray = took.reshape(TURNS, TURN, 2, 2).mean(axis=1).min(axis=0)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    cost = BatchCost(len(page), megabytes, (*best[0].tolist(),), (*best[1].tolist(),), machine())
    return asdict(cost)


def _visits(texts: list[str], day: int) -> pa.Table:
    """Visits to as many pages that find these texts."""
    digests = [xxhash.xxh3_64_intdigest(text.encode()) for text in texts]
    at = pa.array([1_700_000_000_000_000 + day * 86_400_000_000] * len(texts))
    return pa.table(
        {
            "url": [f"https://a.example/{i}" for i in range(len(texts))],
            "at": at.cast(pa.timestamp("us", tz="UTC")),
            "digest": pa.array(digests, pa.uint64()),
            "digest_of": ["text"] * len(texts),
            "text": texts,
        }
    )
