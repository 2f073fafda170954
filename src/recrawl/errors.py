"""Every error recrawl raises on purpose.

RecrawlError
├── BadInput          a value breaks a rule; the message names parameter, rule, value and remedy
│   ├── BadUrl        text that is not an http(s) URL
│   └── UnknownPart   no policy, rate, detector, reader or world has that name
├── MissingExtra      an optional package is not installed; names the extra that brings it
└── StoreError        the history could not be read or written; nothing was changed
    ├── StoreNotFound no store in that folder
    ├── StoreBusy     another process is writing; names it
    └── StoreInvalid  damaged, foreign, or written by a newer version
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from recrawl.public import public

if TYPE_CHECKING:
    from collections.abc import Iterator


@public
class RecrawlError(Exception):
    """Base of every error raised on purpose."""


@public
class BadInput(RecrawlError, ValueError):
    """A value breaks a rule."""


@public
class BadUrl(BadInput):
    """Text that is not an http(s) URL."""


@public
class UnknownPart(BadInput):
    """No part has that name."""


@public
class MissingExtra(RecrawlError, ImportError):
    """An optional package is not installed."""


@contextmanager
def extra(name: str, purpose: str) -> Iterator[None]:
    """Imports of the packages that the extra `name` brings; says so if one is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{purpose} needs {error.name}, which is not installed: pip install 'recrawl[{name}]'."
        ) from error


@public
class StoreError(RecrawlError):
    """The history could not be read or written; nothing was changed."""


@public
class StoreNotFound(StoreError):
    """There is no store in that folder."""


@public
class StoreBusy(StoreError):
    """Another process is writing to the store."""


@public
class StoreInvalid(StoreError):
    """The store is damaged, foreign, or written by a newer version."""
