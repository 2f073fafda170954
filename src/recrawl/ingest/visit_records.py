"""One record with the columns of a visit → a row; ValueError or TypeError for a wrong value."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from recrawl.errors import BadUrl
from recrawl.ingest.foreign_values import status_code
from recrawl.model import VISITS
from recrawl.page import parse
from recrawl.page.fingerprints import text_hash
from recrawl.page.links import first_links
from recrawl.page.times import header_micros, micros
from recrawl.urls import canonical

if TYPE_CHECKING:
    from collections.abc import Callable

    from recrawl.page.visit_rows import Row


def row_of(record: dict[str, Any]) -> Row:
    """The record as a visit. A text without a digest gets one."""
    record = {key: value for key, value in record.items() if value is not None and value != ""}
    if not isinstance(record.get("url"), str):
        raise ValueError("The url is missing.")  # noqa: TRY004 - as for any malformed record
    record.setdefault("reported", record.get("changed"))
    row = {n: _CONVERTERS[n](record[n]) for n in VISITS.names if record.get(n) is not None}
    if "digest" not in row and "text" in row:
        page = parse(row["text"].encode(), url=row["url"], content_type="text/plain; charset=utf-8")
        row |= {"digest": page.digest, "digest_of": page.digest_of}
    if "digest" in row:
        row.setdefault("digest_of", "given")
    return row | _outlinks(row)


def _outlinks(row: Row) -> Row:
    """The links, absolute and canonical, without those to the page itself or to no web page."""
    if "links" not in row:
        return {"nofollow": None}
    try:
        links = first_links(row["links"], row["url"])
    except BadUrl:
        return {}  # the validation rejects this visit
    left_out = (None, canonical(row["url"]))
    is_kept = [link not in left_out for link in links]
    flags = row.get("nofollow")
    if flags is not None:
        flags = list(compress(flags, is_kept)) if len(flags) == len(row["links"]) else None
    return {"links": list(compress(links, is_kept)), "nofollow": flags}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"Not text: {value!r}.")
    return value


def _whole(value: Any, low: int, high: int) -> int:
    number = int(value)
    has_fraction = isinstance(value, float) and number != value
    if isinstance(value, bool) or has_fraction or not low <= number <= high:
        raise ValueError(f"Not a whole number from {low} to {high}: {value!r}.")
    return number


def _unsigned(value: Any) -> int:
    return _whole(value, -(2**63), 2**64 - 1) % 2**64  # some programs have signed numbers only


def digest(value: Any) -> int:
    """A whole number is the digest itself; any other text is hashed."""
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


def _list(value: Any, convert: Callable[[Any], Any]) -> list[Any]:
    return [convert(item) for item in (value.split() if isinstance(value, str) else value)]


#: Column → the function that makes its value.
_CONVERTERS: dict[str, Callable[[Any], Any]] = {
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
    "problem": _text,
    "leads_to": _text,
}
