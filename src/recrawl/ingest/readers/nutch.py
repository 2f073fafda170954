"""The crawl database of Nutch, as `readdb -dump -format json` writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from recrawl.ingest.foreign_values import foreign_digest
from recrawl.ingest.lines import LineReader, json_object
from recrawl.ingest.sniff import json_keys
from recrawl.page.times import header_micros

if TYPE_CHECKING:
    from recrawl.page.visit_rows import Row

#: `statusName` of a page → HTTP status of its last fetch; None: the page was not fetched.
_STATUS = {
    "db_unfetched": None,
    "db_fetched": 200,
    "db_gone": 404,
    "db_redir_temp": 302,
    "db_redir_perm": 301,
    "db_notmodified": 304,
    "db_duplicate": 200,
    "db_orphan": None,
}


class Nutch(LineReader):
    """The crawl database of Nutch: one line for each page, with its last fetch.

    `fetchTime` is when the page is due next; its last fetch was one interval earlier.
    """

    name: ClassVar[str] = "nutch"

    def example(self) -> bytes:
        return (
            b'{"url": "https://example.org/", "statusCode": 2, "statusName": "db_fetched", '
            b'"fetchTime": "2026-03-02T12:00:00Z", "retryIntervalSeconds": 2592000, '
            b'"signature": "0cc175b9c0f1b6a831c399e269772661"}\n'
        )

    def accepts(self, head: bytes, filename: str) -> bool:  # noqa: ARG002
        return {"url", "statusName", "fetchTime"} <= json_keys(head)

    def rows(self, line: str) -> list[Row]:
        page = json_object(line)
        name, url = page["statusName"], page["url"]
        if name not in _STATUS:
            raise ValueError(f"Unknown statusName: {name!r}.")
        if not isinstance(url, str):
            raise TypeError(f"The url is not text: {url!r}.")
        status = _STATUS[name]
        if status is None:
            return [{"url": url}]
        row: Row = {"url": url, "at": _last_fetch(page), "status": status}
        if status == 304:
            row["reported"] = False
        if signature := page.get("signature"):
            row |= {"digest": foreign_digest(signature), "digest_of": "nutch"}
        if page.get("modifiedTime"):
            row["last_modified"] = header_micros(page["modifiedTime"]) or None  # 0: unknown
        return [row]


def _last_fetch(page: dict[str, Any]) -> int:
    """When the page was fetched last, in microseconds since 1970."""
    due = header_micros(page["fetchTime"])
    if due is None:
        raise ValueError(f"The fetchTime is not a time: {page['fetchTime']!r}.")
    seconds = page.get("retryIntervalSeconds")
    interval = float(page["retryIntervalDays"]) * 86_400 if seconds is None else float(seconds)
    return due - round(interval * 1e6)
