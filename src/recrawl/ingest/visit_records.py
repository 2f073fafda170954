"""What does one value in our own columns mean? Wrong values are told by ValueError or TypeError."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl.errors import BadUrl
from recrawl.ingest.foreign_values import status_code
from recrawl.model import VISITS
from recrawl.page import parse
from recrawl.page.fingerprints import text_hash
from recrawl.page.times import header_micros, micros
from recrawl.urls import canonical, resolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.page.visit_rows import Row


def row_of(record: dict[str, Any]) -> Row:
    """One record in our own columns as a visit."""
    record = {key: value for key, value in record.items() if value is not None and value != ""}
    if not isinstance(record.get("url"), str):
        raise ValueError("The url is missing.")  # noqa: TRY004 - one kind of malformed
    record.setdefault("reported", record.get("changed"))
    row = {n: _CELLS[n](record[n]) for n in VISITS.names if record.get(n) is not None}
    if "digest" not in row and "text" in row:
        said = parse(row["text"].encode(), url=row["url"], content_type="text/plain; charset=utf-8")
        row |= {"digest": said.digest, "digest_of": said.digest_of}
    if "digest" in row:
        row.setdefault("digest_of", "given")
    return row | _outlinks(row)


def _outlinks(row: Row) -> Row:
    """The links as pages: absolute, canonical, without those that are none or the page itself."""
    if "links" not in row:
        return {"nofollow": None}
    try:
        found = resolved(row["links"], row["url"])
    except BadUrl:
        return {}  # the visit itself will be rejected
    flags = row.get("nofollow")
    whole = flags is not None and len(flags) == len(found)
    pairs = zip(found, flags if flags is not None and whole else found, strict=True)
    page = canonical(row["url"])
    kept = [(link, flag) for link, flag in pairs if link not in (None, page)]
    return {
        "links": [link for link, _ in kept],
        "nofollow": [flag for _, flag in kept] if whole else None,
    }


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"Not text: {value!r}.")
    return value


def _whole(value: Any, low: int, high: int) -> int:
    number = int(value)
    rounded = isinstance(value, float) and number != value
    if isinstance(value, bool) or rounded or not low <= number <= high:
        raise ValueError(f"Not a whole number from {low} to {high}: {value!r}.")
    return number


def _unsigned(value: Any) -> int:
    return _whole(value, -(2**63), 2**64 - 1) % 2**64  # some stores have signed numbers only


def digest(value: Any) -> int:
    """A whole number as it is, any other text by its hash."""
    text = str(value)
    if len(text) <= 20 and text.isascii() and text.isdigit():
        number = int(text)
        if str(number) == text and number < 2**64:
            return number
    return text_hash(text)


def _flag(value: Any) -> bool:
    known = {"true": True, "1": True, "false": False, "0": False}
    flag = known.get(str(value).lower())
    if flag is None:
        raise ValueError(f"Not true or false: {value!r}.")
    return flag


def _list(value: Any, cell: Callable[[Any], Any]) -> list[Any]:
    return [cell(item) for item in (value.split() if isinstance(value, str) else value)]


_CELLS: dict[str, Callable[[Any], Any]] = {
    "url": _text,
    "at": micros,
    "status": status_code,
    "digest": digest,
    "digest_of": _text,
    "reported": _flag,
    "simhash": _unsigned,
    "title": _text,
    "text": _text,
    "links": lambda value: _list(value, _text),
    "nofollow": lambda value: _list(value, _flag),
    "bytes": lambda value: _whole(value, 0, 2**63 - 1),
    "seconds": float,
    "etag": _text,
    "last_modified": header_micros,
    "skipped": _flag,
    "leads_to": _text,
}
