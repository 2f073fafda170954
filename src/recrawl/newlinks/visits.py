"""What did visits show in links?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.history.intervals import owners, past

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Pages

MANY = 1e12  #: links: more than any page has


@dataclass(frozen=True)
class LinkVisits:
    """What compared visits showed in links: a row a visit, pages and times ascending."""

    page: IntArray  #: row of the page
    at: FloatArray
    days: FloatArray  #: since the copy before
    new: FloatArray  #: links that it had not
    any: FloatArray  #: 1 if there were any
    links: FloatArray  #: by page: how many its last visit showed; MANY unknown
    pages: int

    def over_page(self, column: FloatArray) -> FloatArray:
        """The sum of a column over the visits to each page."""
        sums: FloatArray = np.bincount(self.page, column, minlength=self.pages)  # type: ignore[assignment]
        return sums


def shown(pages: Pages, *, never_seen: bool = False) -> LinkVisits:
    """The visits of which links are known; on request only links that no page had held count."""
    found = past(pages, never_seen=never_seen)
    page, new = owners(found.start), found.new_internal + found.new_external
    links = np.full(len(pages), MANY)
    counted = np.isfinite(found.links)
    links[page[counted]] = found.links[counted]  # oldest first, so the newest stays
    known = np.isfinite(new)
    new = new[known]
    event = (new > 0).astype(np.float64)
    return LinkVisits(
        page[known], found.at[known], found.days[known], new, event, links, len(pages)
    )
