"""A score function: operators, constants and terminals in postfix order, as arrays.

The operators are those of GP4C (Santos 2013), protected as its text says; `log1` is the logarithm
of its code. Minus zero counts as zero, so that no ranking depends on its sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import FloatArray

ADD, SUB, MUL, DIV, POW, LOG, EXP, LOG1 = range(8)
CONSTANT: Final = -1
TERMINAL: Final = 16  #: the code of terminal number 0

#: Operators by name, and how many arguments they take.
OPERATORS: Final = ("+", "-", "*", "/", "^", "log", "exp", "log1")
ARITY: Final = np.array([2, 2, 2, 2, 2, 1, 1, 1], np.int64)
THESIS_FUNCTIONS: Final = (ADD, SUB, MUL, DIV, LOG, POW, EXP)
TINY, HUGE = 1e-6, 1e6  #: a division by less than TINY gives HUGE


@dataclass(frozen=True, eq=False)
class Expression:
    """A score function; `value` holds the constants, where `code` is CONSTANT."""

    code: NDArray[np.int16]
    value: FloatArray
    terminals: tuple[str, ...]  #: code TERMINAL + i is terminals[i]

    def __len__(self) -> int:
        return len(self.code)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and self.key() == other.key()

    def __hash__(self) -> int:
        return hash(self.key())

    def key(self) -> tuple[bytes, bytes, tuple[str, ...]]:
        """Identity: the same for equal expressions."""
        return self.code.tobytes(), self.value.tobytes(), self.terminals

    def used(self) -> tuple[str, ...]:
        """The terminals that occur."""
        held = np.unique(self.code[self.code >= TERMINAL]) - TERMINAL
        return tuple(self.terminals[i] for i in held)

    def depth(self) -> int:
        """Levels of the tree; 1 for a single terminal."""
        return int(depths(self.code)[-1])


def expression(code: list[int], value: list[float], terminals: tuple[str, ...]) -> Expression:
    """An expression from plain lists."""
    return Expression(np.array(code, np.int16), np.array(value, np.float64), terminals)


@njit(cache=True)
def arity(code):  # type: ignore[no-untyped-def]
    """The number of arguments of a node with this code."""
    return ARITY[code] if 0 <= code < len(ARITY) else 0


@njit(cache=True)
def subtree_begin(code, end):  # type: ignore[no-untyped-def]
    """The first node of the subtree that ends at node `end`."""
    open_, at = 1, end
    while True:
        open_ += arity(code[at]) - 1
        if open_ == 0:
            return at
        at -= 1


@njit(cache=True)
def depths(code):  # type: ignore[no-untyped-def]
    """The depth of the subtree of each node; 1 for a leaf."""
    depth = np.empty(len(code), np.int64)
    stack = np.empty(len(code), np.int64)
    top = 0
    for i in range(len(code)):
        deepest = 0
        for _ in range(arity(code[i])):
            top -= 1
            deepest = max(deepest, stack[top])
        depth[i] = stack[top] = deepest + 1
        top += 1
    return depth


@njit(cache=True)
def level(code, node):  # type: ignore[no-untyped-def]
    """The number of nodes on the path from the root to a node, both included."""
    count, end = 1, len(code) - 1
    while end != node:
        end -= 1  # the last argument
        while subtree_begin(code, end) > node:
            end = subtree_begin(code, end) - 1
        count += 1
    return count


@njit(cache=True)
def apply(op, x, y):  # type: ignore[no-untyped-def]
    """The result of one operator; unary ones take `x`."""
    if op == ADD:
        return x + y
    if op == SUB:
        return x - y
    if op == MUL:
        return x * y
    if op == DIV:
        return divided(x, y)
    if op == POW:
        return (x + 0.0) ** y
    if op == EXP:
        return math.exp(x)
    return logarithm(x, 0.0 if op == LOG else 1.0)


@njit(cache=True)
def divided(x, y):  # type: ignore[no-untyped-def]
    """X / y; if |y| < TINY, ±HUGE with the sign of x·y, or NaN if x is NaN."""
    if abs(y) < TINY:
        if math.isnan(x):
            return x
        return -HUGE if x * y < 0.0 else HUGE
    return x / y


@njit(cache=True)
def logarithm(x, least):  # type: ignore[no-untyped-def]
    """Ln |x|; 0 if |x| is `least` or less."""
    return 0.0 if abs(x) <= least else math.log(abs(x))
