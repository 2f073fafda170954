"""The policy that ships, `user-centric`, on the cycles of a study.

It learns as in a replay: from a history of its own visits, and from no other copies.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.memory import MemoryHistory
from recrawl.lab.replay import TraceEngine, cycle_times
from recrawl.model import DAY
from recrawl.policies.user_centric import UserCentric
from recrawl.registry import make

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray
    from recrawl.papers.pandey.data import SearchStudy


@dataclass
class ShippedCrawl:
    """A policy, the history that it learns from, and the web that it visits."""

    study: SearchStudy
    policy: UserCentric
    history: MemoryHistory
    engine: TraceEngine
    times: FloatArray  #: of the cycles

    @staticmethod
    def start(study: SearchStudy, *, raw: bool = False) -> ShippedCrawl:
        """Before the first visit."""
        trace = study.trace
        known = np.zeros(len(trace), np.bool_)
        known[study.rows] = True
        history = MemoryHistory(
            trace.urls,
            make("detector", "digest"),
            seen=trace.window[0],
            known=known,
            copies=trace,
        )
        policy = UserCentric.of(study.workload, scoring=study.by, raw=raw)
        times = cycle_times(trace.window, study.every)
        engine = TraceEngine(trace)
        return ShippedCrawl(study, policy, history, engine, times)

    def copy(self) -> ShippedCrawl:
        """The same state, to go on from; what never changes is shared."""
        return deepcopy(self, {id(fixed): fixed for fixed in (self.study, self.study.trace)})

    def visit(self, page: IntArray, cycle: int) -> None:
        """Fetch some pages of the study in a cycle, and learn from them."""
        now = float(self.times[cycle])
        self.history.append(self.engine.visits(self.study.rows[page], now), now=now)
        self.policy.learn(self.history, self.history.pages(), now)

    def visit_all(self, cycles: range) -> None:
        """Fetch every page in each of these cycles."""
        for cycle in cycles:
            self.visit(np.arange(self.study.pages), cycle)

    def scores(self, cycle: int) -> FloatArray:
        """What the policy says of each page of the study before the visits of a cycle."""
        return self.policy.score(self.history.pages(), float(self.times[cycle]))

    def scores_after(self, days: FloatArray) -> FloatArray:
        """What it says, by what it knows now, if the last visit to each page was so long ago."""
        now = float(self.times[-1])
        pages = replace(self.history.pages(), last_visit=now - days * DAY)
        return self.policy.score(pages, now)
