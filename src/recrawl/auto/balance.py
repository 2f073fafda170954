"""How far may visits follow the change rates before copies become less fresh than oldest first?

A policy that visits the page with the highest λ^a·t visits each page every T = c·λ^−a days. With
a = 1 most visits find a change, with a = 0 the oldest copy is first. A copy is fresh for
(1 − e^−λT)/λT of the time, which is convex in λT. So at known rates:

- With a = 1 copies are never fresher than oldest first (Jensen), and as fresh in the limit of a
  large budget. What is lost grows with the load, the changes a day for each visit a day.
- As a grows from 0 to 1, freshness rises and then falls. The largest a at which copies are as fresh
  as oldest first finds most changes among those that lose nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto.base_rate import PAGE_PRIOR_HITS

if TYPE_CHECKING:
    from recrawl.model import FloatArray

SLACK = 0.002  #: of freshness that may be lost to oldest first
N_BINS = 64  #: of rates, by their logarithm
HITS = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)  #: where classes of pages begin, by the hits seen
EXPONENTS = np.linspace(0.0, 1.0, 41)
#: At least this, so that some of the changes of an overloaded crawl are found: there rates are the
#: least certain, and the formula loses changes for a freshness that real pages do not give back.
MIN_EXPONENT = 0.4


def exponent(rate: FloatArray, hits: FloatArray, visits_a_day: float) -> float:
    """The largest a, at least MIN_EXPONENT, for this many visits a day; 1 if nothing is known.

    `rate` is estimated from the `hits` of each page.
    """
    if not len(rate) or not visits_a_day > 0.0:
        return 1.0
    edges = [np.histogram_bin_edges(np.log(rate), N_BINS), np.array([*HITS, np.inf])]
    count, (log_rate, _) = np.histogramdd([np.log(rate), hits], edges)
    row, column = np.nonzero(count)
    middle = np.exp((log_rate[1:] + log_rate[:-1]) / 2.0)[row]
    some = (middle, np.array(HITS)[column], count[row, column])
    fresh = np.array([freshness(*some, visits_a_day, a) for a in EXPONENTS])
    return max(float(EXPONENTS[fresh >= fresh[0] - SLACK].max()), MIN_EXPONENT)


def freshness(
    rate: FloatArray, hits: FloatArray, pages: FloatArray, visits_a_day: float, a: float
) -> float:
    """The expected share of fresh copies if each page is visited every c·λ^−a days.

    `pages` counts the pages of each rate and number of hits. An estimated rate is uncertain:
    a gamma distribution with that mean and the shape k = hits + ½. Then (1 − e^−x)/x, with x = λT,
    becomes ((1 + x/k)^(1−k) − 1) / ((1 − k)·x/k).
    """
    weight = rate**a
    due = rate * (pages @ weight) / (visits_a_day * weight)
    shape = hits + PAGE_PRIOR_HITS
    fresh = np.expm1((1.0 - shape) * np.log1p(due / shape)) / ((1.0 - shape) * due / shape)
    return float(pages @ fresh / pages.sum())
