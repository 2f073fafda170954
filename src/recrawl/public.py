"""Marks the classes that users meet under `recrawl`."""

from __future__ import annotations

from typing import Any, TypeVar

PublicClass = TypeVar("PublicClass", bound=type[Any])


def public(cls: PublicClass) -> PublicClass:
    """The same class, with `recrawl` as its module, which must offer it by its name."""
    cls.__module__ = "recrawl"
    return cls
