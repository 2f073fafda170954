"""Where did an answer lead? The visit as a row, and the page to look at instead, if any."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from recrawl import urls
from recrawl.fetch.addresses import is_private
from recrawl.page.decode import kind_of, unpack
from recrawl.page.responses import shown

if TYPE_CHECKING:
    from recrawl.fetch.answer import Answer
    from recrawl.page.rows import Row

_MOST_HEAD = 64 << 10  # bytes in which a page may name its canonical URL
_LINK = re.compile(rb"<link\b[^>]{0,2000}>", re.IGNORECASE)
_CANONICAL = re.compile(rb"\brel\s*=\s*[\"']?canonical\b", re.IGNORECASE)
_HREF = re.compile(rb"\bhref\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+))", re.IGNORECASE)


def rows(answer: Answer, *, max_bytes: int, allow_private: bool) -> list[Row]:
    """The visit, and the page that it says to look at instead, if any."""
    at, headers = round(answer.at * 1e6), answer.first_headers()
    visit: Row = {"url": answer.url, "at": at, "seconds": answer.seconds} | shown(
        answer.url, at, answer.status, headers, answer.body, limit=max_bytes
    )
    found = answer.target if answer.is_redirect else None
    if visit.get("digest_of") == "text":
        head = unpack(answer.body, headers.get("content-encoding"), _MOST_HEAD).body
        is_html = kind_of(head, headers.get("content-type")) == "html"
        found = _canonical(head, answer.url) if is_html else None
    if found and found != answer.url and (allow_private or not is_private(found)):
        return [visit, {"url": found}]
    return [visit]


def _canonical(head: bytes, url: str) -> str | None:
    """The canonical URL that a page names, if it is another one of the same site."""
    if b"canonical" not in head and b"CANONICAL" not in head:
        return None
    for link in _LINK.findall(head):
        if _CANONICAL.search(link) and (named := _HREF.search(link)):
            text = next(group for group in named.groups() if group is not None)
            [target] = urls.resolved([text.decode("utf-8", "replace").strip()], url)
            same = target and urls.site(urls.host(target)) == urls.site(urls.host(url))
            return target if same else None
    return None
