"""Where are parts? In the entry points of installed packages, and in files that users name."""

from __future__ import annotations

import importlib.util
import inspect
import logging
import pkgutil
import sys
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from recrawl.errors import BadInput
from recrawl.public import public

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)
_FILE_PREFIX = "recrawl_part_"  #: of the names of modules loaded from files
#: Kind of part → its entry-point group.
GROUPS = {
    "policy": "recrawl.policies",
    "rate": "recrawl.rates",
    "detector": "recrawl.detectors",
    "reader": "recrawl.readers",
    "world": "recrawl.worlds",
}
#: Kind of part → the methods by which a class of that kind is recognised.
METHODS = {
    "policy": ("score", "learn"),
    "rate": ("rate",),
    "detector": ("changed",),
    "reader": ("accepts", "read"),
    "world": ("make",),
}


@public
@dataclass(frozen=True)
class FoundPart:
    """A class that is a part, and where it comes from."""

    cls: type[Any]
    origin: str  #: "recrawl 0.1.0", "my-package 1.2" or "registered"

    def summary(self) -> str:
        """The first line of its docstring, or else of its module's."""
        doc = self.cls.__doc__ or sys.modules[self.cls.__module__].__doc__ or ""
        return doc.strip().partition("\n")[0]


def has_methods(part: type[Any], kind: str) -> bool:
    """Whether a class has the methods of that kind of part."""
    return all(callable(getattr(part, method, None)) for method in METHODS[kind])


@cache
def entries(kind: str) -> tuple[EntryPoint, ...]:
    """The entry points of a kind: those of recrawl first, then others by name."""
    points = entry_points(group=GROUPS[kind])
    return tuple(sorted(points, key=lambda entry: (not _is_ours(entry), entry.value)))


def _is_ours(entry: EntryPoint) -> bool:
    return entry.value.partition(".")[0] == __name__.partition(".")[0]


_loading: set[str] = set()


def is_loading(kind: str) -> bool:
    """Whether the parts of a kind are just being imported."""
    return kind in _loading


@cache
def announced(kind: str) -> dict[str, FoundPart]:
    """Parts that installed packages announce. One that cannot be imported is only a warning."""
    parts: dict[str, FoundPart] = {}
    _loading.add(kind)
    try:
        for entry in entries(kind):
            package = entry.dist
            origin = f"{package.name} {package.version}" if package else entry.value
            for part in _load_entry(entry, origin):
                if not has_methods(part, kind):
                    continue
                if (other := parts.setdefault(part.name, FoundPart(part, origin))).cls is not part:
                    _log.warning(
                        "The %s %r of %s is left out, %s has one of that name.",
                        kind, part.name, origin, other.origin,
                    )  # fmt: skip
    finally:
        _loading.discard(kind)
    return parts


def _load_entry(entry: EntryPoint, origin: str) -> Iterator[type[Any]]:
    """The classes behind an entry: a class, those of a module, or those of a package's modules."""
    try:
        loaded = entry.load()
    except Exception as error:  # noqa: BLE001
        _warn(entry.value, origin, error)
        return
    if not isinstance(loaded, ModuleType):
        if inspect.isclass(loaded) and "name" in vars(loaded):
            yield loaded
        else:
            _warn(entry.value, origin, TypeError("it must be a class with a name, or a module"))
        return
    yield from classes(loaded)
    for info in pkgutil.iter_modules(getattr(loaded, "__path__", ()), f"{loaded.__name__}."):
        try:
            module = import_module(info.name)
        except Exception as error:  # noqa: BLE001
            _warn(info.name, origin, error)
            continue
        yield from classes(module)


def _warn(what: str, origin: str, error: Exception) -> None:
    _log.warning(
        "%s of %s could not be imported, its parts are left out: %s: %s",
        what, origin, type(error).__name__, error,
    )  # fmt: skip


def classes(module: ModuleType) -> Iterator[type[Any]]:
    """The parts that a module defines: classes with a `name` of their own."""
    for part in list(vars(module).values()):
        if inspect.isclass(part) and part.__module__ == module.__name__ and "name" in vars(part):
            yield part


def load_file(path: str) -> ModuleType:
    """The module in a file, imported once in a process however often it is named."""
    file = Path(path).resolve()
    if not file.is_file():
        raise BadInput(f"No such file: {path}. A part from outside is a file or module:Class.")
    name = f"{_FILE_PREFIX}{file.stem}_{blake2b(str(file).encode(), digest_size=4).hexdigest()}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise BadInput(f"The file must hold Python. Got {path}.")
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            del sys.modules[name]
            raise BadInput(
                f"{path} could not be imported: {type(error).__name__}: {error}"
            ) from error
    return sys.modules[name]


def loaded_files() -> list[str]:
    """The files that `load_file` has loaded."""
    loaded = [module for name, module in sys.modules.items() if name.startswith(_FILE_PREFIX)]
    return [str(module.__file__) for module in loaded]


def is_importable(part: type[Any]) -> bool:
    """Whether another process can import the class: not one of a notebook, or in a function."""
    name = part.__module__
    if name == "__main__" or getattr(sys.modules.get(name), part.__qualname__, None) is not part:
        return False
    try:
        return name.startswith(_FILE_PREFIX) or importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def load_module(name: str) -> ModuleType:
    """The module of that dotted name."""
    try:
        return import_module(name)
    except Exception as error:
        raise BadInput(f"{name} could not be imported: {type(error).__name__}: {error}") from error


def part_in_module_of_its_name(kind: str, name: str) -> type[Any] | None:
    """The part, if an announced package holds it in a module of the same name; else None.

    This saves the import of every other part of the kind.
    """
    for entry in entries(kind):
        package, stem = entry.value, name.replace("-", "_")
        if ":" in package or not stem.isidentifier():
            continue
        try:
            if importlib.util.find_spec(f"{package}.{stem}") is None:
                continue
            module = import_module(f"{package}.{stem}")
        except Exception:  # noqa: BLE001, S112  # `announced` says what is wrong
            continue
        for part in classes(module):
            if part.name == name:
                return part
    return None
