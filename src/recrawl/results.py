"""What results share: rows for other tools, and a table in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any

from recrawl.errors import MissingExtra

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

MAX_HTML_ROWS = 20  #: rows of a table in a notebook


class Results(ABC):
    """A result of several rows. Iterating gives each row as a dictionary."""

    @abstractmethod
    def _rows(self) -> Iterable[dict[str, Any]]:
        """The rows, all with the same keys."""

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self._rows())

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        import pyarrow as pa

        return pa.Table.from_pylist(list(self._rows()))

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame."""
        _require("pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> Any:
        """The rows as a Polars DataFrame."""
        return _require("polars").from_arrow(self.to_arrow())

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows as a table, under the text of `repr`."""
        rows = list(islice(self._rows(), MAX_HTML_ROWS))
        head = _html_row("th", rows[0]) if rows else ""
        body = "".join(_html_row("td", map(_short, row.values())) for row in rows)
        return f"<table><caption>{escape(repr(self))}</caption>{head}{body}</table>"


def _html_row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def _short(value: object) -> str:
    """A cell for people.

    >>> _short(0.123456), _short(None), _short("<a>")
    ('0.1235', '', '<a>')
    """
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _require(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtra(
            f"to_{package} needs {package}, which is not installed; run `pip install {package}`."
        ) from error
