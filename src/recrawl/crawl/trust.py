"""Can a 304 be trusted? Sends validators (ETag, Last-Modified) only to hosts where they work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import DAY
from recrawl.random import uniform

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.history import Store
    from recrawl.model import IntArray, Pages, Time

AUDITED_SHARE = 0.1  #: requests sent without validators, to check what a 304 would have said
MAX_MISSED_SHARE = 0.05  #: changes on a host that its validators may have missed
CHECK_SECONDS = DAY  #: between two checks of which hosts miss changes


class ValidatorTrust:
    """Validators of a store's pages, without those of unreliable hosts and of audited requests."""

    def __init__(self, store: Store, clock: Callable[[], Time], seed: int = 0) -> None:
        self.store = store
        self.clock = clock
        self.seed = seed
        self._checked_at = -np.inf
        self._unreliable: IntArray = np.empty(0, np.int64)

    def validators(self, pages: Pages) -> tuple[list[str | None], list[float | None]]:
        """ETag and time of Last-Modified to send for each page; None: request the whole page."""
        now = self.clock()
        if now - self._checked_at >= CHECK_SECONDS:
            self._unreliable, self._checked_at = self._unreliable_hosts(), now
        etag, modified = self.store.validators(pages.page_id)
        audited = uniform(pages.key, self.seed, now) < AUDITED_SHARE
        for row in np.flatnonzero(audited | np.isin(pages.host, self._unreliable)).tolist():
            etag[row] = modified[row] = None
        return etag, modified

    def _unreliable_hosts(self) -> IntArray:
        """Hosts whose validators missed more than MAX_MISSED_SHARE of the changes."""
        hosts: IntArray = self.store.query(_UNRELIABLE, MAX_MISSED_SHARE)["host_id"].to_numpy()
        return hosts


# Validators missed a change if it came with the validators of the copy before it, or if by its own
# date it was there when a 304 denied it.
_UNRELIABLE = """
WITH compared AS (
    SELECT page_id, changed,
           coalesce(last_modified < lag(CASE WHEN status = 304 THEN visits.at END) OVER earlier,
                    etag = lag(etag) OVER earlier,
                    last_modified = lag(last_modified) OVER earlier) AS missed
    FROM visits WHERE status BETWEEN 200 AND 299 OR status = 304
    WINDOW earlier AS (PARTITION BY page_id ORDER BY visits.at))
SELECT host_id FROM compared JOIN pages USING (page_id) WHERE changed
GROUP BY host_id HAVING count(*) FILTER (missed) > ? * count(*)
"""
