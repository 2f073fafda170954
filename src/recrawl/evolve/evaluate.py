"""What does an expression say of each of many states? One loop a node, none in Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.evolve.expression import (
    ADD,
    CONSTANT,
    DIV,
    EXP,
    LOG,
    MUL,
    POW,
    SUB,
    TERMINAL,
    divided,
    logarithm,
)

if TYPE_CHECKING:
    from recrawl.evolve.expression import Expression
    from recrawl.model import FloatArray

CHUNK = 1024  #: states at once, so that all rows of a deep tree stay in the cache


def scores(formula: Expression, terminals: FloatArray) -> FloatArray:
    """The score of each state; `terminals` has a row a terminal of the formula."""
    found = np.empty(terminals.shape[1])
    rows = np.empty((terminals.shape[0] + room(formula), CHUNK))
    evaluate(formula.code, formula.value, terminals, rows, found)
    return found


def room(formula: Expression) -> int:
    """How many rows of intermediate results an evaluation may need."""
    return formula.depth() + 1


@njit(cache=True)
def evaluate(code, value, terminals, rows, found):  # type: ignore[no-untyped-def]
    """Fill `found`; NaN comes out as −inf, because it never wins."""
    count = len(terminals)
    for low in range(0, len(found), CHUNK):
        width = min(CHUNK, len(found) - low)
        for i in range(count):
            rows[i, :width] = terminals[i, low : low + width]
        row = _run(code, value, rows, count, width)
        for i in range(width):
            score = rows[row, i]
            found[low + i] = -np.inf if math.isnan(score) else score


@njit(cache=True)
def _run(code, value, rows, free, width):  # type: ignore[no-untyped-def]
    """Evaluate on the first `width` columns; the row that holds the result."""
    stack = np.empty(len(code), np.int64)  # of rows: a terminal is its own, a result a free one
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
            _one(op, rows[stack[top - 1], :width], rows[free + top - 1, :width])
            stack[top - 1] = free + top - 1
        else:
            top -= 1
            x, y = rows[stack[top - 1], :width], rows[stack[top], :width]
            _two(op, x, y, rows[free + top - 1, :width])
            stack[top - 1] = free + top - 1
    return stack[0]


@njit(cache=True)
def _one(op, x, out):  # type: ignore[no-untyped-def]
    if op == EXP:
        for i in range(len(out)):
            out[i] = math.exp(x[i])
    else:
        least = 0.0 if op == LOG else 1.0
        for i in range(len(out)):
            out[i] = logarithm(x[i], least)


@njit(cache=True)
def _two(op, x, y, out):  # type: ignore[no-untyped-def]
    if op == ADD:
        for i in range(len(out)):
            out[i] = x[i] + y[i]
    elif op == SUB:
        for i in range(len(out)):
            out[i] = x[i] - y[i]
    elif op == MUL:
        for i in range(len(out)):
            out[i] = x[i] * y[i]
    elif op == DIV:
        for i in range(len(out)):
            out[i] = divided(x[i], y[i])
    else:
        assert op == POW
        for i in range(len(out)):
            out[i] = (x[i] + 0.0) ** y[i]
