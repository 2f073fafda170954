"""What `parse` reads from a page, and its limits."""

from __future__ import annotations

import gzip
import zlib

import pytest

from recrawl.page import parse, shingle_distance, shingles, simhash, word_counts, words
from recrawl.page.html import MAX_LINKS_READ

URL = "http://a.org/x/y"
PAGE = b"""<!doctype html><title> The
 title </title><style>p {color: red}</style>
<body><script>var hidden = "<p>no</p>";</script><noscript>no <a href=/no>no</a></noscript>
<template>no</template><!-- no <p>no</p> -->
<p>One&nbsp;<b>two</b>
   three &amp; four</p><p title="a > b">five</p>
<a href="b">b</a> <a href="/c?d=1#e">c</a> <a href="#top">top</a> <a href="y">self</a>
<a href="javascript:x()">js</a> <a href="mailto:a@b.org">mail</a> <a href="data:,x">data</a>
<a href="https://B.org" rel="external NoFollow">B</a> <a href="/c?d=1">again</a> <a>none</a>
<a href="/once" rel=nofollow>n</a> <a href="/once">yes</a> <a href>empty</a> <a href="http://[">bad</a>
"""
TEXT = "One two three & four five b c top self js mail data B again none n yes empty bad"
LINKS = ["http://a.org/x/b", "http://a.org/c?d=1", "https://b.org/", "http://a.org/once"]


def test_a_page() -> None:
    page = parse(PAGE, url=URL, content_type="text/html")
    assert (page.kind, page.charset, page.title) == ("html", "utf-8", "The title")
    assert page.text == TEXT
    assert page.links == LINKS
    assert page.nofollow == [False, False, True, False]
    assert (page.bytes, page.truncated, page.problem) == (len(PAGE), False, None)
    assert page.digest_of == "text"


def test_the_digest_is_of_what_is_seen() -> None:
    def digest(body: bytes) -> int:
        return parse(body, url=URL, content_type="text/html").digest

    assert digest(b"<p>a b</p>") == digest(b"<div class=x>a\n\n b<script>1</script></div>")
    assert digest(b"<p>a b</p>") != digest(b"<p>a c</p>")


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ("/z/", "http://a.org/z/b"),
        ("https://c.org/d/e", "https://c.org/d/b"),
        ("javascript:x", "http://a.org/x/b"),
        ("http://[", "http://a.org/x/b"),
        ("", "http://a.org/x/b"),
    ],
)
def test_base(base: str, expected: str) -> None:
    body = f"<base href='{base}'><base href='/second/'><a href=b>b</a><a href='#top'>t</a><a>x</a>".encode()
    assert parse(body, url=URL, content_type="text/html").links == [expected]


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"", "text/html", "empty"),
        (b" \n", None, "empty"),
        (b"<p>a", "text/html", "html"),
        (b"<!DOCTYPE html>a", None, "html"),
        (b"<p>a", "text/plain", "text"),
        (b"just words", None, "text"),
        (b'{"a": 1}', "application/ld+json", "text"),
        (b"a\x00b", None, "binary"),
        (b"\xff\xfea\x00b\x00", None, "text"),
        (b"\x89PNG\r\n", "text/html", "binary"),
        (b"abc", "image/png", "binary"),
        (b"<p>a", "application/octet-stream", "html"),
    ],
)
def test_kind(body: bytes, content_type: str | None, kind: str) -> None:
    page = parse(body, url=URL, content_type=content_type)
    assert page.kind == kind
    assert page.digest_of == ("bytes" if kind == "binary" else "text")


@pytest.mark.parametrize(
    ("body", "content_type", "charset"),
    [
        ("é".encode(), "text/html", "utf-8"),
        ("é".encode("latin-1"), "text/html", "cp1252"),
        ("é".encode("latin-1"), "text/html; charset=ISO-8859-1", "cp1252"),
        (b"\xef\xbb\xbf" + "é".encode(), "text/html; charset=latin1", "utf-8"),
        ("\ufeffé".encode("utf-16-le"), "text/html", "utf-16-le"),
        (b'<meta charset="cp1251">' + "é".encode(), "text/html; charset=utf-8", "utf-8"),
        (b"<META content='text/html; charset=windows-1252'>\xe9", "text/html", "cp1252"),
        (b"<meta charset=utf-16>" + "é".encode(), "text/html", "utf-8"),
        ("é".encode(), "text/html; charset=rot13", "utf-8"),
        ("é".encode(), "text/html; charset=no-such", "utf-8"),
        ("é".encode("gb18030"), 'text/html; charset="gb2312"', "gb18030"),
    ],
)
def test_charset(body: bytes, content_type: str, charset: str) -> None:
    page = parse(body, url=URL, content_type=content_type)
    assert page.charset == charset
    assert page.text == "é"


def test_a_lying_charset_and_broken_bytes() -> None:
    page = parse(b"<p>a\xff\x00b<a href='/\xff'>", url=URL, content_type="text/html; charset=utf-8")
    assert page.text == "a\ufffdb"
    assert page.links == ["http://a.org/%EF%BF%BD"]
    page = parse(b"<p>&#xD800;&#0;x", url=URL, content_type="text/html; charset=utf-16")
    page.text.encode()


