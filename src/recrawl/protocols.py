"""The extension points: one small Protocol each.

A part is a class with a `name`. Its constructor only stores keyword arguments, each with a
default; learned values end in `_`. `recrawl.checks` holds the rest of the contract.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from recrawl.model import FloatArray, Forecast, Pages, Signals, Time


class History(Protocol):
    """All visits made so far, as a policy may see them."""

    def pages(self) -> Pages: ...
    def signals(self) -> Signals | None:
        """The changes that sitemaps and feeds claim; None if there are no claims."""

    def models(self) -> Path | None:
        """The folder where policies keep fitted models; None if nothing is kept."""

    def database(self) -> Database | None:
        """The history's tables on disk; None for a history in memory."""


class Database(Protocol):
    """Tables of a history on disk, read-only, and the folder that holds them."""

    @property
    def path(self) -> Path: ...
    def query(self, sql: str, *parameters: object) -> pa.Table: ...


class Recorder(History, Protocol):
    """A history that takes visits."""

    def append(self, visits: pa.Table, *, now: Time | None = None) -> object: ...


class Planned(Protocol):
    """A plan as an engine sees it: pages, the most important first, and when it was made."""

    @property
    def pages(self) -> Pages: ...
    @property
    def now(self) -> Time: ...
    def urls(self) -> Sequence[str]: ...
    def __len__(self) -> int: ...


class Engine(Protocol):
    """Carries out a plan; returns visits in the schema VISITS, in batches as they are made."""

    def fetch(self, plan: Planned) -> Iterable[pa.Table]: ...


@runtime_checkable
class Policy(Protocol):
    """Which pages now? Higher scores come first; NaN never wins."""

    name: ClassVar[str]

    def score(self, pages: Pages, now: Time) -> FloatArray: ...
    def learn(self, history: History, pages: Pages, now: Time) -> None:
        """Learn from the recorded visits, between cycles; `pages` are those of the history."""


@runtime_checkable
class Forecaster(Protocol):
    """A policy that says how likely a visit shows a change, better than the rate alone."""

    def forecast(self, pages: Pages, now: Time) -> Forecast: ...


@runtime_checkable
class Reasoner(Protocol):
    """A policy that can say in words why it wants a page, the strongest reason first."""

    def reasons(self, pages: Pages, row: int) -> list[str]: ...


@runtime_checkable
class Rate(Protocol):
    """How often does each page change? Changes a day, finite and > 0."""

    name: ClassVar[str]

    def rate(self, pages: Pages) -> FloatArray: ...


@runtime_checkable
class Detector(Protocol):
    """Does the later copy differ from the earlier one? Row by row; null where that is unknown.

    Both tables have the columns of `model.VISITS`.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  #: columns it looks at

    def changed(self, before: pa.Table, after: pa.Table) -> pa.BooleanArray: ...


@runtime_checkable
class Reader(Protocol):
    """How does a crawl file become visits?"""

    name: ClassVar[str]

    def example(self) -> bytes:
        """A small file of this format."""

    def accepts(self, head: bytes, filename: str) -> bool:
        """Whether a file that begins with `head` (decompressed) is of this format."""

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        """Tables in the VISITS schema; malformed records go to `source.reject`."""


class Source(Protocol):
    """The input of a reader, and where it puts records that it cannot use."""

    filename: str
    now: Time

    def reject(self, where: str, reason: str, record: str | bytes = "") -> None: ...
