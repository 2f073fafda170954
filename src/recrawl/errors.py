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


class RecrawlError(Exception):
    """Base of every error raised on purpose."""


class BadInput(RecrawlError, ValueError):
    """A value breaks a rule."""


class BadUrl(BadInput):
    """Text that is not an http(s) URL."""


class UnknownPart(BadInput):
    """No part has that name."""


class StoreError(RecrawlError):
    """The history could not be read or written; nothing was changed."""


class StoreNotFound(StoreError):
    """There is no store in that folder."""


class StoreBusy(StoreError):
    """Another process is writing to the store."""


class StoreInvalid(StoreError):
    """The store is damaged, foreign, or written by a newer version."""
