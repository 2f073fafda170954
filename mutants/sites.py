"""Every mutant of a source file, each with a name that stays while other lines come and go."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, MetadataWrapper, PositionProvider

from mutants.operators import NO_EFFECT, broken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: Wording of errors, types, and what only says where things are.
NOT_MUTATED = (cst.Raise, cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom, cst.Assert)


@dataclass(frozen=True)
class Mutant:
    """One change of one node of one file."""

    path: str  #: relative to the root of the repository
    where: str  #: function, `Class.method`, or names of the constants that hold the node
    line: int
    operator: str
    was: str  #: lines before, as they are in the file
    now: str  #: lines after
    id: str  #: of path, where, was and now: the same when lines elsewhere change
    code: bytes = field(repr=False, compare=False)  #: the whole file, broken

    @property
    def module(self) -> str:
        """The folder of `recrawl` it belongs to: `rates`, `papers/dang`."""
        parts = self.path.removeprefix("src/recrawl/").split("/")
        return "/".join(parts[:2]) if parts[0] == "papers" else parts[0]


def mutants(root: Path, path: str) -> list[Mutant]:
    """All mutants of a file, in the order of its lines."""
    source = (root / path).read_bytes()
    wrapper = MetadataWrapper(cst.parse_module(source))
    spans, positions = wrapper.resolve(ByteSpanPositionProvider), wrapper.resolve(PositionProvider)
    seen: Counter[str] = Counter()
    made = []
    for where, at in _nodes(wrapper.module, ""):
        for operator, node, instead in broken(at):
            start, end = spans[node].start, spans[node].start + spans[node].length
            text = _text(wrapper.module, node, instead).encode()
            first, last = source.rfind(b"\n", 0, start) + 1, source.find(b"\n", end)
            was = _stripped(source[first:last])
            now = _stripped(source[first:start] + text + source[end:last])
            key = "\0".join((path, where, was, now))
            seen[key] += 1
            digest = hashlib.sha256(f"{key}\0{seen[key]}".encode()).hexdigest()[:10]
            code = source[:start] + text + source[end:]
            line = positions[node].start.line
            made.append(Mutant(path, where, line, operator, was, now, digest, code))
    return made


def _text(module: cst.Module, node: Any, instead: Any) -> str:
    """Code of the new node; without the parentheses of the old one, which its span leaves out."""
    kept = getattr(node, "lpar", ())
    if kept and getattr(instead, "lpar", ()) is kept:
        instead = instead.with_changes(lpar=(), rpar=())
    return str(module.code_for_node(instead))


def _nodes(node: Any, where: str) -> Iterator[tuple[str, Any]]:
    """(name of the definition around it, node) for all that may be mutated."""
    for child in node.children:
        if isinstance(child, NOT_MUTATED) or _is_for_types(child) or _has_no_effect(child):
            continue
        yield (inside := _name(child, where)), child
        yield from _nodes(child, inside)


def _is_for_types(node: Any) -> bool:
    return (
        isinstance(node, cst.If)
        and isinstance(node.test, cst.Name)
        and node.test.value == "TYPE_CHECKING"
    )


def _has_no_effect(node: Any) -> bool:
    keyword = node.keyword if isinstance(node, cst.Arg) else None
    return keyword is not None and keyword.value in NO_EFFECT


def _name(node: Any, where: str) -> str:
    """`where`, or at the top of a file or class the name that a statement defines."""
    if where and not where.endswith("."):
        return where
    match node:
        case cst.FunctionDef():
            return where + str(node.name.value)
        case cst.ClassDef():
            return f"{node.name.value}."
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return where + str(name)
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=elements))]):
            return where + ",".join(str(getattr(one.value, "value", "")) for one in elements)
        case cst.AnnAssign(target=cst.Name(value=name)):
            return where + str(name)
    return where


def _stripped(lines: bytes) -> str:
    return "\n".join(line.strip() for line in lines.decode().splitlines())
