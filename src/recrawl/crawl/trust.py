"""Does a 304 mean what it says? Conditional requests only where validators have proved true."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY
from recrawl.random import uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.history import Store
    from recrawl.model import IntArray, Pages, Time

AUDITED = 0.1  #: share of the requests sent without validators, to see whether they tell the truth
FORGIVEN = 0.05  #: share of the changes on a host that its validators may have missed
EVERY = DAY  #: between two looks at how they fared


class Trust:
    """The validators of a store's pages, withheld from hosts that lie and from some to see."""

    def __init__(self, store: Store, clock: Callable[[], Time], seed: int = 0) -> None:
        self.store = store
        self.clock = clock
        self.seed = seed
        self._looked = -np.inf
        self._liars: IntArray = np.empty(0, np.int64)

    def validators(self, pages: Pages) -> tuple[list[str | None], list[float | None]]:
        """ETag and time of Last-Modified to send for each page; None: ask for the whole page."""
        now = self.clock()
        if now - self._looked >= EVERY:
            self._liars, self._looked = self._lying(), now
        etag, modified = self.store.validators(pages.page_id)
        audited = uniform(pages.key, self.seed, now) < AUDITED
        for row in np.flatnonzero(audited | np.isin(pages.host, self._liars)).tolist():
            etag[row] = modified[row] = None
        return etag, modified

    def _lying(self) -> IntArray:
        """The hosts whose validators missed more changes than can be forgiven."""
        found: IntArray = self.store.query(_LYING, FORGIVEN)["host_id"].to_numpy()
        return found


# A change that validators missed came with those of the copy before it, or by its own date had been
# there when a 304 denied it.
_LYING = """
WITH told AS (
    SELECT page_id, changed,
           coalesce(last_modified < lag(CASE WHEN status = 304 THEN visits.at END) OVER earlier,
                    etag = lag(etag) OVER earlier,
                    last_modified = lag(last_modified) OVER earlier) AS missed
    FROM visits WHERE status BETWEEN 200 AND 299 OR status = 304
    WINDOW earlier AS (PARTITION BY page_id ORDER BY visits.at))
SELECT host_id FROM told JOIN pages USING (page_id) WHERE changed
GROUP BY host_id HAVING count(*) FILTER (missed) > ? * count(*)
"""
