"""What each function, method and constant of the package mentions, and which are compiled.

Coverage cannot see inside a compiled function, and a compiled function keeps a copy of those it
calls. Both questions, which tests run it and which kernels are stale when it changes, are answered
by names: a definition is used where its name stands.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KERNELS = {"njit", "kernel", "kernel_helper"}  #: decorators of compiled functions


@dataclass(frozen=True)
class Definition:
    """A function, a method (`Class.method`), a class, or constants (`LOW,HIGH`)."""

    path: str
    where: str
    mentions: frozenset[str]
    is_function: bool
    is_kernel: bool
    first: int  #: line of the first statement of a function's body; of the statement otherwise
    last: int

    @property
    def names(self) -> list[str]:
        """What it is called by; a class and its constructor by the name of the class."""
        parts = self.where.split(".")
        last = parts[0] if not parts[-1] or parts[-1].startswith("__") else parts[-1]
        return last.split(",")


class Definitions:
    """All definitions below `src/recrawl` of a tree."""

    def __init__(self, root: Path) -> None:
        paths = sorted((root / "src/recrawl").rglob("*.py"))
        found = [d for path in paths for d in definitions(path, str(path.relative_to(root)))]
        self.of = {(d.path, d.where): d for d in found}
        self.mentioning: dict[str, list[Definition]] = defaultdict(list)
        for d in found:
            for name in d.mentions:
                self.mentioning[name].append(d)

    def lines(self, path: str) -> dict[int, str]:
        """Name of the function whose body holds each line of a file."""
        inside = [d for d in self.of.values() if d.path == path and d.is_function]
        return {line: d.where for d in inside for line in range(d.first, d.last + 1)}

    def users(self, path: str, where: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
        """(interpreted functions, kernels) that use a definition through kernels and constants."""
        around = where.partition(".")[0] + "."  # a field that the class body holds
        start = self.of.get((path, where)) or self.of.get((path, around))
        functions: set[tuple[str, str]] = set()
        kernels = {(path, where)} if start and start.is_kernel else set()
        if start is None:  # a statement at the top of a file, which may serve any of it
            return {key for key, d in self.of.items() if d.path == path and d.is_function}, kernels
        pending, seen = list(start.names), set()
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            for user in self.mentioning[name]:
                if user.is_function and not user.is_kernel:
                    functions.add((user.path, user.where))
                    continue
                if user.is_kernel:
                    kernels.add((user.path, user.where))
                pending.extend(user.names)
        return functions, kernels


def definitions(file: Path, path: str) -> Iterator[Definition]:
    """The definitions of a file."""
    for statement in ast.parse(file.read_text()).body:
        if isinstance(statement, ast.ClassDef):
            yield _definition(path, f"{statement.name}.", statement)
            for inner in statement.body:
                yield from _named(path, f"{statement.name}.", inner)
        else:
            yield from _named(path, "", statement)


def _named(path: str, inside: str, node: ast.stmt) -> Iterator[Definition]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield _definition(path, inside + node.name, node)
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            yield _definition(path, inside + name, node)
        case ast.Assign(targets=[ast.Tuple(elts=elements)]):
            names = ",".join(getattr(one, "id", "") for one in elements)
            yield _definition(path, inside + names, node)


def _definition(path: str, where: str, node: ast.stmt) -> Definition:
    is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    decorators = getattr(node, "decorator_list", [])
    names = {n for decorator in decorators for n in _names(decorator)}
    first = node.body[0].lineno if is_function else node.lineno  # type: ignore[attr-defined]
    last = node.end_lineno or first
    # What a method mentions is the method's: not every user of the class uses it.
    parts = [node] if not isinstance(node, ast.ClassDef) else _outside_methods(node)
    mentions = frozenset(name for part in parts for name in _names(part))
    return Definition(path, where, mentions, is_function, bool(names & KERNELS), first, last)


def _outside_methods(node: ast.ClassDef) -> list[ast.AST]:
    body = [one for one in node.body if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [*node.bases, *node.keywords, *node.decorator_list, *body]


def _names(node: ast.AST) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Attribute):
            yield one.attr
