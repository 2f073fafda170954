"""The content of a URLFrontier, as its command `DumpURLs` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.foreign_values import foreign_digest, status_code
from recrawl.ingest.lines import LineReader, json_object
from recrawl.ingest.sniff import json_keys
from recrawl.page.times import header_micros

if TYPE_CHECKING:
    from recrawl.page.visit_rows import Row


class UrlFrontier(LineReader):
    """The content of a URLFrontier: one line for each page, with its last fetch if known."""

    name: ClassVar[str] = "urlfrontier"

    def example(self) -> bytes:
        return (
            b'{"known": {"info": {"url": "https://example.org/", "key": "example.org", "metadata": '
            b'{"fetch.statusCode": {"values": ["200"]}, '
            b'"lastProcessedDate": {"values": ["2026-01-31T12:00:00Z"]}}}, '
            b'"refetchableFromDate": "1772452800"}}\n'
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return bool(json_keys(head) & {"discovered", "known"})

    def rows(self, line: str) -> list[Row]:
        item = json_object(line)
        info = (item.get("known") or item["discovered"])["info"]
        url = info["url"]
        if not isinstance(url, str):
            raise TypeError(f"The url is not text: {url!r}.")
        metadata = {
            key.lower(): _first(value) for key, value in (info.get("metadata") or {}).items()
        }
        processed = metadata.get("lastprocesseddate")
        if "known" not in item or not processed:
            return [{"url": url}]
        at = header_micros(processed)
        if at is None:
            raise ValueError(f"The lastProcessedDate is not a time: {processed!r}.")
        row: Row = {"url": url, "at": at, "status": status_code(metadata.get("fetch.statuscode"))}
        row["etag"] = metadata.get("etag") or metadata.get("protocol.etag")
        modified = metadata.get("last-modified") or metadata.get("protocol.last-modified")
        row["last_modified"] = header_micros(modified)
        if signature := metadata.get("signature"):
            row |= {"digest": foreign_digest(signature), "digest_of": "signature"}
        return [row]


def _first(value: Any) -> str | None:
    """The first value of a metadata field, if it is text."""
    values = value.get("values") if isinstance(value, dict) else value
    first = values[0] if isinstance(values, list) and values else values
    return first if isinstance(first, str) else None
