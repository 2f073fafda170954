"""Which pages now, by the rivals of user-centric crawling? Stale copies, or embarrassing ones.

Only changes of a large part of the text count: more than `tau` of the shingles. Those that a policy
sees happen it judges itself; of those before, the history says what counted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.allocate import freshness_rates
from recrawl.page.fingerprints import shingle_distance, shingles
from recrawl.policies.allocated import SHARE
from recrawl.policies.user_centric import Searched, of
from recrawl.registry import make

if TYPE_CHECKING:
    from recrawl.model import FloatArray, KeyArray, Pages, Time
    from recrawl.protocols import History, Rate

SAMPLE = 200  #: shingles of a copy that are kept
LEAST = 1e-12  #: weight of a page that nobody looks at, of the largest


class Judged:
    """How much of each page's text its changes changed, as far as they were seen to happen."""

    sketch_: dict[int, tuple[float, KeyArray]] | None = None  #: by page: when, and its shingles
    minor_: FloatArray | None = None  #: changes too small to count, by page
    tau: float
    inclusive: ClassVar[bool]  #: a change of just `tau` counts

    def judge(self, pages: Pages) -> None:
        """Compare the copies that came since with those before."""
        known = self.sketch_ if self.sketch_ is not None else {}
        size = int(pages.page_id.max(initial=-1)) + 1
        minor = np.zeros(size)
        if self.minor_ is not None:
            minor[: len(self.minor_)] = self.minor_
        last = np.fmax(pages.last_change, pages.first_visit)
        when = np.array([known[p][0] if p in known else np.nan for p in pages.page_id.tolist()])
        rows = np.flatnonzero(~np.isnan(last) & (last != when))
        some = pages.take(rows)
        told = zip(
            some.page_id.tolist(), last[rows].tolist(), some.texts().to_pylist(), strict=True
        )
        for page, at, text in told:
            if text is None:
                continue
            new = shingles(text, sample=SAMPLE)
            if page in known:
                differs = shingle_distance(known[page][1], new, sample=SAMPLE)
                counts = differs >= self.tau if self.inclusive else differs > self.tau
                minor[page] += not counts
            known[page] = (at, new)
        self.sketch_, self.minor_ = known, minor

    def large(self, pages: Pages) -> FloatArray:
        """The changes of each page that count."""
        minor = np.zeros(len(pages)) if self.minor_ is None else of(self.minor_, pages)
        return np.maximum(pages.n_changes - minor, 0.0)


class Staleness(Judged):
    """Fewest stale copies, small changes of texts aside (Pandey & Olston 2005 after Cho)."""

    name: ClassVar[str] = "staleness"
    inclusive: ClassVar[bool] = False

    def __init__(self, *, tau: float = 0.1, visits_per_day: float = 0.0) -> None:
        self.tau = tau
        self.visits_per_day = visits_per_day

    def learn(self, history: History, pages: Pages, now: Time) -> None:  # noqa: ARG002
        """Judge the changes that were seen since."""
        self.judge(pages)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        return _due(pages, self.large(pages), np.ones(len(pages)), self.visits_per_day, now)


class Embarrassment(Searched, Judged):
    """Fewest clicks on copies that were about something else (Wolf et al. 2002)."""

    name: ClassVar[str] = "embarrassment"
    inclusive: ClassVar[bool] = True

    def __init__(
        self,
        *,
        queries: str = "",
        scoring: str = "tfidf",
        tau: float = 0.1,
        visits_per_day: float = 0.0,
    ) -> None:
        self.queries = queries
        self.scoring = scoring
        self.tau = tau
        self.visits_per_day = visits_per_day

    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Judge the changes that were seen since, and take up what searchers see."""
        super().learn(history, pages, now)
        self.judge(pages)

    def score(self, pages: Pages, now: Time) -> FloatArray:
        changes = pages.n_changes.astype(np.float64)
        part = np.divide(self.large(pages), changes, out=np.ones(len(pages)), where=changes > 0)
        looks = np.ones(len(pages)) if self.watched_ is None else of(self.watched_.looks, pages)
        return _due(pages, changes, part * looks, self.visits_per_day, now)


def _due(
    pages: Pages, changes: FloatArray, weight: FloatArray, visits_per_day: float, now: Time
) -> FloatArray:
    """Optimal visits a day × days since the last: what is due, within whatever a plan allows."""
    if not len(pages):
        return np.zeros(0)
    counted = replace(pages, n_changes=changes.astype(pages.n_changes.dtype))
    estimator: Rate = make("rate", "cho")
    weight = np.maximum(weight, LEAST * max(float(weight.max()), 1.0))
    budget = visits_per_day or SHARE * len(pages)
    return freshness_rates(estimator.rate(counted), budget, weight) * pages.days_since_visit(now)
