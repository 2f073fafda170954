"""Which pages now, so that searchers notice? (Pandey & Olston 2005)

The gains of a page's past refreshes predict that of the next one. The paper ranks by mean gain a
day × days since the refresh, which starves pages that never gained; the default shrinks both the
gain and the rate of change instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.model import DAY
from recrawl.policies.indices import freshness
from recrawl.search.impact import SearchImpact
from recrawl.search.index import SearchIndex
from recrawl.search.queries import read_workload

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages, Time
    from recrawl.protocols import History
    from recrawl.search.workload import Workload

PRIOR_DAYS = 56.0  #: weight of the mean rate of all pages, in days of a page's own exposure
#: Weight of what a page's visibility lets expect, in changes of its own. Few changes gain much, so
#: the gains of a few say little about the next.
PRIOR_CHANGES = 10.0
UNSEEN = 0.1  #: what a page that no query finds may come to mean, in mean visibilities of all pages


def gain_per_change(gain: FloatArray, changes: FloatArray, visibility: FloatArray) -> FloatArray:
    """Mean gain of a page's changes, shrunk towards the mean share of its visibility.

    That share is the gain of all changes / the visibility of the pages that changed. So a page that
    is often viewed is worth a visit before any of its refreshes gained. Before anything gained, all
    of the visibility is at stake.
    """
    at_stake = visibility + UNSEEN * visibility.mean() if len(visibility) else visibility
    changed = float((changes * at_stake).sum())
    share = float(gain.sum()) / changed if gain.sum() > 0.0 < changed else 1.0
    expected = share * at_stake
    return np.maximum((gain + PRIOR_CHANGES * expected) / (changes + PRIOR_CHANGES), 0.0)


def shrunk_rate(changes: FloatArray, days: FloatArray) -> FloatArray:
    """Changes a day by page, shrunk towards the mean of all pages; > 0."""
    mean = (float(changes.sum()) + 0.5) / (float(days.sum()) + 0.5)
    return np.asarray((changes + PRIOR_DAYS * mean) / (days + PRIOR_DAYS))


def refresh_worth(per_change: FloatArray, rate: FloatArray, days: FloatArray) -> FloatArray:
    """Gain a change × the freshness index of a visit `days` after the last one."""
    return per_change * freshness(rate, days)


class SearchAware:
    """Base of policies that know the impact of pages on search; `queries` is a file of queries."""

    impact_: SearchImpact | None = None
    queries: str
    scoring: str
    half_life: float = 0.0

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Take in the copies that came since, and what their changes gained."""
        if self.impact_ is None and not self.queries:
            return
        database = history.database()
        index = None if database is None else SearchIndex(database)
        if self.impact_ is None:
            measure = SearchImpact.of if index is None else index.impact
            self.impact_ = measure(self._workload(now), self.scoring)
        if index is None:
            self.impact_.update(pages)
        else:
            index.update(self.impact_, pages)

    def _workload(self, now: Time) -> Workload:
        if not self.half_life:
            return read_workload(self.queries)
        return read_workload(self.queries, now=now, half_life=self.half_life * DAY)


class UserCentric(SearchAware):
    """Most use to searchers; `queries` is a file of what they ask (Pandey & Olston 2005).

    Queries of a search log count half when they are `half_life` days old. `raw` ranks by the
    paper's mean gain × age, which starves pages without a gain. Without queries all pages count
    alike. On a store, gains are measured while its search index is updated.
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

    @staticmethod
    def of(workload: Workload, *, scoring: str = "tfidf", raw: bool = False) -> UserCentric:
        """The policy for a workload in memory."""
        policy = UserCentric(scoring=scoring, raw=raw)
        policy.impact_ = SearchImpact.of(workload, scoring)
        return policy

    def score(self, pages: Pages, now: Time) -> FloatArray:
        days, impact = pages.days_since_visit(now), self.impact_
        if self.raw and impact is not None:
            return by_page(impact.daily_gain, pages) / np.maximum(pages.n_compared, 1) * days
        worth = np.ones(len(pages))
        if impact is not None:
            columns = (impact.gain, impact.changes, impact.visibility)
            worth = gain_per_change(*(by_page(column, pages) for column in columns))
        rate = shrunk_rate(pages.n_changes.astype(np.float64), pages.exposure)
        return refresh_worth(worth, rate, days)


def by_page(column: FloatArray, pages: Pages) -> FloatArray:
    """The values of these pages in a column whose row i is page i; 0 beyond its end."""
    values = np.zeros(max(int(pages.page_id.max(initial=-1)) + 1, len(column)))
    values[: len(column)] = column
    return values[pages.page_id]
