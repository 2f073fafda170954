"""The content of a URLFrontier, as its command `DumpURLs` writes it."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.batches import tables
from recrawl.ingest.foreign_values import foreign_digest, status_code
from recrawl.ingest.lines import json_object, lines, parsed
from recrawl.ingest.sniff import json_keys
from recrawl.page.times import header_micros

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from recrawl.page.visit_rows import Row
    from recrawl.protocols import Source


class UrlFrontier:
    """The content of a URLFrontier: one line a page, with its last fetch if metadata tell it."""

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

    def read(self, stream: IO[bytes], source: Source) -> Iterator[pa.Table]:
        yield from tables(parsed(lines(stream, source), _item, source))


def _item(line: str) -> list[Row]:
    item = json_object(line)
    info = (item.get("known") or item["discovered"])["info"]
    url = info["url"]
    if not isinstance(url, str):
        raise TypeError(f"The url is not text: {url!r}.")
    facts = {key.lower(): _first(value) for key, value in (info.get("metadata") or {}).items()}
    done = facts.get("lastprocesseddate")
    if "known" not in item or not done:
        return [{"url": url}]
    at = header_micros(done)
    if at is None:
        raise ValueError(f"The lastProcessedDate is not a time: {done!r}.")
    row: Row = {"url": url, "at": at, "status": status_code(facts.get("fetch.statuscode"))}
    row["etag"] = facts.get("etag") or facts.get("protocol.etag")
    modified = facts.get("last-modified") or facts.get("protocol.last-modified")
    row["last_modified"] = header_micros(modified)
    if signature := facts.get("signature"):
        row |= {"digest": foreign_digest(signature), "digest_of": "signature"}
    return [row]


def _first(value: Any) -> str | None:
    values = value.get("values") if isinstance(value, dict) else value
    first = values[0] if isinstance(values, list) and values else values
    return first if isinstance(first, str) else None
