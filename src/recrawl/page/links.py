"""The links of one page → absolute ones, as many as fit a limit in bytes."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from recrawl.urls import resolve_links

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_LINK_BYTES = 2 << 20  #: of the links of one page; a long base makes many bytes of short links
_AT_ONCE = 500


def first_links(hrefs: Iterable[str], base: str) -> list[str | None]:
    """The first links of a page, canonical, up to about `MAX_LINK_BYTES` in all.

    None stands for a link that is no web page, or is too long.
    """
    links: list[str | None] = []
    size, rest = 0, iter(hrefs)
    while size < MAX_LINK_BYTES and (some := list(islice(rest, _AT_ONCE))):
        resolved = resolve_links(some, base)
        links += resolved
        size += sum(map(len, filter(None, resolved)))
    return links
