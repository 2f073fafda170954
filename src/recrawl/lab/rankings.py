"""How well one ranking agrees with another, and how well probabilities are calibrated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray


def precision_at(truth: FloatArray, forecast: FloatArray) -> FloatArray:
    """Precision@k for k = 1 … n: the share of the true top k among the forecast's top k.

    Ties, in both rankings, are broken at random and independently; this is the exact expectation
    over all ways to break them (Dang et al. 2021 average five).
    """
    top = np.arange(1.0, len(truth) + 1.0)
    result = np.zeros(len(truth))
    # Pages with the same places in both rankings have the same probabilities.
    places = np.column_stack([*_places(truth), *_places(forecast)])
    kinds, counts = np.unique(places, axis=0, return_counts=True)
    for (above, beside, above_too, beside_too), count in zip(kinds, counts, strict=True):
        result += np.multiply(
            count * _chance(top, above, beside), _chance(top, above_too, beside_too)
        )
    return result / top


def _places(score: FloatArray) -> tuple[FloatArray, FloatArray]:
    best, worst = rankdata(-score, "min"), rankdata(-score, "max")
    return best - 1.0, worst - best + 1.0


def _chance(top: FloatArray, above: float, beside: float) -> FloatArray:
    """The probability to be in the top k, with `above` pages above and `beside` pages tied."""
    return np.clip((top - above) / beside, 0.0, 1.0)


def area(truth: FloatArray, forecast: FloatArray) -> float:
    """The area under the curve of Precision@k; a random forecast has about a half."""
    return float(precision_at(truth, forecast).mean())


def ceiling(truth: FloatArray) -> float:
    """The area of a perfect forecast whose ties are broken independently of the truth's."""
    return area(truth, truth)


def spearman(truth: FloatArray, forecast: FloatArray) -> float:
    """Rank correlation with average ranks; 0 where either has all values equal."""
    a, b = rankdata(truth), rankdata(forecast)
    if a.std() == 0.0 or b.std() == 0.0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


@dataclass(frozen=True)
class Calibration:
    """How well probabilities match what happened; arrays have a value for each bin in use."""

    brier: float
    predicted: FloatArray  #: mean probability
    observed: FloatArray  #: share that happened
    count: FloatArray


def calibration(probability: FloatArray, happened: BoolArray, *, bins: int = 10) -> Calibration:
    """Brier score and reliability curve, in bins of equal width."""
    place = np.minimum((probability * bins).astype(np.int64), bins - 1)
    count = np.bincount(place, minlength=bins).astype(np.float64)
    some = count > 0
    predicted = np.bincount(place, probability, minlength=bins)[some] / count[some]
    observed = np.bincount(place, happened, minlength=bins)[some] / count[some]
    brier = float(np.mean((probability - happened) ** 2)) if len(probability) else 0.0
    return Calibration(brier, predicted, observed, count[some])
