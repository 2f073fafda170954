"""How likely is a result viewed at its rank? I(r) = c·r^(−a).

a is 3/2 in AltaVista's logs (Cho & Roy 2004), or fitted to the ranks that your users clicked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from scipy.optimize import minimize_scalar
from scipy.special import zeta

from recrawl.errors import BadInput
from recrawl.search.curves import LOG_PAGES, NO_PAGES, log_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.query_scores import QueryScores
    from recrawl.search.workload import Workload

DEFAULT_EXPONENT = 1.5
MIN_EXPONENT, MAX_EXPONENT = 1.01, 6.0  #: the sum of I over all ranks is finite above 1


def scale(exponent: float = DEFAULT_EXPONENT) -> float:
    """The c for which I sums to 1 over all ranks."""
    return 1.0 / float(zeta(exponent))


def view_probabilities(ranks: int, exponent: float = DEFAULT_EXPONENT) -> FloatArray:
    """I(r) at place r, for r = 1 … `ranks`; place 0, no rank, has 0."""
    p_view = np.zeros(ranks + 1)
    p_view[1:] = scale(exponent) * np.arange(1.0, ranks + 1.0) ** -exponent
    return p_view


def view_exponent(workload: Workload) -> float:
    """The exponent fitted to the clicks that came with the queries; AltaVista's without clicks."""
    return fit_exponent(workload.clicked) if len(workload.clicked) else DEFAULT_EXPONENT


def fit_exponent(clicked: FloatArray) -> float:
    """The exponent most likely to give these ranks of clicked results.

    >>> import numpy as np
    >>> round(fit_exponent(np.repeat([1.0, 2.0, 3.0], [1000, 354, 192])), 1)
    1.5
    """
    known = clicked[np.isfinite(clicked)]
    if len(known) < 2 or known.max() == known.min():
        raise BadInput(
            "A click curve must be fitted to clicks at different ranks. "
            f"Got {len(known)} at {len(np.unique(known))} ranks; leave the ranks out."
        )
    ranks, logs = np.arange(1.0, known.max() + 1.0), float(np.log(known).mean())
    best = minimize_scalar(
        lambda a: a * logs + np.log((ranks**-a).sum()),
        bounds=(MIN_EXPONENT, MAX_EXPONENT),
        method="bounded",
    )
    return float(best.x)


def estimate_views(
    scores: QueryScores, frequency: FloatArray, curves: NDArray[np.float32], exponent: float
) -> tuple[FloatArray, FloatArray]:
    """Views of each text, by the ranks that curves give it; and its visibility, views × score.

    `frequency` is how often each query is asked.
    """
    views, visibility = np.zeros((2, len(scores.start) - 1))
    columns = (scores.start, scores.query, scores.score)
    _view_all(columns, scale(exponent) * frequency, curves, exponent, views, visibility)
    return views, visibility


@njit(cache=True, nogil=True)
def view_at(score, curve, exponent):  # type: ignore[no-untyped-def]
    """I at the rank of a score, / c; 0 for a score of 0, which has no rank."""
    if score <= 0.0:
        return 0.0
    if curve[LOG_PAGES] == NO_PAGES:  # no page matched: this one is the whole answer
        return 1.0
    return np.exp(-exponent * log_rank(np.log(score), curve))


@njit(cache=True, nogil=True)
def _view_all(scores, frequency, curves, exponent, views, visibility):  # type: ignore[no-untyped-def]
    start, query, score = scores
    for text in range(len(views)):
        for at in range(start[text], start[text + 1]):
            often = frequency[query[at]] * view_at(score[at], curves[query[at]], exponent)
            views[text] += often
            visibility[text] += often * score[at]