@pytest.mark.parametrize(
    ("body", "encoding"),
    [
        (gzip.compress(b"<p>hi", mtime=0), "gzip"),
        (zlib.compress(b"<p>hi"), "deflate"),
        (zlib.compress(b"<p>hi", wbits=-15), "Deflate"),
        (b"<p>hi", "identity"),
        (b"<p>hi", "gzip"),
    ],
)
def test_content_encoding(body: bytes, encoding: str) -> None:
    page = parse(body, url=URL, content_encoding=encoding)
    assert (page.kind, page.text, page.bytes) == ("html", "hi", 5)
    assert not page.truncated


@pytest.mark.parametrize(
    ("body", "encoding", "kind", "problem"),
    [
        (b"abc", "br", "binary", "unknown content-encoding 'br'"),
        (
            gzip.compress(b"a", mtime=0),
            "gzip, gzip",
            "binary",
            "unknown content-encoding 'gzip, gzip'",
        ),
        (b"\x1f\x8b" + b"x" * 99, "gzip", "binary", "undecodable gzip"),
        (
            gzip.compress(b"<p>" + bytes(range(32, 127)) * 99, mtime=0)[:-20],
            "gzip",
            "html",
            "gzip cut short",
        ),
        (b"<p>hi", "gzip", "html", "not gzip, taken as it is"),
        (b"", "gzip", "empty", None),
        (gzip.compress(b"", mtime=0), "gzip", "empty", None),
        (zlib.compress(bytes(30_000_000)), "deflate", "html", "decoded body over limit"),
        (b"<p>" + b"x" * 50_000_000, None, "html", "body over limit"),
    ],
)
def test_problems_are_named(body: bytes, encoding: str | None, kind: str, problem: str) -> None:
    page = parse(body, url=URL, content_type="text/html", content_encoding=encoding)
    assert (page.kind, page.problem) == (kind, problem)
    assert page.bytes <= 10_000_000
    assert page.truncated == (problem is not None and ("limit" in problem or "cut" in problem))


def test_too_many_links() -> None:
    body = b"".join(b"<a href=/%d>x</a>" % i for i in range(MAX_LINKS_READ + 5))
    page = parse(body, url=URL, content_type="text/html")
    assert len(page.links) == len(page.nofollow) == MAX_LINKS_READ
    assert page.links[-1] == f"http://a.org/{MAX_LINKS_READ - 1}"
    assert page.truncated
    assert page.problem == f"over {MAX_LINKS_READ} links"


def test_links_are_counted_once() -> None:
    twice = b"".join(
        b"<a href=/%d>x</a><a href=/%d#y>x</a>" % (i, i) for i in range(MAX_LINKS_READ)
    )
    page = parse(twice, url=URL, content_type="text/html")
    assert (len(page.links), page.problem) == (MAX_LINKS_READ, None)


def test_a_giant_attribute() -> None:
    page = parse(b"<a href='/" + b"x" * 100_000 + b"'>a</a>", url=URL, content_type="text/html")
    assert (page.text, page.links) == ("a", [])


def test_words() -> None:
    assert words("The x_1 ÉTÉ, naïve—2024!") == ["the", "x", "1", "été", "naïve", "2024"]
    assert word_counts("a b A") == {"a": 2, "b": 1}


def test_shingles() -> None:
    text = "a b c d e f g"
    assert len(shingles(text, width=5)) == 3
    assert len(shingles("a b", width=5)) == 1
    assert len(shingles("", width=5)) == 0
    assert len(shingles("x " * 50, width=2)) == 1
    least = shingles(text, width=2, sample=3)
    assert least.tolist() == shingles(text, width=2).tolist()[:3]
    assert shingles("a b", width=2) != shingles("b a", width=2)
    # a b | b c | c d and a b | b c | c e: two of four runs are shared
    near = shingle_distance(shingles("a b c d", width=2), shingles("a b c e", width=2))
    assert near == pytest.approx(0.5)


def test_a_sample_estimates_the_distance() -> None:
    left = " ".join(map(str, range(4_000)))
    right = " ".join(map(str, range(1_000, 5_000)))
    exact = shingle_distance(shingles(left), shingles(right))
    k = 400
    sampled = shingle_distance(shingles(left, sample=k), shingles(right, sample=k), sample=k)
    assert exact == pytest.approx(0.4, abs=0.01)
    assert sampled == pytest.approx(exact, abs=0.1)  # 4 standard errors


def test_simhash_tells_near_from_far() -> None:
    text = [f"word{i * i % 997}" for i in range(2_000)]
    near = [*text]
    near[1000] = "other"
    far = [f"word{i * 7 % 991}" for i in range(2_000)]
    of = [simhash(" ".join(t)) for t in (text, near, far)]
    assert (of[0] ^ of[1]).bit_count() <= 3
    assert (of[0] ^ of[2]).bit_count() > 12
    assert simhash("") == 0
