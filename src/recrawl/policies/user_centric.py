"""Which pages now, so that searchers notice?

Pandey & Olston 2005: the gain of a page's refreshes so far tells that of the next. Their mean a day
× days since the refresh starves pages that never gained; hence the shrunk form, the default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.model import DAY
from recrawl.policies.objectives import freshness
from recrawl.search.index import SearchIndex
from recrawl.search.queries import read_workload
from recrawl.search.static import WEIGHTS, edges
from recrawl.search.watched import Watched

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History
    from recrawl.search.queries import Workload

PRIOR_DAYS = 56.0  #: what the mean rate of all pages counts for, beside a page's own
PRIOR_CHANGES = 2.0  #: and what visibility counts for, beside the gains of a page's own changes


def worth(gain: FloatArray, changes: FloatArray, visibility: FloatArray) -> FloatArray:
    """Gain a change, by page: its own so far, shrunk towards its visibility.

    So a page that was never seen to gain, but that is often looked at, is worth a visit.
    """
    each = (gain + PRIOR_CHANGES * visibility) / (changes + PRIOR_CHANGES)
    return np.maximum(each, 0.0)


def shrunk_rate(changes: FloatArray, days: FloatArray) -> FloatArray:
    """Changes a day by page, shrunk towards the mean of all pages; > 0."""
    mean = (float(changes.sum()) + 0.5) / (float(days.sum()) + 0.5)
    return np.asarray((changes + PRIOR_DAYS * mean) / (days + PRIOR_DAYS))


def index(each: FloatArray, rate: FloatArray, days: FloatArray) -> FloatArray:
    """Gain a change × the freshness index: worth of a visit so long after the last."""
    return each * freshness(rate, days)


class Searched:
    """What a policy knows of what searchers see; `queries` is a file of what they ask."""

    watched_: Watched | None = None
    queries: str
    scoring: str
    half_life: float = 0.0

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Take up the copies that came since, and what their changes gained."""
        if not self.queries:
            return
        database = history.database()
        index = None if database is None else SearchIndex(database)
        if self.watched_ is None:
            measure = Watched.of if index is None else index.watched
            self.watched_ = measure(self._workload(now), by=self.scoring)
        self._weigh(pages)
        if index is None:
            self.watched_.watch(pages)
        else:
            index.update(self.watched_)

    def _workload(self, now: Time) -> Workload:
        aged = self.half_life * DAY
        return (
            read_workload(self.queries, now=now, half_life=aged)
            if aged
            else read_workload(self.queries)
        )

    def _weigh(self, pages: Pages) -> None:
        """The weights of pages, where those are their scores; once, they hardly change."""
        if self.scoring in WEIGHTS and self.watched_ is not None and self.watched_.weight is None:
            weight = np.zeros(int(pages.page_id.max(initial=-1)) + 1)
            weight[pages.page_id] = WEIGHTS[self.scoring](*edges(pages), len(pages))
            self.watched_.weight = weight


class UserCentric(Searched):
    """Most use to searchers; `queries` is a file of what they ask (Pandey & Olston 2005).

    Of a search log, queries `half_life` days old count half. `raw` ranks by the paper's mean gain ×
    age, which starves pages without a gain. Without queries all pages count alike. On a store gains
    are measured while its search index is updated.
    """

    name: ClassVar[str] = "user-centric"

    def __init__(
        self,
        *,
        queries: str = "",
        scoring: str = "tfidf",
        half_life: float = 0.0,
        raw: bool = False,
    ) -> None:
        self.queries = queries
        self.scoring = scoring
        self.half_life = half_life
        self.raw = raw

    def score(self, pages: Pages, now: Time) -> FloatArray:
        days, seen = pages.days_since_visit(now), self.watched_
        if self.raw and seen is not None:
            return of(seen.daily, pages) / np.maximum(pages.n_compared, 1) * days
        each = np.ones(len(pages))
        if seen is not None:
            each = worth(*(of(c, pages) for c in (seen.gain, seen.changes, seen.visible)))
        return index(each, shrunk_rate(pages.n_changes.astype(np.float64), pages.exposure), days)


def of(column: FloatArray, pages: Pages) -> FloatArray:
    """A column of watched pages for these; 0 where a page is not watched yet."""
    found = np.zeros(max(int(pages.page_id.max(initial=-1)) + 1, len(column)))
    found[: len(column)] = column
    return found[pages.page_id]
