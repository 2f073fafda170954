"""Expressions as text that parses back to the same tree, and as LaTeX."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Final

from recrawl.errors import BadInput
from recrawl.evolve.expression import (
    CONSTANT,
    EXP,
    LOG,
    OPERATORS,
    POW,
    TERMINAL,
    Expression,
    expression,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    #: Text of a part of the formula, and its precedence.
    Part = tuple[str, int]

MAX_CHARACTERS = 20_000
MAX_DEPTH = 60  #: brackets within brackets
MAX_NODES = 4_000

_TOKEN = re.compile(
    r"\s*(?:(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(\w+)|(\S))", re.ASCII
)
_NUMBER = re.compile(r"[0-9]|\.[0-9]")
_BINDS: Final = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}
_NEGATIVE = 3  #: precedence of a sign: -2 ^ x is -(2 ^ x), so a negative base needs brackets
_ATOM = 5
_CODE: Final = {name: code for code, name in enumerate(OPERATORS)}


def parse(text: str, terminals: Sequence[str]) -> Expression:
    """Parse a formula such as `X / n * t ^ 0.5`.

    >>> len(parse("log(X + 1) * t", ("n", "X", "t")))
    6
    """
    if len(text) > MAX_CHARACTERS:
        raise BadInput(f"A formula must be at most {MAX_CHARACTERS:,} letters. Got {len(text):,}.")
    return _Parser(text, tuple(terminals)).whole()


class _Parser:
    """Precedence climbing over the tokens of one text."""

    def __init__(self, text: str, terminals: tuple[str, ...]) -> None:
        self.text = text
        self.tokens = [m for m in _TOKEN.finditer(text) if m.group().strip()]
        self.at = 0
        self.terminals = terminals
        self.code: list[int] = []
        self.value: list[float] = []

    def whole(self) -> Expression:
        self.sum(1, 0)
        if self.at < len(self.tokens):
            raise self.fault("an operator or the end", self.peek())
        return expression(self.code, self.value, self.terminals)

    def sum(self, least: int, depth: int) -> None:
        """Parse operands joined by operators of at least this precedence."""
        if depth > MAX_DEPTH:
            raise BadInput(f"A formula must nest at most {MAX_DEPTH} deep. Got a deeper one.")
        self.operand(depth)
        while _BINDS.get(self.peek(), 0) >= least:
            sign = self.take()
            # Powers associate to the right, the others to the left: 2 ^ 3 ^ 2 is 2 ^ (3 ^ 2).
            self.sum(_BINDS[sign] + (sign != "^"), depth + 1)
            self.push(_CODE[sign])

    def operand(self, depth: int) -> None:
        word = self.take()
        if word == "(":
            self.sum(1, depth + 1)
            self.expect(")")
        elif word == "-":
            self.negative(depth)
        elif _NUMBER.match(word):
            self.number(word)
        elif word in ("log", "exp", "log1", "pow"):
            self.function(word, depth)
        elif word in self.terminals:
            self.push(TERMINAL + self.terminals.index(word))
        elif word == "e":
            self.push(CONSTANT, math.e)
        elif word.isidentifier():
            known = ", ".join((*self.terminals, "log", "exp", "log1", "pow"))
            raise BadInput(f"The formula names {word!r}, which is unknown. Known: {known}.")
        else:
            raise self.fault("a number, a name or a bracket", word)

    def number(self, word: str) -> None:
        if not math.isfinite(float(word)):
            raise self.fault("a number below 1e308", word)
        self.push(CONSTANT, float(word))

    def negative(self, depth: int) -> None:
        """Parse what follows a minus sign: a negative number, or 0 − x."""
        if _NUMBER.match(self.peek()):
            self.number(self.take())
            if self.peek() != "^":
                self.value[-1] = -self.value[-1]
                return
            number = self.value.pop()
            self.code.pop()
            self.push(CONSTANT, 0.0)
            self.push(CONSTANT, number)
            self.take()
            self.sum(_BINDS["^"], depth + 1)
            self.push(POW)
        else:
            self.push(CONSTANT, 0.0)
            self.sum(_NEGATIVE, depth + 1)
        self.push(_CODE["-"])

    def function(self, name: str, depth: int) -> None:
        self.expect("(")
        self.sum(1, depth + 1)
        if name == "pow":
            self.expect(",")
            self.sum(1, depth + 1)
        self.expect(")")
        self.push(POW if name == "pow" else _CODE[name])

    def push(self, code: int, value: float = 0.0) -> None:
        if len(self.code) >= MAX_NODES:
            raise BadInput(f"A formula must have at most {MAX_NODES:,} nodes. Got more.")
        self.code.append(code)
        self.value.append(value)

    def peek(self) -> str:
        return self.tokens[self.at].group().strip() if self.at < len(self.tokens) else ""

    def take(self) -> str:
        word = self.peek()
        self.at += 1
        return word

    def expect(self, word: str) -> None:
        if self.peek() != word:
            raise self.fault(repr(word), self.peek())
        self.at += 1

    def fault(self, wanted: str, got: str) -> BadInput:
        text = self.text if len(self.text) <= 80 else self.text[:77] + "…"
        return BadInput(f"The formula {text!r} must have {wanted}. Got {got or 'its end'!r}.")


def write(formula: Expression) -> str:
    """The expression as text; the inverse of `parse`.

    >>> write(parse("(X/n) * (t - 1)", ("n", "X", "t")))
    'X / n * (t - 1)'
    """
    return _render(formula, str, _number, _function, _join)


def _render(
    formula: Expression,
    name: Callable[[str], str],
    number: Callable[[float], str],
    function: Callable[[int, str], Part],
    join: Callable[[str, Part, Part], Part],
) -> str:
    stack: list[Part] = []
    for code, value in zip(formula.code.tolist(), formula.value.tolist(), strict=True):
        if code >= TERMINAL:
            stack.append((name(formula.terminals[code - TERMINAL]), _ATOM))
        elif code == CONSTANT:
            stack.append((number(value), _NEGATIVE if value < 0 else _ATOM))
        elif code >= LOG:
            stack.append(function(code, stack.pop()[0]))
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(join(OPERATORS[code], left, right))
    return stack[0][0]


def _function(code: int, inner: str) -> Part:
    return f"{OPERATORS[code]}({inner})", _ATOM


def _join(sign: str, left: Part, right: Part) -> Part:
    binds = _BINDS[sign]
    a = left[0] if left[1] >= binds + (sign == "^") else f"({left[0]})"
    b = right[0] if right[1] >= binds + (sign != "^") else f"({right[0]})"
    return f"{a} {sign} {b}", binds


def _number(value: float) -> str:
    """The shortest text that parses back to the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def latex(formula: Expression) -> str:
    r"""The expression as LaTeX.

    >>> print(latex(parse("X / n * t ^ 0.5", ("n", "X", "t"))))
    \frac{X}{n} \cdot t^{0.5}
    """
    return _render(formula, _latex_name, _latex_number, _latex_function, _latex_join)


