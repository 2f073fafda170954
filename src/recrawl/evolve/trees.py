"""How do score functions come about? Random trees, and trees bred from others (Santos 2013).

A tree is an expression in postfix order, so a subtree is a run of it, and breeding cuts and joins
runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.evolve.expression import (
    ADD,
    ARITY,
    CONSTANT,
    DIV,
    EXP,
    LOG,
    MUL,
    POW,
    SUB,
    TERMINAL,
    Expression,
    begin,
    depths,
    expression,
    level,
)

if TYPE_CHECKING:
    from random import Random

THESIS_CONSTANTS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.718281828459045, 10.0, 100.0, 1000.0)
DRAWS = 10  #: tries to hit a function node, as GPC++ makes them
SWAPS = 5  #: tries to find another node


@dataclass(frozen=True)
class Symbols:
    """What trees are made of."""

    terminals: tuple[str, ...]
    constants: tuple[float, ...] = THESIS_CONSTANTS
    functions: tuple[int, ...] = (ADD, SUB, MUL, DIV, LOG, POW, EXP)
    real: float = 0.0  #: share of the leaves that are any real constant, from 0.001 to 1000

    def leaf(self, random: Random) -> tuple[int, float]:
        """A terminal or a constant, each as likely as the next, or a real constant."""
        if self.real and random.random() < self.real:
            return CONSTANT, float(f"{10 ** random.uniform(-3, 3):.3g}")
        at = random.randrange(len(self.terminals) + len(self.constants))
        if at < len(self.terminals):
            return TERMINAL + at, 0.0
        return CONSTANT, self.constants[at - len(self.terminals)]


def grown(random: Random, symbols: Symbols, depth: int, *, full: bool) -> Expression:
    """A random tree with a function as root: all branches `depth` deep, or ending by chance."""
    code: list[int] = []
    value: list[float] = []

    def grow(left: int, *, root: bool) -> None:
        if left == 1 or not (root or full or random.random() < 0.5):
            node, constant = symbols.leaf(random)
        else:
            node, constant = random.choice(symbols.functions), 0.0
            for _ in range(ARITY[node]):
                grow(left - 1, root=False)
        code.append(node)
        value.append(constant)

    grow(depth, root=True)
    return expression(code, value, symbols.terminals)


def ramped(random: Random, symbols: Symbols, count: int, deepest: int) -> list[Expression]:
    """Half full and half by chance, of depths 2, 3, … up to the deepest in turns."""
    ramp = range(2, deepest + 1)
    return [grown(random, symbols, ramp[i // 2 % len(ramp)], full=i % 2 == 0) for i in range(count)]


def crossed(
    random: Random, one: Expression, other: Expression, deepest: int
) -> tuple[Expression, Expression]:
    """Two trees that swapped a subtree; a child that would be too deep stays as its parent was."""
    a, b = chosen(random, one), chosen(random, other)
    below_a, below_b = depths(one.code)[a], depths(other.code)[b]
    first = second = None
    if level(one.code, a) - 1 + below_b <= deepest:
        first = grafted(one, a, part(other, b))
    if level(other.code, b) - 1 + below_a <= deepest:
        second = grafted(other, b, part(one, a))
    return first or one, second or other


def swapped(random: Random, tree: Expression, symbols: Symbols) -> Expression:
    """One node replaced by another with as many arguments."""
    at = chosen(random, tree)
    code, value = tree.code.copy(), tree.value.copy()
    for _ in range(SWAPS):
        if code[at] >= 0 and code[at] < TERMINAL:
            alike = [f for f in symbols.functions if ARITY[f] == ARITY[code[at]]]
            node = random.choice(alike), 0.0
        else:
            node = symbols.leaf(random)
        if node != (code[at], value[at]):
            code[at], value[at] = node
            break
    return Expression(code, value, tree.terminals)


def shrunk(random: Random, tree: Expression, symbols: Symbols) -> Expression:
    """One function with all below it replaced by a leaf."""
    functions = np.flatnonzero((tree.code >= 0) & (tree.code < TERMINAL))
    if not functions.size:
        return tree
    node, constant = symbols.leaf(random)
    at = int(functions[random.randrange(len(functions))])
    return grafted(tree, at, expression([node], [constant], tree.terminals))


def chosen(random: Random, tree: Expression) -> int:
    """A node, most likely a function: up to ten are drawn until one is."""
    at = 0
    for _ in range(DRAWS):
        at = random.randrange(len(tree))
        if 0 <= tree.code[at] < TERMINAL:
            break
    return at


def part(tree: Expression, end: int) -> Expression:
    """The subtree that ends at a node."""
    run = slice(begin(tree.code, end), end + 1)
    return Expression(tree.code[run], tree.value[run], tree.terminals)


def grafted(tree: Expression, end: int, new: Expression) -> Expression:
    """The tree with another subtree in the place of the one that ends at a node."""
    low, high = begin(tree.code, end), end + 1
    return Expression(
        np.concatenate([tree.code[:low], new.code, tree.code[high:]]),
        np.concatenate([tree.value[:low], new.value, tree.value[high:]]),
        tree.terminals,
    )
