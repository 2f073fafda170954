"""Name → part. A part is found by being there: a class with a `name` in its kind's folder."""

from __future__ import annotations

import inspect
import json
import pkgutil
import re
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from recrawl.errors import BadInput, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Collection

FOLDERS = {
    "policy": "recrawl.policies",
    "rate": "recrawl.rates",
    "detector": "recrawl.content.detectors",
    "reader": "recrawl.ingest.readers",
    "world": "recrawl.lab.worlds",
}
#: Of arguments annotated so what they must be, for they may come from the command line as any text.
_KINDS: dict[str, tuple[Any, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
}
_NEXT = re.compile(r",(?=\s*\w+\s*=|\s*$)")  # other commas are part of a value, such as a path


@cache
def parts(kind: str) -> dict[str, type[Any]]:
    """Every part of a kind by name, sorted."""
    if kind not in FOLDERS:
        raise UnknownPart(f"No kind of part called {kind!r}. Known: {', '.join(FOLDERS)}.")
    package = import_module(FOLDERS[kind])
    found: dict[str, type[Any]] = {}
    for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        module = import_module(info.name)
        for part in vars(module).values():
            if inspect.isclass(part) and part.__module__ == info.name and "name" in vars(part):
                found[vars(part)["name"]] = part
    return dict(sorted(found.items()))


def build(kind: str, written: str, **arguments: object) -> Any:
    """A part as people write it: its name, or `name:argument=value,argument=value`.

    A policy may also be the path of the JSON file that `recrawl evolve` wrote.

    >>> build("detector", "shingles:tau=0.3,inclusive=true").tau
    0.3
    """
    name, _, rest = written.partition(":")
    if kind == "policy" and written.endswith(".json") and name not in parts(kind):
        return make(kind, "evolved", file=written, **arguments)
    for pair in filter(None, _NEXT.split(rest)):
        argument, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"A part is written name:argument=value. Got {written!r}.")
        arguments[argument.strip()] = _value(value.strip())
    return make(kind, name.strip(), **arguments)


def unknown(kind: str, name: str, known: Collection[str]) -> UnknownPart:
    """The error for a name that is none, with the nearest one."""
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UnknownPart(f"No {kind} called {name!r}.{hint} Known: {', '.join(known)}.")


def _value(text: str) -> object:
    """A number, true or false where it reads as one, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def make(kind: str, name: str, **arguments: object) -> Any:
    """Build the part of that name; `make("policy", "random", seed=3)`."""
    known = parts(kind)
    if name not in known:
        raise unknown(kind, name, known)
    allowed = inspect.signature(known[name]).parameters
    for argument, value in arguments.items():
        if argument not in allowed:
            takes = ", ".join(allowed) or "no arguments"
            raise BadInput(f"The {kind} {name!r} has no argument {argument!r}. It takes: {takes}.")
        wanted, rule = _KINDS.get(allowed[argument].annotation, (object, ""))
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise BadInput(f"The {kind} {name!r}: {argument} must be {rule}. Got {value!r}.")
    return known[name](**arguments)
