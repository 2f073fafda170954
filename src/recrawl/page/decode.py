"""The body of a response: undo its Content-Encoding, find its kind and its charset."""

from __future__ import annotations

import codecs
import re
import zlib
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["html", "text", "binary", "empty"]

_CHUNK_BYTES = 65_536
#: Encoding → the window sizes of zlib to try: "deflate" is sent with and without a zlib header.
_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
_MAGIC = (b"%PDF-", b"\x89PNG", b"GIF8", b"\xff\xd8\xff", b"PK\x03\x04", b"\x1f\x8b", b"RIFF")
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")
_HTML = re.compile(
    rb"<(?:!doctype html|!--|(?:html|head|body|title|meta|script|div|p|a|h1|table)[\s>])"
)
_TEXTUAL = re.compile(r"text/|application/(?:\S*\+)?(?:json|xml|javascript)$")
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?\s*([\w:.-]{1,40})", re.IGNORECASE)
_META = re.compile(rb"<meta[^>]+?charset\s*=\s*[\"']?\s*([\w:.-]{1,40})")
#: Python's name of a charset → the wider charset that the web means by it.
_WEB_CHARSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "utf-16": "utf-16-le",
}
_ALLOWED_CHARSETS = re.compile(
    r"utf-8|utf-16-[bl]e|cp(?:125[0-8]|866|874|932|949)|iso8859-\d+|koi8-[ru]|mac-\w+"
    r"|gb18030|big5\w*|euc_jp|iso2022_jp"
)


class Unpacked(NamedTuple):
    """A body without its Content-Encoding."""

    body: bytes
    truncated: bool = False
    problem: str | None = None  #: what went wrong
    is_encoded: bool = False  #: the encoding could not be undone


def unpack(body: bytes, encoding: str | None, max_bytes: int) -> Unpacked:
    """The body without its Content-Encoding, at most `max_bytes` of it."""
    names = _encodings(encoding) if encoding else []
    if len(names) > 1 or (names and names[0] not in _WINDOWS):
        problem = f"unknown content-encoding {encoding!r:.80}"
        return Unpacked(body[:max_bytes], len(body) > max_bytes, problem, is_encoded=True)
    if names:
        return _inflate(body, names[0], max_bytes)
    if len(body) > max_bytes:
        return Unpacked(body[:max_bytes], truncated=True, problem="body over limit")
    return Unpacked(body)


def _encodings(header: str) -> list[str]:
    names = [name.strip() for name in header.lower().split(",")]
    return [name for name in names if name not in ("", "identity")]


def _inflate(body: bytes, name: str, max_bytes: int) -> Unpacked:
    if name != "deflate" and not body.startswith(b"\x1f\x8b"):
        # Many clients undo the encoding and leave the header in place.
        problem = "not gzip, taken as it is" if body else None
        return Unpacked(body[:max_bytes], len(body) > max_bytes, problem)
    unpacked = Unpacked(b"")
    for window in _WINDOWS[name]:
        unpacked = _inflate_as(body, window, name, max_bytes)
        if unpacked.body or unpacked.problem is None:
            return unpacked
    return Unpacked(body[:max_bytes], len(body) > max_bytes, unpacked.problem, is_encoded=True)


def _inflate_as(body: bytes, window: int, name: str, max_bytes: int) -> Unpacked:
    """The bytes of a zlib stream up to the limit, an error, or its end."""
    stream = zlib.decompressobj(window)
    out = bytearray()
    problem = None
    try:
        for begin in range(0, len(body), _CHUNK_BYTES):
            out += stream.decompress(body[begin : begin + _CHUNK_BYTES], max_bytes + 1 - len(out))
            if len(out) > max_bytes:
                return Unpacked(
                    bytes(out[:max_bytes]), truncated=True, problem="decoded body over limit"
                )
            if stream.eof:
                break
    except zlib.error:
        problem = f"undecodable {name}"
    if problem is None and body and not stream.eof:
        problem = f"{name} cut short"
    return Unpacked(bytes(out), problem is not None, problem)


def kind_of(body: bytes, content_type: str | None) -> Kind:
    """The kind by the magic bytes, else by the Content-Type header, else by the first kilobyte."""
    if not body or body.isspace():
        return "empty"
    if body.startswith(_MAGIC):
        return "binary"
    return _declared_kind(content_type or "") or _sniffed_kind(body[:1024])


@lru_cache(maxsize=512)
def _declared_kind(content_type: str) -> Kind | None:
    media = content_type.partition(";")[0].strip().lower()
    if media in ("text/html", "application/xhtml+xml"):
        return "html"
    if _TEXTUAL.match(media):
        return "text"
    return None if media in ("", "application/octet-stream", "unknown/unknown") else "binary"


def _sniffed_kind(head: bytes) -> Kind:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        head = head.replace(b"\x00", b"")
    if _CONTROL.search(head):
        return "binary"
    return "html" if _HTML.search(head.lower()) else "text"


def charset_of(body: bytes, content_type: str | None) -> str:
    """The charset that the byte order mark, the header or `<meta>` names, in this order.

    Without any: UTF-8 where the body is valid UTF-8, else Windows-1252.
    """
    for mark, name in _BOMS.items():
        if body.startswith(mark):
            return name
    charset = _declared_charset(content_type or "")
    if charset is None and (meta := _META.search(body[:1024].lower())):
        charset = _codec(meta[1].decode("ascii", "replace"))
        # A tag that can be read as ASCII is not in UTF-16, whatever it says.
        charset = "utf-8" if charset and charset.startswith("utf-16") else charset
    return charset or ("utf-8" if _is_utf8(body) else "cp1252")


@lru_cache(maxsize=512)
def _declared_charset(content_type: str) -> str | None:
    declared = _PARAMETER.search(content_type)
    return _codec(declared[1]) if declared else None


@lru_cache(maxsize=512)
def _codec(label: str) -> str | None:
    """Python's name of a charset; None for codecs that are no charset of the web, such as rot13."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _WEB_CHARSETS.get(name, name)
    return name if _ALLOWED_CHARSETS.fullmatch(name) else None


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError as error:
        # Cut in the middle of a character, after others that are whole.
        return error.reason == "unexpected end of data" and not body[: error.start].isascii()
    return True


def to_utf8(body: bytes, charset: str) -> bytes:
    """The same text in UTF-8, without byte order mark. Invalid UTF-8 is left to the scanner."""
    if charset == "utf-8":
        return body.removeprefix(codecs.BOM_UTF8)
    text = body.decode(charset, "replace").removeprefix("\ufeff")
    return text.encode("utf-8", "replace")
