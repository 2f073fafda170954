"""How likely is a result looked at, by its rank? I(r) = c·r^(−a).

a is 3/2 in AltaVista's logs (Cho & Roy 2004), or fitted to the ranks that your users clicked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit
from scipy.optimize import minimize_scalar
from scipy.special import zeta

from recrawl.errors import BadInput
from recrawl.search.curves import LENGTH, NONE, log_rank

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray
    from recrawl.search.queries import Workload
    from recrawl.search.terms import Counts

EXPONENT = 1.5
LEAST, MOST = 1.01, 6.0  #: what an exponent may be; the sum of all I is finite above 1


def scale(exponent: float = EXPONENT) -> float:
    """The c for which I sums to 1 over all ranks."""
    return 1.0 / float(zeta(exponent))


def inspection(ranks: int, exponent: float = EXPONENT) -> FloatArray:
    """I(r) at place r, from 0, which is no rank and never looked at, to `ranks`."""
    looked = np.zeros(ranks + 1)
    looked[1:] = scale(exponent) * np.arange(1.0, ranks + 1.0) ** -exponent
    return looked


def exponent_of(workload: Workload) -> float:
    """The exponent fitted to the clicks that came with the queries; that of AltaVista if none."""
    return fitted(workload.clicked) if len(workload.clicked) else EXPONENT


def fitted(clicked: FloatArray) -> float:
    """The exponent most likely to give these ranks of clicked results, up to the largest of them.

    >>> import numpy as np
    >>> round(fitted(np.repeat([1.0, 2.0, 3.0], [1000, 354, 192])), 1)
    1.5
    """
    known = clicked[np.isfinite(clicked)]
    if len(known) < 2 or known.max() == known.min():
        raise BadInput(
            "A click curve must be fitted to clicks at different ranks. "
            f"Got {len(known)} at {len(np.unique(known))} ranks; leave the ranks out."
        )
    ranks, logs = np.arange(1.0, known.max() + 1.0), float(np.log(known).mean())
    found = minimize_scalar(
        lambda a: a * logs + np.log((ranks**-a).sum()), bounds=(LEAST, MOST), method="bounded"
    )
    return float(found.x)


def looks(
    counts: Counts,
    score: FloatArray,
    asked: FloatArray,
    curve: NDArray[np.float32],
    exponent: float,
) -> tuple[FloatArray, FloatArray]:
    """How often each text is looked at, by the ranks that curves give it; and × its scores."""
    with np.errstate(divide="ignore"):  # of 0, which has no rank
        log = np.log(score.astype(np.float32))
    _log_ranks(counts.term, log, curve)
    looked, visible = np.zeros((2, len(counts.length)))
    look = np.exp(log * np.float32(-exponent))
    _sum(counts.start, counts.term, look, score, asked * scale(exponent), looked, visible)
    return looked, visible


@njit(cache=True, nogil=True)
def _log_ranks(term, log, curves):  # type: ignore[no-untyped-def]
    for at in range(len(term)):
        curve = curves[term[at]]
        none = log[at] == -np.inf or curve[LENGTH] == NONE
        log[at] = np.inf if none else log_rank(log[at], curve)


@njit(cache=True, nogil=True)
def _sum(start, term, look, score, asked, looked, visible):  # type: ignore[no-untyped-def]
    for text in range(len(looked)):
        for at in range(start[text], start[text + 1]):
            often = look[at] * asked[term[at]]
            looked[text] += often
            visible[text] += often * score[at]
