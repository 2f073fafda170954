"""Evaluates an expression on many states or pages at once, in compiled loops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.evolve.expression import CONSTANT, LOG, TERMINAL, apply

if TYPE_CHECKING:
    from recrawl.evolve.expression import Expression
    from recrawl.model import FloatArray

CHUNK = 1024  #: columns at a time, so that all rows of a deep tree stay in the cache


def scores(formula: Expression, terminals: FloatArray) -> FloatArray:
    """The score of each column of `terminals`, which has a row for each terminal of the formula."""
    score = np.empty(terminals.shape[1])
    rows = np.empty((terminals.shape[0] + n_rows(formula), CHUNK))
    evaluate(formula.code, formula.value, terminals, rows, score)
    return score


def n_rows(formula: Expression) -> int:
    """The rows of intermediate results that an evaluation may need."""
    return formula.depth() + 1


@njit(cache=True)
def evaluate(code, value, terminals, rows, score):  # type: ignore[no-untyped-def]
    """Fill `score`; NaN becomes −inf, because it never wins."""
    count = len(terminals)
    for low in range(0, len(score), CHUNK):
        width = min(CHUNK, len(score) - low)
        for i in range(count):
            rows[i, :width] = terminals[i, low : low + width]
        row = _run(code, value, rows, count, width)
        for i in range(width):
            result = rows[row, i]
            score[low + i] = -np.inf if math.isnan(result) else result


@njit(cache=True)
def _run(code, value, rows, free, width):  # type: ignore[no-untyped-def]
    """Evaluate on the first `width` columns; returns the row that holds the result."""
    stack = np.empty(len(code), np.int64)  # rows: a terminal has its own, a result takes a free one
    top = 0
    for i in range(len(code)):
        op = code[i]
        if op >= TERMINAL:
            stack[top] = op - TERMINAL
            top += 1
        elif op == CONSTANT:
            rows[free + top, :width] = value[i]
            stack[top] = free + top
            top += 1
        elif op >= LOG:
            x = rows[stack[top - 1], :width]
            _apply(op, x, x, rows[free + top - 1, :width])
            stack[top - 1] = free + top - 1
        else:
            top -= 1
            x, y = rows[stack[top - 1], :width], rows[stack[top], :width]
            _apply(op, x, y, rows[free + top - 1, :width])
            stack[top - 1] = free + top - 1
    return stack[0]


@njit(cache=True)
def _apply(op, x, y, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] = apply(op, x[i], y[i])
