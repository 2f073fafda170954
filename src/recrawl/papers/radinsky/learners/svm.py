"""On which side does a day lie, given labelled days before it? Support vector machines by the many.

Scikit-learn spends most of the time of a fit of fifty examples on checks; a page has such a fit for
each day and each related page. So the solver is here: the same as LIBSVM's (Fan, Chen & Lin 2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from recrawl.model import FloatArray

DEGREE = 3
EXACT = 1e-3  #: when the solver stops, as LIBSVM's default
STEPS = 300  #: at most, for each example


def polynomial(products: FloatArray, features: float) -> FloatArray:
    """The kernel (x·y / features + 1)³ of products of standardised features."""
    kernel: FloatArray = (products / max(features, 1.0) + 1.0) ** DEGREE
    return kernel


@njit(cache=True, nogil=True)
def fit(kernel, y, cost):  # type: ignore[no-untyped-def]
    """Weight of each example, the threshold, and what is said of each example.

    `y` is -1 or 1, `cost` is that of each example.
    """
    n = len(y)
    alpha = np.zeros(n)
    slope = -np.ones(n)
    for _ in range(STEPS * n):
        i, most = -1, -np.inf
        for t in range(n):
            if (alpha[t] < cost[t] if y[t] > 0 else alpha[t] > 0) and -y[t] * slope[t] >= most:
                i, most = t, -y[t] * slope[t]
        j, least, gain = -1, np.inf, np.inf
        for t in range(n):
            if alpha[t] > 0 if y[t] > 0 else alpha[t] < cost[t]:
                gap = most + y[t] * slope[t]
                least = min(least, -y[t] * slope[t])
                if gap > 0:
                    bend = max(kernel[i, i] + kernel[t, t] - 2.0 * kernel[i, t], 1e-12)
                    if -gap * gap / bend <= gain:
                        j, gain = t, -gap * gap / bend
        if i < 0 or j < 0 or most - least < EXACT:
            break
        _move(kernel, y, cost, alpha, slope, i, j)
    threshold = _threshold(y, cost, alpha, slope)
    said = np.empty(n)
    for t in range(n):
        said[t] = y[t] * (slope[t] + 1.0) - threshold
        alpha[t] *= y[t]
    return alpha, threshold, said


@njit(cache=True, nogil=True)
def _move(kernel, y, cost, alpha, slope, i, j):  # type: ignore[no-untyped-def]
    """The best step that changes two weights and keeps both within bounds."""
    bend = max(kernel[i, i] + kernel[j, j] - 2.0 * kernel[i, j], 1e-12)
    step = (-y[i] * slope[i] + y[j] * slope[j]) / bend
    room_i = cost[i] - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else cost[j] - alpha[j]
    step = min(step, room_i, room_j)
    # Set, not added, at a bound: a weight that misses it by rounding would be moved for ever.
    if step == room_i:
        alpha[i] = cost[i] if y[i] > 0 else 0.0
    else:
        alpha[i] += y[i] * step
    if step == room_j:
        alpha[j] = 0.0 if y[j] > 0 else cost[j]
    else:
        alpha[j] -= y[j] * step
    for t in range(len(y)):
        slope[t] += y[t] * step * (kernel[t, i] - kernel[t, j])


@njit(cache=True, nogil=True)
def _threshold(y, cost, alpha, slope):  # type: ignore[no-untyped-def]
    low, high, free, total = -np.inf, np.inf, 0, 0.0
    for t in range(len(y)):
        value = y[t] * slope[t]
        if 0 < alpha[t] < cost[t]:
            free += 1
            total += value
        elif (alpha[t] == 0) == (y[t] > 0):
            high = min(high, value)
        else:
            low = max(low, value)
    return total / free if free else (low + high) / 2


@njit(cache=True, nogil=True)
def taught(kernel, known, label, day, n, ahead, cost):  # type: ignore[no-untyped-def]
    """What a machine says of a day and of its examples, which are the other things returned.

    These are the days among the last `n` whose features and label are known by then and whose cost
    is above 0. It says above 0 for a change; that of all examples if they have but one label.
    """
    rows, y = np.empty(n, np.int64), np.empty(n)
    m, yes = 0, 0
    for at in range(max(day - n + 1, 0), day - ahead + 1):
        if known[at] and cost[at] > 0 and not np.isnan(label[at + ahead]):
            rows[m] = at
            y[m] = 1.0 if label[at + ahead] > 0 else -1.0
            yes += label[at + ahead] > 0
            m += 1
    rows, y = rows[:m], y[:m]
    if yes == 0 or yes == m:
        return 1.0 if yes else -1.0, y.copy(), rows, y
    inner, costs = np.empty((m, m)), np.empty(m)
    for i in range(m):
        costs[i] = cost[rows[i]]
        for j in range(m):
            inner[i, j] = kernel[rows[i], rows[j]]
    weight, threshold, said = fit(inner, y, costs)
    value = -threshold
    for i in range(m):
        value += weight[i] * kernel[rows[i], day]
    return value, said, rows, y


@njit(cache=True, nogil=True)
def sliding(kernel, known, label, days, n, ahead, cost):  # type: ignore[no-untyped-def]
    """What is said of each of these days, from the `n` before it; NaN where it is not known.

    Row i of `cost` is that of each example for days[i].
    """
    out = np.full(len(days), np.nan)
    for at in range(len(days)):
        if known[days[at]]:
            out[at] = taught(kernel, known, label, days[at], n, ahead, cost[at])[0]
    return out
