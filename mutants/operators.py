"""How a line is broken: mutmut's operators that change a value, and a few of our own.

mutmut's operators that put None or another text in place of a value are left out: they mostly
crash, so that any test kills them, or change the wording of an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst
from mutmut.mutation import mutators

if TYPE_CHECKING:
    from collections.abc import Iterator

FROM_MUTMUT = (
    mutators.operator_number,
    mutators.operator_name,
    mutators.operator_augmented_assignment,
    mutators.operator_remove_unary_ops,
    mutators.operator_keywords,
    mutators.operator_swap_op,
    mutators.operator_if_exp,
    mutators.operator_symmetric_string_methods_swap,
    mutators.operator_unsymmetrical_string_methods_swap,
)

_PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("fmin", "fmax"),
    ("nanmin", "nanmax"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
    ("any", "all"),
    ("zeros", "ones"),
    ("log", "log1p"),
    ("exp", "expm1"),
    ("sum", "mean"),
)
OTHER_FUNCTION = {a: b for one in _PAIRS for a, b in (one, one[::-1])} | {"sorted": "list"}
#: Named arguments that check or print only: `zip(…, strict=True)`, `field(…, repr=False)`.
NO_EFFECT = {"strict", "repr"}
OTHER_WORD = {'"left"': '"right"', '"right"': '"left"'}


def other_function(node: Any) -> Iterator[Any]:
    """The largest for the smallest, the sum for the mean, in the order found for sorted."""
    is_method = isinstance(node.func, cst.Attribute)
    name = node.func.attr if is_method else node.func
    if isinstance(name, cst.Name) and name.value in OTHER_FUNCTION:
        yield node.with_deep_changes(name, value=OTHER_FUNCTION[name.value])


def other_word(node: Any) -> Iterator[Any]:
    if node.value in OTHER_WORD:
        yield node.with_changes(value=OTHER_WORD[node.value])


def other_branch(node: Any) -> Iterator[Any]:
    """The third argument of `where` for the second."""
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    if isinstance(name, cst.Name) and name.value == "where" and len(node.args) == 3:
        test, yes, no = node.args
        swapped = [test, yes.with_changes(value=no.value), no.with_changes(value=yes.value)]
        yield node.with_changes(args=swapped)


def no_bound(node: Any) -> Iterator[Any]:
    """A slice without its beginning, or without its end."""
    if node.lower is not None:
        yield node.with_changes(lower=None)
    if node.upper is not None:
        yield node.with_changes(upper=None)


def no_keyword(node: Any) -> Iterator[Any]:
    """A call without one of its named arguments. A class would miss most of them and only crash."""
    name = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    if not isinstance(name, cst.Name) or name.value[:1].isupper() or len(node.args) < 2:
        return
    for i, argument in enumerate(node.args):
        if argument.keyword is not None and argument.keyword.value not in NO_EFFECT:
            rest = [*node.args[:i], *node.args[i + 1 :]]
            rest[-1] = rest[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)
            yield node.with_changes(args=rest)


_OURS: tuple[tuple[Any, Any], ...] = (
    (cst.Call, other_function),
    (cst.SimpleString, other_word),
    (cst.Call, other_branch),
    (cst.Slice, no_bound),
    (cst.Call, no_keyword),
)
OPERATORS = (*((kind, op) for kind, op in mutators.mutation_operators if op in FROM_MUTMUT), *_OURS)


def broken(node: Any) -> Iterator[tuple[str, Any, Any]]:
    """(name of the operator, node, what stands in its place) for each way to break a node."""
    for kind, operator in OPERATORS:
        if isinstance(node, kind):
            for instead in operator(node):
                yield operator.__name__.removeprefix("operator_"), node, instead
    if isinstance(node, (cst.If, cst.CompIf)):
        inside = node.test.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        yield "not", node.test, cst.UnaryOperation(operator=cst.Not(), expression=inside)
