"""The thesis's baselines that are not formulas of n, X and t: Rand, and the weighted ones by cycle.

The text of the thesis weighs the downloads of a page; its program weighs cycles, downloaded or not
(`rates.weighted` has both for the policies). In cycle c:

NAD = X / (c − 1), which ranks like t·X · SAD = 1 if the last change was seen in cycle c − 1
AAD = Σ i / (1 + … + (c − 1)) · GAD = Σ 2^(i−1) / (2^(c−1) − 1), over the cycles i that saw a change
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.evolve.page_simulation import best_rows, find_changed

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.evolve.simulator import Simulator
    from recrawl.model import BoolArray, FloatArray, IntArray


@dataclass
class CycleRecord:
    """The cycles in which visits to each page showed a change, as the weighted baselines need them.

    Pages are in the order of their priority in ties.
    """

    changes: FloatArray
    last_change: FloatArray  #: cycle; 0 for none
    cycle_sum: FloatArray
    halved: FloatArray  #: Σ 2^(i − c), one half for the cycle before this one

    @classmethod
    def empty(cls, pages: int) -> CycleRecord:
        return cls(*np.zeros((4, pages)))

    def add(self, rows: IntArray, changed: BoolArray, now: int) -> None:
        """Visits of cycle `now`, the last before the next cycle begins."""
        hit = rows[changed]
        self.changes[hit] += 1.0
        self.last_change[hit] = now
        self.cycle_sum[hit] += now
        self.halved[hit] += 1.0
        self.halved /= 2.0


#: Σ of the weights of the changes seen, and Σ of all weights, in cycle `now`.
CODE_WEIGHTS: Final[dict[str, Callable[[CycleRecord, int], tuple[FloatArray, float]]]] = {
    "NAD (code)": lambda record, now: (record.changes, now - 1.0),
    "SAD (code)": lambda record, now: ((record.last_change == now - 1).astype(np.float64), 1.0),
    "AAD (code)": lambda record, now: (record.cycle_sum, now * (now - 1) / 2),
    "GAD (code)": lambda record, now: (record.halved, 1.0 - 0.5 ** (now - 1)),
}


def code_ratio(world: Simulator, name: str) -> FloatArray:
    """The change ratio by cycle of φ = 1 − e^(−λt), λ as the thesis's program computes it."""
    weights = CODE_WEIGHTS[name]

    def choose(record: CycleRecord, age: IntArray, now: int) -> IntArray:
        seen, total = weights(record, now)
        # Divided last: pages whose λt is the same number must tie.
        return best_rows(1.0 - np.exp(-(seen * age / total)), world.fetches, ordered=False)

    return _ratio(world, choose)


def random_ratio(world: Simulator) -> FloatArray:
    """The change ratio by cycle of fetches that are drawn at random."""
    random = np.random.default_rng(world.seed)
    return _ratio(world, lambda _, age, __: random.permutation(len(age))[: world.fetches])


def _ratio(
    world: Simulator, choose: Callable[[CycleRecord, IntArray, int], IntArray]
) -> FloatArray:
    pages, ratio = len(world.changes), []
    record, last = CycleRecord.empty(pages), np.zeros(pages, np.int64)
    for now in range(1, world.changes.cycles + 1):
        is_warm_up = now <= world.warm_up
        chosen = np.arange(pages) if is_warm_up else choose(record, now - last, now)
        changed = find_changed(world.words, world.contents, chosen, last, now)
        record.add(chosen, changed, now)
        last[chosen] = now
        if not is_warm_up:
            ratio.append(float(changed.sum()) / max(world.fetches, 1))
    return np.array(ratio)
