"""What does a reader of this page see, and where can they go?"""

from __future__ import annotations

import re
from typing import NamedTuple, cast

import numpy as np
from numba import njit
from selectolax.lexbor import LexborHTMLParser, LexborNode

from recrawl.urls import resolved

MAX_LINKS = 20_000

#: A parser's time grows with tags × depth and with the attributes of one tag squared, its memory
#: with tags × open formatting elements. Past these sizes a page is flattened first: linear in all.
_MAX_BYTES = 131_072
_MAX_TAGS = 20_000
_MAX_REOPENED = 500_000
_MAX_TAG_BYTES = 4_096
_MAX_KEPT_TAGS = 5 * MAX_LINKS

_HIDDEN = ["script", "style", "noscript"]
#: Tags as the HTML Standard cuts them: where this and the parser disagreed, a page could smuggle
#: tags past it. All possessive and never failing half-way, so that no byte is looked at twice.
_SPACE = r" \t\n\f\r"
_VALUE = rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^{_SPACE}>"'][^{_SPACE}>]*+)"""
_ATTRIBUTE = rf"[^{_SPACE}/>][^{_SPACE}/>=]*+(?:[{_SPACE}]*+=[{_SPACE}]*+{_VALUE}?+)?+"
_TAG = rf"[^{_SPACE}/>]*+(?:[{_SPACE}/]++|{_ATTRIBUTE})*+(?:>|\Z)"  # from the end of its name on
_END = rf"(?=[{_SPACE}/>])"
#: Kept (1): links and the title with its text. Not kept: what no reader sees, other tags, comments.
_MARKUP = re.compile(
    rf"<(?:((?i:/?a|/?base|/title){_END}{_TAG}"
    rf"|(?i:title){_END}{_TAG}[^<]*+(?:<(?!/(?i:title){_END})[^<]*+)*+)"
    rf"|((?i:script|style|noscript|template)){_END}[^<]*+(?:<(?!/(?i:\2){_END})[^<]*+)*+"
    rf"|/?[a-zA-Z]{_TAG}|!--(?:-?>|.*?--!?>|.*)|[!?/][^>]*+(?:>|\Z))".encode(),
    re.DOTALL,
)


class Seen(NamedTuple):
    """The visible part of a page."""

    title: str
    text: str
    links: list[str]
    nofollow: list[bool]


def read(body: bytes, url: str) -> Seen:
    """Title, visible text and outlinks of a UTF-8 page."""
    tree = LexborHTMLParser(_flatten(body) if _is_costly(body) else body, scripting=True)
    head = tree.head
    title = head.css_first("title") if head else None
    name = " ".join(title.text().split()) if title else ""
    links = _links(tree, _base(head, url), url)
    tree.strip_tags(_HIDDEN)
    text = tree.body.text(separator=" ") if tree.body else ""
    return Seen(name, squeeze(text), list(links), list(links.values()))


def squeeze(text: str) -> str:
    """The same text with single spaces; for long texts several times faster than `split`."""
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    return str(_squeeze(data).tobytes(), "utf-8")


@njit(cache=True)
def _squeeze(data):  # type: ignore[no-untyped-def]
    out = np.empty(len(data), np.uint8)
    n, spaced = 0, True
    i = 0
    while i < len(data):
        byte = data[i]
        i += 1
        if byte == 0xC2 and i < len(data) and data[i] == 0xA0:  # a space that does not break
            byte = 32
            i += 1
        if byte > 32:
            out[n] = byte
            n, spaced = n + 1, False
        elif not spaced:
            out[n] = 32
            n, spaced = n + 1, True
    return out[: n - 1] if n and spaced else out[:n]


def _links(tree: LexborHTMLParser, base: str, url: str) -> dict[str, bool]:
    """Outlinks in document order; True where every occurrence says nofollow."""
    anchors = [node.attributes for node in tree.tags("a")]
    anchors = [anchor for anchor in anchors if (anchor.get("href") or "#")[0] != "#"]
    targets = resolved([anchor["href"] or "" for anchor in anchors], base)
    found = dict.fromkeys(targets, False)
    if any("rel" in anchor and _says_nofollow(anchor) for anchor in anchors):
        found = dict.fromkeys(targets, True)
        for target, anchor in zip(targets, anchors, strict=True):
            found[target] = found[target] and _says_nofollow(anchor)
    found.pop(None, None)
    found.pop(url, None)
    return cast("dict[str, bool]", found)


def _says_nofollow(anchor: dict[str, str | None]) -> bool:
    return "nofollow" in (anchor.get("rel") or "").lower()


def _base(head: LexborNode | None, url: str) -> str:
    node = head.css_first("base[href]") if head else None
    return (resolved([node.attributes["href"] or ""], url)[0] if node else None) or url


#: Length of the formatting element that begins with these two bytes, else 0.
_LENGTH = np.zeros((256, 256), dtype=np.uint8)
for _name in b"big code em font nobr small strike strong tt b i s u".split():
    for _second in (_name[1], _name[1] - 32) if len(_name) > 1 else b" \t\n\f\r/":
        _LENGTH[[_name[0], _name[0] - 32], _second] = len(_name)


def _is_costly(body: bytes) -> bool:
    if len(body) > _MAX_BYTES:
        return True
    words = np.frombuffer(body, dtype=np.uint64, count=len(body) // 8)
    tags, formatting = _count(words, np.frombuffer(body, dtype=np.uint8), _LENGTH)
    # A parser keeps at most 3 alike open: those without attributes are few, the others count.
    return bool(tags > _MAX_TAGS or tags * (3 * 13 + formatting) > _MAX_REOPENED)


@njit(cache=True)
def _count(words, data, lengths):  # type: ignore[no-untyped-def]
    """Tags, and among them formatting elements that seem to have attributes."""
    ones, highs = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
    tags = formatting = 0
    for w in range(len(words) - 2):
        x = words[w] ^ (ones * np.uint64(60))  # a zero byte where there is a "<"
        if ((x - ones) & ~x & highs) == 0:
            continue
        for i in range(8 * w, 8 * w + 8):
            if data[i] == 60:
                tags += 1
                length = lengths[data[i + 1], data[i + 2]]
                after = data[i + 1 + length]
                formatting += length > 0 and (after <= 32 or after == 47)
    return tags, formatting


def _flatten(body: bytes) -> bytes:
    """The same page without any tag that bears neither text nor links."""
    left = iter(range(_MAX_KEPT_TAGS))

    def kept(found: re.Match[bytes]) -> bytes:
        tag: bytes | None = found[1]
        if tag is None or len(tag) > _MAX_TAG_BYTES or next(left, None) is None:
            return b" "
        return b" <" + tag

    return _MARKUP.sub(kept, body)
