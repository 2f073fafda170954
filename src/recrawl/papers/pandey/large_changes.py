"""Changes of a large part of a page's text, counted as the crawl sees them.

Staleness and embarrassment count only changes of more than `tau` of the shingles. A policy compares
the copies that it sees come in; for changes before that, it takes the history's word.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.allocate import freshness_rates
from recrawl.page.fingerprints import shingle_distance, shingles
from recrawl.policies.allocated import DAILY_SHARE
from recrawl.policies.user_centric import by_page
from recrawl.registry import make

if TYPE_CHECKING:
    from recrawl.model import FloatArray, KeyArray, Pages, Time
    from recrawl.protocols import Rate

SHINGLES_KEPT = 200  #: of a copy
MIN_WEIGHT = 1e-12  #: of a page that nobody views, as a share of the largest


class LargeChanges:
    """Base of policies that ignore small changes of the text."""

    sketch_: dict[int, KeyArray]  #: shingles of our copy, by page
    copied_at_: FloatArray  #: when the copy came, by page; NaN for none
    minor_: FloatArray | None = None  #: changes too small to count, by page
    tau: float
    inclusive: ClassVar[bool]  #: whether a change of exactly `tau` counts

    def compare_copies(self, pages: Pages) -> None:
        """Compare the copies that are new with those before them."""
        size = int(pages.page_id.max(initial=-1)) + 1
        if self.minor_ is None:
            self.sketch_, self.copied_at_, self.minor_ = {}, np.empty(0), np.empty(0)
        more = max(size - len(self.minor_), 0)
        minor = self.minor_ = np.append(self.minor_, np.zeros(more))
        copied_at = self.copied_at_ = np.append(self.copied_at_, np.full(more, np.nan))
        last = np.fmax(pages.last_change, pages.first_visit)
        rows = np.flatnonzero(~np.isnan(last) & (last != copied_at[pages.page_id]))
        some = pages.take(rows)
        copies = zip(
            some.page_id.tolist(), last[rows].tolist(), some.texts().to_pylist(), strict=True
        )
        for page, at, text in copies:
            if text is None:
                continue
            new = shingles(text, sample=SHINGLES_KEPT)
            if page in self.sketch_:
                distance = shingle_distance(self.sketch_[page], new, sample=SHINGLES_KEPT)
                is_large = distance >= self.tau if self.inclusive else distance > self.tau
                minor[page] += not is_large
            self.sketch_[page], copied_at[page] = new, at

    def large_changes(self, pages: Pages) -> FloatArray:
        """The number of each page's changes that count."""
        minor = np.zeros(len(pages)) if self.minor_ is None else by_page(self.minor_, pages)
        return np.maximum(pages.n_changes - minor, 0.0)


def visits_due(
    pages: Pages, changes: FloatArray, weight: FloatArray, visits_per_day: float, now: Time
) -> FloatArray:
    """Optimal visits a day × days since the last visit, given the changes that count."""
    if not len(pages):
        return np.zeros(0)
    counted = replace(pages, n_changes=changes.astype(pages.n_changes.dtype))
    estimator: Rate = make("rate", "cho")
    weight = np.maximum(weight, MIN_WEIGHT * max(float(weight.max()), 1.0))
    budget = visits_per_day or DAILY_SHARE * len(pages)
    return freshness_rates(estimator.rate(counted), budget, weight) * pages.days_since_visit(now)
