"""Support vector machines with a polynomial kernel of degree 3 (§7.2), trained day after day.

Scikit-learn spends most of a fit of fifty examples on checks, and a page needs such a fit for each
day and each related page. So this is a solver of its own, with LIBSVM's algorithm (Fan, Chen & Lin
2005). Training examples are days; a decision value above 0 predicts a change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from recrawl.model import FloatArray

DEGREE = 3
TOLERANCE = 1e-3  #: of the optimality conditions; LIBSVM's default
MAX_STEPS = 300  #: per example


def polynomial(products: FloatArray, features: float) -> FloatArray:
    """Kernel (x·y / features + 1)³ from the products x·y of standardised features."""
    kernel: FloatArray = (products / max(features, 1.0) + 1.0) ** DEGREE
    return kernel


@njit(cache=True, nogil=True)
def fit_svm(kernel, y, cost):  # type: ignore[no-untyped-def]
    """Weight of each example, the threshold, and the decision value of each example.

    `y` is -1 or 1; `cost` has one value per example.
    """
    n = len(y)
    alpha = np.zeros(n)
    gradient = -np.ones(n)
    for _ in range(MAX_STEPS * n):
        i, most = -1, -np.inf
        for t in range(n):
            if (alpha[t] < cost[t] if y[t] > 0 else alpha[t] > 0) and -y[t] * gradient[t] >= most:
                i, most = t, -y[t] * gradient[t]
        j, least, gain = -1, np.inf, np.inf
        for t in range(n):
            if alpha[t] > 0 if y[t] > 0 else alpha[t] < cost[t]:
                gap = most + y[t] * gradient[t]
                least = min(least, -y[t] * gradient[t])
                if gap > 0:
                    curvature = max(kernel[i, i] + kernel[t, t] - 2.0 * kernel[i, t], 1e-12)
                    if -gap * gap / curvature <= gain:
                        j, gain = t, -gap * gap / curvature
        if i < 0 or j < 0 or most - least < TOLERANCE:
            break
        _move(kernel, y, cost, alpha, gradient, i, j)
    threshold = _threshold(y, cost, alpha, gradient)
    decision = np.empty(n)
    for t in range(n):
        decision[t] = y[t] * (gradient[t] + 1.0) - threshold
        alpha[t] *= y[t]
    return alpha, threshold, decision


@njit(cache=True, nogil=True)
def _move(kernel, y, cost, alpha, gradient, i, j):  # type: ignore[no-untyped-def]
    """Take the best step that changes two weights and keeps both within bounds."""
    curvature = max(kernel[i, i] + kernel[j, j] - 2.0 * kernel[i, j], 1e-12)
    step = (-y[i] * gradient[i] + y[j] * gradient[j]) / curvature
    room_i = cost[i] - alpha[i] if y[i] > 0 else alpha[i]
    room_j = alpha[j] if y[j] > 0 else cost[j] - alpha[j]
    step = min(step, room_i, room_j)
    # Assigned at a bound, not added: a weight that misses it by rounding would move for ever.
    if step == room_i:
        alpha[i] = cost[i] if y[i] > 0 else 0.0
    else:
        alpha[i] += y[i] * step
    if step == room_j:
        alpha[j] = 0.0 if y[j] > 0 else cost[j]
    else:
        alpha[j] -= y[j] * step
    for t in range(len(y)):
        gradient[t] += y[t] * step * (kernel[t, i] - kernel[t, j])


@njit(cache=True, nogil=True)
def _threshold(y, cost, alpha, gradient):  # type: ignore[no-untyped-def]
    low, high, free, total = -np.inf, np.inf, 0, 0.0
    for t in range(len(y)):
        value = y[t] * gradient[t]
        if 0 < alpha[t] < cost[t]:
            free += 1
            total += value
        elif (alpha[t] == 0) == (y[t] > 0):
            high = min(high, value)
        else:
            low = max(low, value)
    return total / free if free else (low + high) / 2


@njit(cache=True, nogil=True)
def train_for_day(kernel, known, label, day, n, ahead, cost):  # type: ignore[no-untyped-def]
    """Decision values of a day and of its training examples; these days; their labels, -1 or 1.

    Examples are the days among the last `n` whose features and label are known by then and whose
    cost is above 0. If all have one label, the decision value is that label.
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
    weight, threshold, decision = fit_svm(inner, y, costs)
    value = -threshold
    for i in range(m):
        value += weight[i] * kernel[rows[i], day]
    return value, decision, rows, y


@njit(cache=True, nogil=True)
def sliding_decisions(kernel, known, label, days, n, ahead, cost):  # type: ignore[no-untyped-def]
    """Decision value of each day, from the `n` days before it; NaN where its features are unknown.

    Row i of `cost` has the cost of each example for days[i].
    """
    out = np.full(len(days), np.nan)
    for at in range(len(days)):
        if known[days[at]]:
            out[at] = train_for_day(kernel, known, label, days[at], n, ahead, cost[at])[0]
    return out
