"""Every error recrawl raises on purpose.

RecrawlError
├── BadInput          a value breaks a rule; the message names parameter, rule, value and remedy
│   ├── BadUrl        text that is not an http(s) URL
│   └── UnknownPart   no policy, rate, detector, reader or world has that name
└── StoreError        the history could not be read or written; nothing was changed
    ├── StoreNotFound no store in that folder
    ├── StoreBusy     another process is writing; names it
    └── StoreInvalid  damaged, foreign, or written by a newer version
"""

from __future__ import annotations

from recrawl.public import public


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
