"""One capture in the index of a web archive → a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl.ingest.foreign_values import foreign_digest, is_web, stamp_micros, status_code

if TYPE_CHECKING:
    from collections.abc import Mapping

    from recrawl.page.visit_rows import Row


def capture_rows(fields: Mapping[str, Any]) -> list[Row]:
    """The visit that the fields url, timestamp, status, mime and digest describe; none off the web.

    A capture that the archive did not store again (`warc/revisit`) is a visit without change.
    """
    if not is_web(fields["url"]):
        return []
    row: Row = {
        "url": fields["url"],
        "at": stamp_micros(fields["timestamp"]),
        "status": status_code(fields.get("status")),
    }
    if fields.get("mime") == "warc/revisit":
        row["reported"] = False
    if (digest := fields.get("digest")) not in (None, "", "-"):
        row |= {"digest": foreign_digest(digest), "digest_of": "payload"}
    return [row]
