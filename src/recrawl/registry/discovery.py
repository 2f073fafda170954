"""Where are parts? In what installed packages announce, and in files that users name."""

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


@public
@dataclass(frozen=True)
class Part:
    """A class found in the registry, and where it comes from."""

    part: type[Any]
    origin: str  #: "recrawl 0.1.0", "my-package 1.2" or "registered"

    def summary(self) -> str:
        """The first line of its docstring, or else of its module's."""
        doc = self.part.__doc__ or sys.modules[self.part.__module__].__doc__ or ""
        return doc.strip().partition("\n")[0]


@cache
def entries(group: str) -> tuple[EntryPoint, ...]:
    """The entries of a group: those of recrawl first, then others by name."""
    found = entry_points(group=group)
    return tuple(sorted(found, key=lambda entry: (not _is_ours(entry), entry.value)))


def _is_ours(entry: EntryPoint) -> bool:
    return entry.value.partition(".")[0] == __name__.partition(".")[0]


@cache
def announced(group: str) -> dict[str, Part]:
    """Parts that installed packages announce. One that cannot be imported is only a warning."""
    found: dict[str, Part] = {}
    for entry in entries(group):
        package = entry.dist
        origin = f"{package.name} {package.version}" if package else entry.value
        for part in _load_entry(entry, origin):
            if (name := part.name) in found:
                _log.warning(
                    "%s: %r of %s is left out, %s has one of that name.",
                    group, name, origin, found[name].origin,
                )  # fmt: skip
            else:
                found[name] = Part(part, origin)
    return found


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
    module = part.__module__
    if module == "__main__" or "." in part.__qualname__:
        return False
    if module.startswith(_FILE_PREFIX):
        return True
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def load_module(name: str) -> ModuleType:
    """The module of that dotted name."""
    try:
        return import_module(name)
    except Exception as error:
        raise BadInput(f"{name} could not be imported: {type(error).__name__}: {error}") from error


def module_of_that_name(group: str, name: str) -> type[Any] | None:
    """The part, if a package that is announced holds it in a module of the same name.

    This saves the import of every other part of the kind.
    """
    for entry in entries(group):
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
