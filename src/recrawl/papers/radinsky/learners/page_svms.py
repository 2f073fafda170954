"""One calibrated SVM per page (§8.3): the probability of a change, given rows of features.

The calibration uses decision values of examples that the SVM was not trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import rows_of
from recrawl.papers.radinsky.learners.platt import fit_calibrated, probability
from recrawl.papers.radinsky.learners.svm import polynomial

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, KeyArray

MIN_EXAMPLES = 8  #: of a page; with fewer, its share of changes is used
MAX_EXAMPLES = 100  #: of a page, the newest
COST = 1.0


@dataclass(frozen=True)
class PageSvm:
    """The calibrated SVM of one page."""

    rows: FloatArray  #: standardised examples
    low: FloatArray  #: least value of each column of `rows`
    high: FloatArray
    mean: FloatArray
    deviation: FloatArray
    weight: FloatArray
    threshold: float
    line: tuple[float, float]

    def p_change(self, rows: FloatArray) -> FloatArray:
        """Probability of a change, by row of features."""
        scaled = np.nan_to_num((rows - self.mean) / self.deviation)
        # A cubic extrapolates wildly: a page not visited for long would seem never to change.
        scaled = np.clip(scaled, self.low, self.high)
        kernel = polynomial(scaled @ self.rows.T, rows.shape[1])
        return probability(kernel @ self.weight - self.threshold, self.line)


@dataclass(frozen=True)
class PageSvms:
    """Probability of a change, given rows of features and the key of the page of each row."""

    key: KeyArray  #: pages with examples, ascending
    n_examples: FloatArray
    n_changes: FloatArray
    svm: dict[int, PageSvm]  #: by place in `key`

    def __call__(self, rows: FloatArray, key: KeyArray) -> FloatArray:
        place = rows_of(key, self.key)
        known = place >= 0
        n_examples, n_changes = self.n_examples[place] * known, self.n_changes[place] * known
        p: FloatArray = (n_changes + 0.5) / (n_examples + 1.0)
        for i in np.flatnonzero(known & np.isin(place, list(self.svm))):
            p[i] = self.svm[int(place[i])].p_change(rows[i : i + 1])[0]
        return p


def fit_page_svms(rows: FloatArray, yes: BoolArray, key: KeyArray) -> PageSvms:
    """Fit an SVM for each page with enough examples of both labels."""
    order = np.argsort(key, kind="stable")
    keys, first, n_examples = np.unique(key[order], return_index=True, return_counts=True)
    n_changes = np.add.reduceat(yes[order].astype(np.float64), first)
    svm = {}
    for place, examples in enumerate(np.split(order, first[1:])):
        examples = examples[-MAX_EXAMPLES:]
        if len(examples) >= MIN_EXAMPLES and 1 < yes[examples].sum() < len(examples) - 1:
            svm[place] = _fit(rows[examples], yes[examples])
    return PageSvms(keys, n_examples.astype(np.float64), n_changes, svm)


def _fit(rows: FloatArray, yes: BoolArray) -> PageSvm:
    known = np.isfinite(rows)
    n_known = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, rows, 0.0).sum(axis=0) / n_known
    centred = np.where(known, rows - mean, 0.0)
    deviation = np.sqrt((centred**2).sum(axis=0) / n_known)
    deviation = np.where(deviation > 1e-12, deviation, np.inf)  # a constant column is ignored
    scaled = centred / deviation
    kernel = polynomial(scaled @ scaled.T, rows.shape[1])
    weight, threshold, line = fit_calibrated(kernel, yes, COST)
    ends = scaled.min(axis=0), scaled.max(axis=0)
    return PageSvm(scaled, *ends, mean, deviation, weight, float(threshold), line)
