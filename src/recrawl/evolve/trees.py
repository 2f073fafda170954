"""Makes trees: random ones, and ones bred from others (Santos 2013).

A tree is an expression in postfix order, so a subtree is a slice of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.evolve.expression import (
    ARITY,
    CONSTANT,
    TERMINAL,
    THESIS_FUNCTIONS,
    Expression,
    depths,
    expression,
    level,
    subtree_begin,
)

if TYPE_CHECKING:
    from random import Random

THESIS_CONSTANTS = (0.001, 0.01, 0.1, 0.5, 1.0, 2.718281828459045, 10.0, 100.0, 1000.0)
MAX_NODE_DRAWS = 10  #: tries to draw a function node, as in GPC++
MAX_SWAP_DRAWS = 5  #: tries to draw a different node


@dataclass(frozen=True)
class Symbols:
    """What trees are made of."""

    terminals: tuple[str, ...]
    constants: tuple[float, ...] = THESIS_CONSTANTS
    functions: tuple[int, ...] = THESIS_FUNCTIONS
    real: float = 0.0  #: share of the leaves that are a real constant from 0.001 to 1000

    def leaf(self, random: Random) -> tuple[int, float]:
        """Draw a terminal or a constant, all equally likely, or a real constant."""
        if self.real and random.random() < self.real:
            return CONSTANT, float(f"{10 ** random.uniform(-3, 3):.3g}")
        at = random.randrange(len(self.terminals) + len(self.constants))
        if at < len(self.terminals):
            return TERMINAL + at, 0.0
        return CONSTANT, self.constants[at - len(self.terminals)]


def random_tree(random: Random, symbols: Symbols, depth: int, *, full: bool) -> Expression:
    """A random tree whose root is a function; if `full`, all branches are `depth` deep."""
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


def ramped_trees(random: Random, symbols: Symbols, count: int, deepest: int) -> list[Expression]:
    """Random trees, half of them full, of depths 2, 3, … `deepest` in turn."""
    ramp = range(2, deepest + 1)
    return [
        random_tree(random, symbols, ramp[i // 2 % len(ramp)], full=i % 2 == 0)
        for i in range(count)
    ]


def cross(
    random: Random, one: Expression, other: Expression, deepest: int
) -> tuple[Expression, Expression]:
    """Swap a subtree of two trees; a child that would be too deep is its parent instead."""
    a, b = draw_node(random, one), draw_node(random, other)
    below_a, below_b = depths(one.code)[a], depths(other.code)[b]
    first = second = None
    if level(one.code, a) - 1 + below_b <= deepest:
        first = graft(one, a, subtree(other, b))
    if level(other.code, b) - 1 + below_a <= deepest:
        second = graft(other, b, subtree(one, a))
    return first or one, second or other


def swap_node(random: Random, tree: Expression, symbols: Symbols) -> Expression:
    """Replace a node by another one with the same number of arguments."""
    at = draw_node(random, tree)
    code, value = tree.code.copy(), tree.value.copy()
    for _ in range(MAX_SWAP_DRAWS):
        if code[at] >= 0 and code[at] < TERMINAL:
            candidates = [f for f in symbols.functions if ARITY[f] == ARITY[code[at]]]
            node = random.choice(candidates), 0.0
        else:
            node = symbols.leaf(random)
        if node != (code[at], value[at]):
            code[at], value[at] = node
            break
    return Expression(code, value, tree.terminals)


def shrink(random: Random, tree: Expression, symbols: Symbols) -> Expression:
    """Replace a function and all below it by a leaf."""
    functions = np.flatnonzero((tree.code >= 0) & (tree.code < TERMINAL))
    if not functions.size:
        return tree
    node, constant = symbols.leaf(random)
    at = int(functions[random.randrange(len(functions))])
    return graft(tree, at, expression([node], [constant], tree.terminals))


def draw_node(random: Random, tree: Expression) -> int:
    """Draw a node, most likely a function: several draws until one is."""
    at = 0
    for _ in range(MAX_NODE_DRAWS):
        at = random.randrange(len(tree))
        if 0 <= tree.code[at] < TERMINAL:
            break
    return at


def subtree(tree: Expression, end: int) -> Expression:
    """The subtree that ends at a node."""
    run = slice(subtree_begin(tree.code, end), end + 1)
    return Expression(tree.code[run], tree.value[run], tree.terminals)


def graft(tree: Expression, end: int, new: Expression) -> Expression:
    """Replace the subtree that ends at a node by another."""
    low, high = subtree_begin(tree.code, end), end + 1
    return Expression(
        np.concatenate([tree.code[:low], new.code, tree.code[high:]]),
        np.concatenate([tree.value[:low], new.value, tree.value[high:]]),
        tree.terminals,
    )
