"""Content: text, links and digest of a page."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from benchmarks.harness import Figure, ratio, seconds
from recrawl.page import parse
from recrawl.urls import canonical

if TYPE_CHECKING:
    from collections.abc import Iterator

URL = "https://example.com/news/today.html"


_draw = random.Random(0)
LEXICON = ["".join(_draw.choices("etaoinshrdlucmf", k=_draw.randint(2, 10))) for _ in range(3000)]


def page(size: int, links: int, seed: int) -> bytes:
    """A page like those of the web: scripts, a menu of links, cards of marked-up text."""
    draw = random.Random(seed)

    def say(least: int, most: int) -> str:
        return " ".join(draw.choices(LEXICON, k=draw.randint(least, most))).capitalize()

    def link(i: int) -> str:
        href = (f"/section/{i}/item.html", f"https://site{i % 9}.example.org/p?id={i}", f"page{i}")
        return (
            f'<li class="menu__item menu__item--level-2" id="menu-{i}"><a class="menu__link" '
            f'data-track="nav:{i}" href="{href[i % 3]}"><span class="label">{say(1, 4)}</span></a></li>\n'
        )

    def card(i: int) -> str:
        return (
            f'<article class="card card--story col-md-6" data-id="{i}"><div class="card__media">'
            f'<img class="lazy" src="/img/{i}-320.jpg" width="320" height="180" alt="{say(2, 5)}">'
            f'</div>\n<div class="card__body"><h3 class="card__title">{say(4, 9)}</h3>\n'
            f'<p class="card__text">{say(10, 30)} <strong>{say(2, 4)}</strong>\n{say(5, 20)}.</p>'
            f'<time datetime="2024-05-0{i % 9 + 1}">{i} May</time></div></article>\n'
        )

    script = f"<script>window.state = {{{', '.join(f'key{i}: {i}' for i in range(size // 70))}}};</script>"
    head = f"<title>{say(4, 8)}</title>{script}<style>p {{ margin: 0 }}</style>"
    parts = [
        f"<!doctype html><html lang=en><head>{head}</head><body><ul>",
        *map(link, range(links)),
    ]
    length, i = sum(map(len, parts)), 0
    while length < size:
        parts.append(card(i))
        length, i = length + len(parts[-1]), i + 1
    return "".join([*parts, "</ul></body></html>"]).encode()


def bare(body: bytes) -> tuple[str, list[str | None]]:
    """The least any reader of a page must do."""
    tree = LexborHTMLParser(body)
    text = tree.body.text() if tree.body else ""
    return text, [node.attributes["href"] for node in tree.css("a[href]")]


def ours(body: bytes) -> object:
    """What recrawl does instead."""
    return parse(body, url=URL, content_type="text/html; charset=utf-8")


def figures() -> Iterator[Figure]:
    # Sizes as on the web: about log-normal around 40 KB.
    draw = random.Random(0)
    sizes = [int(min(max(draw.lognormvariate(10.6, 1.0), 2_000), 1_000_000)) for _ in range(100)]
    mixed = [page(size, min(20 + size // 500, 300), i) for i, size in enumerate(sizes)]
    alike = {f"of {kb} KB": [page(kb * 1000, 100, i) for i in range(20)] for kb in (20, 50, 100)}
    for what, pages in {"of all sizes (median 40 KB)": mixed, **alike}.items():
        took, share = ratio(lambda: list(map(ours, pages)), lambda: list(map(bare, pages)))  # noqa: B023
        speed = (
            f"{took / len(pages) * 1e3:.2f} ms, {share:.2f} × the speed of a bare selectolax loop"
        )
        yield Figure(f"a page {what}", speed, "0.8 ×")
    cases = {
        "plain": ("https://www.example.com/section/news/2024/a-story-about.html?id=17", None),
        "relative": ("/section/news/2024/a-story.html", URL),
        "needing work": ("HTTP://Example.com:80/a/./b/../c%7e d?q=é#top", None),
    }
    for name, (url, base) in cases.items():
        took = seconds(lambda: [canonical(url, base=base) for _ in range(20_000)])  # noqa: B023
        yield Figure(f"canonical form of a URL, {name}", f"{took / 0.02:.2f} µs")
