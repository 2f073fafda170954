"""What is a visit worth now if noisy signals report changes? GREEDY-NCIS, for freshness.

Busa-Fekete et al. 2025. A kind of signal reports a change with probability r and claims one falsely
ν times a day. T days and m claims after a visit a copy is right with probability e^{−αι}, where
α = (1−r)Δ is the rate of changes that go unreported, ι = T + βm the effective time, β = ln(γ/ν)/α
the worth of a claim in days, and γ = rΔ + ν the rate of claims. Fetching a page whenever ι reaches
a threshold is best. The price of a visit for which this threshold is ι is the index:

    V(ι) = w(ι) − e^{−αι}·ψ(ι) = ∫₀^ι α·e^{−αu}·ψ(u) du

with ψ(ι) the mean time to reach ι, and w(ι) the mean time until then in which the copy is right. i
claims come before a time t with ι − iβ > t left, so both are sums of incomplete gamma functions.
Without signals V is the freshness index of `indices.py`; if every change is reported and no claim
is false, V is 0 until a claim and then 1/Δ: the price of complete observations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from scipy.special import gammainc

from recrawl.policies.indices import freshness

if TYPE_CHECKING:
    from recrawl.model import FloatArray, PageSignals

#: Below this (α + γ)ι the closed form loses digits to cancellation; the series does not.
SERIES_BELOW: Final = 1e-3
MAX_CLAIMS: Final = 50  #: further claims on the way to ι count as a steady stream
MAX_DUE: Final = 50.0  #: of αι; beyond it a copy is certainly wrong, and V no longer rises


def noisy_freshness(rate: FloatArray, days: FloatArray, signals: PageSignals) -> FloatArray:
    """V of each page, `days` after its visit; several kinds of claims count as one of mean worth.

    Without a kind that mentions a page, its freshness index.
    """
    alpha = rate * np.prod(1.0 - signals.recall, axis=1)
    reports = signals.recall > 0.0
    claims_a_day = np.where(reports, signals.recall * rate[:, None] + signals.noise, 0.0)
    worth = np.log1p(signals.recall * rate[:, None] / signals.noise) / alpha[:, None]
    time = days + (signals.claims * worth).sum(axis=1)
    gamma = claims_a_day.sum(axis=1)
    beta = (claims_a_day * worth).sum(axis=1) / np.maximum(gamma, 1e-300)
    heard = reports.any(axis=1)
    index = freshness(rate, days)
    index[heard] = crawl_value(alpha[heard], gamma[heard], beta[heard], time[heard])
    return index


def crawl_value(
    alpha: FloatArray, gamma: FloatArray, beta: FloatArray, time: FloatArray
) -> FloatArray:
    """V at the effective time; α and γ above 0, β 0 or more."""
    time = np.minimum(time, MAX_DUE / alpha)
    summed = np.minimum(time, MAX_CLAIMS * beta)
    value = _closed(alpha, gamma, beta, summed)
    small = ((alpha + gamma) * time < SERIES_BELOW) & (time <= beta)
    value[small] = _series(alpha[small], gamma[small], time[small])
    more = time > summed
    rates = alpha[more], gamma[more], beta[more]
    value[more] += _steady(*rates, time[more]) - _steady(*rates, summed[more])
    return value


def _closed(alpha: FloatArray, gamma: FloatArray, beta: FloatArray, time: FloatArray) -> FloatArray:
    """V as w − e^{−αι}ψ, summed over the number of claims on the way."""
    to_reach, right = np.zeros_like(time), np.zeros_like(time)
    both = alpha + gamma
    # A claim leaves the copy right with probability e^{−αβ}.
    still = gamma * np.exp(-alpha * beta) / both
    for claims in range(MAX_CLAIMS):
        rows = np.flatnonzero(time > claims * beta)
        if not len(rows):
            break
        left = time[rows] - claims * beta[rows]
        to_reach[rows] += gammainc(claims + 1.0, gamma[rows] * left) / gamma[rows]
        right[rows] += (
            still[rows] ** claims * gammainc(claims + 1.0, both[rows] * left) / both[rows]
        )
    return right - np.exp(-alpha * time) * to_reach


def _series(alpha: FloatArray, gamma: FloatArray, time: FloatArray) -> FloatArray:
    """V before the first claim, by powers of ι."""
    second = (alpha + gamma / 2.0) / 3.0
    third = (alpha**2 + alpha * gamma + gamma**2 / 3.0) / 8.0
    return alpha * time**2 * (0.5 - second * time + third * time**2)


def _steady(alpha: FloatArray, gamma: FloatArray, beta: FloatArray, time: FloatArray) -> FloatArray:
    """V if claims come in a steady stream: the effective time runs at the speed 1 + γβ.

    The threshold is overshot by a claim in γβ of 1 + γβ cases, and by half a claim on average.
    """
    speed = 1.0 + gamma * beta
    beyond = gamma * beta**2 / (2.0 * speed)
    return (freshness(alpha, time) - beyond * np.expm1(-alpha * time)) / speed