def _latex_name(name: str) -> str:
    name = name.replace("_", r"\_")
    return name if len(name) == 1 else rf"\mathrm{{{name}}}"


def _latex_number(value: float) -> str:
    if value == math.e:
        return "e"
    mantissa, _, power = f"{value:.6g}".partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def _latex_function(code: int, inner: str) -> Part:
    if code == EXP:
        return f"e^{{{inner}}}", _BINDS["^"]
    name = r"\ln" if code == LOG else r"\ln_{>1}"
    return rf"{name}\left|{inner}\right|", _ATOM


def _latex_join(sign: str, left: Part, right: Part) -> Part:
    if sign == "/":
        return rf"\frac{{{left[0]}}}{{{right[0]}}}", _BINDS["*"]
    if sign == "^":
        base = left[0] if left[1] == _ATOM else rf"\left({left[0]}\right)"
        return f"{base}^{{{right[0]}}}", _BINDS["^"]
    binds = _BINDS[sign]
    a = left[0] if left[1] >= binds else rf"\left({left[0]}\right)"
    b = right[0] if right[1] > binds else rf"\left({right[0]}\right)"
    if sign == "*" and right[1] == binds and r"\frac" in right[0][:5]:
        b = right[0]
    symbol = r"\cdot" if sign == "*" else sign
    return f"{a} {symbol} {b}", binds
