"""Shortens an expression without changing any score: folds constants, applies identities.

Only rules that are exact for every number, infinities and NaN included, are used: `x − x` is not 0
if x is infinite, so it stays unless x is a terminal. The arguments of + and · are sorted, which
makes the result a canonical form.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from recrawl.evolve.expression import (
    ADD,
    CONSTANT,
    DIV,
    LOG,
    MUL,
    POW,
    SUB,
    TERMINAL,
    Expression,
    apply,
    expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable

#: A node as a tuple: its code, its constant, the nodes below it, and the size of its subtree.
Node = tuple[int, float, tuple["Node", ...], int]
ONE: Node = (CONSTANT, 1.0, (), 1)
ZERO: Node = (CONSTANT, 0.0, (), 1)


def simplify(formula: Expression) -> Expression:
    """The canonical expression with the same scores.

    >>> from recrawl.evolve.text import parse, write
    >>> write(simplify(parse("t * (2 - 1) + (n - n) + X * exp(0)", ("n", "X", "t"))))
    'X + t'
    """
    stack: list[Node] = []
    for code, value in zip(formula.code.tolist(), formula.value.tolist(), strict=True):
        if code >= TERMINAL or code == CONSTANT:
            stack.append((code, value + 0.0, (), 1))
        elif code >= LOG:
            stack.append(_simplified(code, (stack.pop(),)))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(_simplified(code, (left, right)))
    codes: list[int] = []
    values: list[float] = []
    _flatten(stack[0], codes, values)
    return expression(codes, values, formula.terminals)


def _simplified(code: int, below: tuple[Node, ...]) -> Node:
    """The node with these arguments, or a simpler one that is always equal."""
    if all(node[0] == CONSTANT for node in below):
        value = float(apply(code, below[0][1], below[-1][1]))
        if math.isfinite(value):
            return (CONSTANT, value + 0.0, (), 1)
    if code in RULES:
        simpler = RULES[code](*below)
        if simpler is not None:
            return simpler
    if code in (ADD, MUL):
        below = tuple(sorted(below, key=_order))
    return (code, 0.0, below, 1 + sum(node[3] for node in below))


def _order(node: Node) -> tuple[object, ...]:
    """Constants first, then terminals, then by size; the rest only breaks ties."""
    rank = 0 if node[0] == CONSTANT else 1 if node[0] >= TERMINAL else 2
    return (rank, node[3], node[0], node[1], node[2])


def _sum(x: Node, y: Node) -> Node | None:
    return y if x == ZERO else x if y == ZERO else None


def _difference(x: Node, y: Node) -> Node | None:
    if y == ZERO:
        return x
    return ZERO if x == y and x[0] >= TERMINAL else None


def _product(x: Node, y: Node) -> Node | None:
    if ONE in (x, y):
        return y if x == ONE else x
    if ZERO in (x, y) and max(x[0], y[0]) >= TERMINAL:
        return ZERO
    return None


def _quotient(x: Node, y: Node) -> Node | None:
    return x if y == ONE else None


def _power(x: Node, y: Node) -> Node | None:
    if y == ZERO or x == ONE:
        return ONE
    return x if y == ONE else None


RULES: dict[int, Callable[..., Node | None]] = {
    ADD: _sum,
    SUB: _difference,
    MUL: _product,
    DIV: _quotient,
    POW: _power,
}


def _flatten(root: Node, codes: list[int], values: list[float]) -> None:
    """Append the nodes of a tree in postfix order."""
    pending = [(root, False)]
    while pending:
        node, done = pending.pop()
        if done or not node[2]:
            codes.append(node[0])
            values.append(node[1])
        else:
            pending.append((node, True))
            pending.extend((below, False) for below in reversed(node[2]))
