"""The readers and parsers that take input of strangers, each as a function of bytes."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from recrawl import registry, units, urls
from recrawl.errors import BadInput, MissingExtra
from recrawl.evolve import text as formulas
from recrawl.evolve.terminals import TERMINALS
from recrawl.fetch import robots
from recrawl.fetch.result import FetchResult
from recrawl.history import append
from recrawl.ingest import ingest
from recrawl.page import parse, times
from recrawl.page.responses import Response, read_response
from recrawl.page.sitemaps import read_sitemap
from recrawl.planner import load_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

NOW = 1_800_000_000.0
URL = "https://example.org/a/b?c"


class Target(NamedTuple):
    """One parser: what it is called with, examples of that, and its share of the inputs."""

    run: Callable[[bytes], object]
    seeds: list[bytes]
    weight: float = 1.0


class CheckingStore:
    """A store that only brings visits into its form, as a real one does before it writes."""

    def append(self, visits: pa.Table, *, now: float | None = None) -> append.Appended:
        append.prepare(visits, now)
        return append.Appended(added=len(visits))


def file_of(data: bytes) -> Path:
    """A file in memory with these bytes; one for each process."""
    path = Path("/dev/shm") / f"recrawl-torture-{os.getpid()}"
    path.write_bytes(data)
    return path


def _read(name: str | None) -> Callable[[bytes], object]:
    def run(data: bytes) -> None:
        with suppress(BadInput):
            ingest(CheckingStore(), [file_of(data)], now=NOW, format=name)

    return run


def _html(data: bytes) -> None:
    parse(data, url=URL, content_type="text/html")


def _robots(data: bytes) -> None:
    result = FetchResult("https://example.org/robots.txt", NOW, 200, {}, data, 0.1)
    rules = robots.interpret(result, NOW)
    assert rules is not None
    rules.allows(URL)


def _sitemap(data: bytes) -> None:
    read_sitemap(data, URL)


def _urls(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with suppress(BadInput):
        once = urls.canonical(text, base=URL)
        assert urls.canonical(once) == once, "a canonical URL changed"
        urls.site(urls.host(once))
    urls.resolve_links(text.split("\n"), URL)


def _dates(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    times.header_micros(text)
    with suppress(ValueError, TypeError):
        times.micros(text)
    for read in (units.time, units.duration, units.size, units.share, units.budget, units.speed):
        with suppress(BadInput):
            read(text)


def _formula(data: bytes) -> None:
    with suppress(BadInput):
        formula = formulas.parse(data.decode("utf-8", "replace"), tuple(TERMINALS))
        written = formulas.write(formula)
        formulas.latex(formula)
        assert formulas.write(formulas.parse(written, tuple(TERMINALS))) == written


def _rules(data: bytes) -> None:
    with suppress(BadInput):
        load_rules(file_of(data))


def _response(data: bytes) -> None:
    """Headers until an empty line, then a body."""
    head, _, body = data.partition(b"\n\n")
    pairs = [line.partition(b":") for line in head.split(b"\n")]
    headers = {name.strip().title(): [value.strip()] for name, _, value in pairs}
    status = 503 if b"Retry-After" in headers else 302 if b"Location" in headers else 200
    result = FetchResult(URL, NOW, status, headers, body, 0.1)
    result.retry_after(NOW)
    _ = result.target
    read_response(result.to_response(), max_body_bytes=100_000)
    read_response(Response(URL, NOW, 200, result.to_response().headers, body))


SEEDS: dict[str, list[bytes]] = {
    "html": [
        b"<!doctype html><title>A</title><base href=/x><p>Hi &amp; <a href='b' rel=nofollow>c</a>"
        b"<script>if (a < b) {}</script><!-- x --><style>p{}</style><link rel=canonical href=/d>"
        b"<meta charset=utf-8><svg><title>t</title></svg><textarea></p></textarea>",
        b"<meta http-equiv=content-type content='text/html; charset=windows-1252'>caf\xe9",
    ],
    "robots": [
        b"User-agent: *\nDisallow: /a*b$\nAllow: /\nCrawl-delay: 2.5\nSitemap: /s.xml\n",
        b"\xef\xbb\xbfUser-agent: recrawl\nRequest-rate: 1/5\nVisit-time: 0600-0845\n",
    ],
    "sitemap": [
        b'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url>'
        b"<loc>https://example.org/x</loc><lastmod>2026-01-31T12:00:00+01:00</lastmod></url>"
        b"</urlset>",
        b"<rss><channel><item><guid>https://example.org/y</guid><pubDate>Sat, 31 Jan 2026 12:00:00 "
        b"GMT</pubDate></item></channel></rss>",
        b'<feed><entry><link href="/z"/><updated>2026-01-31</updated></entry></feed>',
    ],
    "urls": [
        b"HTTP://User@Ex%41mple.ORG:80/a/../b/./%7ec?q=1&q=%zz#f",
        "https://bücher.example/ä?ö".encode(),
        b"//[::ffff:10.0.0.1]:8080/\n../..\n?x\n#y\nmailto:a@b\nhttp://0x7f.1/\nhttp://1.2.3.4./",
    ],
    "dates": [
        b"Sat, 31 Jan 2026 12:00:00 GMT",
        b"2026-01-31T12:00:00.123456+01:00",
        b"1767225600000",
        b"Sat Jan 31 12:00:00 CET 2026",
        b"1d/2s",
        b"12.5%",
        b"3 MB",
        b"6h",
    ],
    "formula": [b"log(X + 1) * t ^ -0.5 / (n - 2e3)", b"max(n, -X) - -t", b"exp(exp(t)) ^ X ^ n"],
    "rules": [
        b'[[rule]]\nmatch = "https://a.org/*"\npin = true\nmin_interval = "6h"\nweight = 2.5\n'
        b'[[rule]]\nmatch = "*"\nnever = false\nmax_interval = "7d"\n'
    ],
    "response": [
        b'Content-Type: text/html; charset=utf-8\nETag: "1"\nLast-Modified: Sat, 31 Jan 2026 '
        b"12:00:00 GMT\n\n<p>Hello",
        b"Retry-After: 120\n\n",
        b"Retry-After: Sat, 31 Jan 2026 12:00:00 GMT\n\n",
        b"Location: ../b\nContent-Encoding: gzip, deflate\n\n\x1f\x8b\x08\x00",
        b"Content-Encoding: br\nContent-Type: application/pdf\n\n%PDF-1.4",
    ],
}
_RUNS: dict[str, Callable[[bytes], object]] = {
    "html": _html,
    "robots": _robots,
    "sitemap": _sitemap,
    "urls": _urls,
    "dates": _dates,
    "formula": _formula,
    "rules": _rules,
    "response": _response,
}


def targets() -> dict[str, Target]:
    """All readers of the registry, files of unknown format, and the parsers."""
    found = {name: Target(run, SEEDS[name], 4.0) for name, run in _RUNS.items()}
    readers: dict[str, Any] = registry.parts("reader")
    examples = {name: part().example() for name, part in readers.items()}
    for name, example in examples.items():
        found[f"reader {name}"] = Target(_read(name), [example, example * 3])
    found["any file"] = Target(_read(None), list(examples.values()))
    return found


EXPECTED = (BadInput, MissingExtra)  #: what a parser may raise
