"""Name → part. Packages announce their parts through entry points, recrawl its own ones too.

A group (`recrawl.policies`, `recrawl.rates`, …) has entries that name a package, a module or a
class. A part is a class with a `name` of its own. See docs/adding-a-part.md.
"""

from __future__ import annotations

import inspect
import json
import re
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.errors import BadInput, UnknownPart
from recrawl.registry.discovery import (
    GROUPS,
    METHODS,
    FoundPart,
    announced,
    classes,
    has_methods,
    is_importable,
    is_loading,
    load_file,
    load_module,
    loaded_files,
    part_in_module_of_its_name,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from types import ModuleType

__all__ = [
    "GROUPS",
    "FoundPart",
    "import_parts",
    "is_known",
    "kind_of",
    "make",
    "outside_parts",
    "part_class",
    "part_label",
    "parts",
    "parts_with_origin",
    "register",
    "unknown",
]

PartClass = TypeVar("PartClass", bound=type[Any])

#: Expected Python type per annotation; arguments may come from the command line as text.
_TYPES: dict[str, tuple[Any, str]] = {
    "int": (Integral, "a whole number"),
    "float": (Real, "a number"),
    "bool": (bool, "true or false"),
    "str": (str, "a text"),
}
_NEXT_ARGUMENT = re.compile(r",(?=\s*\w+\s*=|\s*$)")  # other commas belong to a value, as in a path

_registered: dict[str, dict[str, FoundPart]] = {kind: {} for kind in GROUPS}


def register(part: PartClass, *, kind: str | None = None) -> PartClass:
    """Make a class known by its `name` in this process; usable as a decorator.

    The kind follows from the methods of the class unless it is given.
    """
    kind = _check_kind(kind) if kind else kind_of(part)
    name = _require_name(part)
    # A module that is being imported because of its entry point may register its classes too.
    if not is_loading(kind) and (other := announced(kind).get(name)):
        if other.cls is part:
            return part
        raise BadInput(
            f"name must not be that of another {kind}. Got {name!r}, which comes from "
            f"{other.origin}; choose another."
        )
    _registered[kind][name] = FoundPart(part, "registered")
    return part


def parts(kind: str) -> dict[str, type[Any]]:
    """Every part of a kind by name, sorted."""
    return {name: each.cls for name, each in parts_with_origin(kind).items()}


def parts_with_origin(kind: str) -> dict[str, FoundPart]:
    """Every part of a kind by name, sorted, with its origin."""
    return dict(sorted((_registered[_check_kind(kind)] | announced(kind)).items()))


def make(kind: str, text: str, **arguments: object) -> Any:
    """Build a part from text, as it is written on the command line.

    That is `name` or `name:argument=value,argument=value`; or a part from outside, `./my_policy.py`
    or `my_package.module:MyPolicy`, also with `:argument=value`. A policy may also be the path of
    the JSON file that `recrawl evolve` wrote.

    >>> make("detector", "shingles:tau=0.3,inclusive=true").tau
    0.3
    """
    part, name, rest = _find(_check_kind(kind), text)
    if kind == "policy" and name.endswith(".json"):
        arguments["file"] = name
    for pair in filter(None, _NEXT_ARGUMENT.split(rest)):
        argument, equals, value = pair.partition("=")
        if not equals:
            raise BadInput(f"A part must be written name:argument=value. Got {text!r}.")
        arguments[argument.strip()] = _value(value.strip())
    _check_arguments(part, f"{kind} {name!r}", arguments)
    return part(**arguments)


def is_known(kind: str, text: str) -> bool:
    """Whether the name in a text is that of an installed or registered part.

    False for files and modules, which `make` would import.
    """
    name = text.partition(":")[0].strip()
    is_named = name in _registered[kind] or part_in_module_of_its_name(kind, name) is not None
    return is_named or name in announced(kind)


def part_class(kind: str, text: str) -> type[Any]:
    """The class that `make` would use; the arguments in the text are not checked."""
    return _find(_check_kind(kind), text)[0]


def part_label(part: Any) -> str:
    """A part as people write it: its name, and the arguments that are not the defaults.

    >>> part_label(make("detector", "shingles:tau=0.3"))
    'shingles:tau=0.3'
    """
    if isinstance(part, str):
        return part
    arguments = ",".join(
        f"{name}={getattr(part, name)}"
        for name, parameter in inspect.signature(type(part)).parameters.items()
        if getattr(part, name, parameter.default) != parameter.default
    )
    return f"{part.name}:{arguments}" if arguments else str(part.name)


#: Files and classes (kind, module, name) that another process must import to know the same parts.
OutsideParts = tuple[list[str], list[tuple[str, str, str]]]


def outside_parts(used: Sequence[Any] = ()) -> OutsideParts | None:
    """What `import_parts` needs in another process; None if that could not import it all.

    Those are the parts registered here, the files loaded here, and the classes of the objects
    `used`.
    """
    registered = [
        (kind, each.cls) for kind, named in _registered.items() for each in named.values()
    ]
    objects = [type(part) for part in used if not isinstance(part, str)]
    if not all(is_importable(part) for part in (*objects, *(part for _, part in registered))):
        return None
    names = [(kind, part.__module__, part.__qualname__) for kind, part in registered]
    return loaded_files(), names


def import_parts(outside: OutsideParts) -> None:
    """Load files and register classes that `outside_parts` found in another process."""
    files, registered = outside
    for file in files:
        load_file(file)
    for kind, module, name in registered:
        register(getattr(load_module(module), name), kind=kind)


def unknown(kind: str, name: str, known: Collection[str]) -> UnknownPart:
    """Error for an unknown name, suggesting the closest one."""
    near = get_close_matches(name, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return UnknownPart(f"No {kind} called {name!r}.{hint} Known: {', '.join(known)}.")


def _find(kind: str, text: str) -> tuple[type[Any], str, str]:
    """The class, the name it was found by, and the text of its arguments."""
    name, _, rest = text.partition(":")
    name = name.strip()
    if name in _registered[kind]:
        return _registered[kind][name].cls, name, rest
    if (part := part_in_module_of_its_name(kind, name)) is not None:
        return part, name, rest
    if kind == "policy" and (name.endswith(".json") or _is_json_file(text)):
        return _find(kind, "evolved")[0], text, ""
    class_name, arguments = _split_class(rest)
    if name.endswith(".py"):
        return _class_in_module(load_file(name), class_name, kind), name, arguments
    known = announced(kind)
    if name in known:
        return known[name].cls, name, rest
    if class_name or ("." in name and "/" not in name):
        return _class_in_module(load_module(name), class_name, kind), class_name or name, arguments
    raise unknown(kind, name, parts(kind))


def _is_json_file(text: str) -> bool:
    """Whether the text is the path of a policy file; such a path may hold colons."""
    return text.endswith(".json") and Path(text).is_file()


def _split_class(rest: str) -> tuple[str, str]:
    """The class name in front of the arguments, "" where there is none, and the arguments.

    >>> _split_class("MyPolicy:half_life=3"), _split_class("half_life=3")
    (('MyPolicy', 'half_life=3'), ('', 'half_life=3'))
    """
    name, _, arguments = rest.partition(":")
    return (name.strip(), arguments) if name.strip().isidentifier() else ("", rest)


def _class_in_module(module: ModuleType, class_name: str, kind: str) -> type[Any]:
    """The part in a module: the class of that name, or else the only part of the kind."""
    where = getattr(module, "__file__", None) or module.__name__
    if class_name:
        part = getattr(module, class_name, None)
        if not inspect.isclass(part):
            raise BadInput(f"{where} has no class {class_name!r}.")
        if kind_of(part) != kind:
            raise BadInput(f"{class_name} of {where} must be a {kind}. It is a {kind_of(part)}.")
        _require_name(part)
        return part
    fitting = [part for part in classes(module) if has_methods(part, kind)]
    if len(fitting) != 1:
        names = ", ".join(part.__name__ for part in fitting) or "none"
        raise BadInput(
            f"{where} must hold one {kind}, a class with a name. It holds: {names}; "
            "write the name of the class after a colon."
        )
    return fitting[0]


def _require_name(part: type[Any]) -> str:
    name = vars(part).get("name")
    if not isinstance(name, str) or not name:
        raise BadInput(
            f"A part needs a `name` of its own, a text. {part.__qualname__} has {name!r}."
        )
    return name


def kind_of(part: type[Any]) -> str:
    """The kind of part whose methods a class has."""
    for kind in METHODS:
        if has_methods(part, kind):
            return kind
    wanted = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in METHODS.items())
    raise BadInput(f"{part.__qualname__} has the methods of no kind of part. They are: {wanted}.")


def _check_kind(kind: str) -> str:
    if kind not in GROUPS:
        raise UnknownPart(f"No kind of part called {kind!r}. Known: {', '.join(GROUPS)}.")
    return kind


def _check_arguments(part: type[Any], called: str, arguments: dict[str, object]) -> None:
    allowed = inspect.signature(part).parameters
    for argument, value in arguments.items():
        if argument not in allowed:
            takes = ", ".join(allowed) or "no arguments"
            raise BadInput(f"The {called} has no argument {argument!r}. It takes: {takes}.")
        wanted, rule = _TYPES.get(allowed[argument].annotation, (object, ""))
        if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
            raise BadInput(f"The {called}: {argument} must be {rule}. Got {value!r}.")


def _value(text: str) -> object:
    """A number, true or false where it reads as one, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
