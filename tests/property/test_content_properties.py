"""`parse` accepts any bytes; fingerprints have the properties they promise."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.page import parse, shingle_distance, shingles, simhash
from recrawl.page.html import collapse_spaces
from recrawl.urls import canonical

URL = "http://a.org/x/y"
SOUP = st.lists(
    st.sampled_from(
        [
            *(b"<", b">", b"</", b"/>", b"a", b"<a href=", b"<p>", b"<b x=1>", b"<table>", b"<td>"),
            *(b"<base href=", b"<script>", b"</script>", b"<!--", b"-->", b"<title>", b"<svg>"),
            *(
                b'"',
                b"'",
                b"=",
                b"&#xD800;",
                b"&nbsp;",
                b"\x00",
                b"\xff",
                b"\xc3",
                b" ",
                b"http://",
            ),
            *(
                b"<template>",
                b"<noscript>",
                b"<frameset>",
                b"<meta charset=utf-7>",
                b"rel=nofollow",
            ),
        ]
    ),
    max_size=30,
).map(b"".join)
BODY = st.one_of(st.binary(max_size=200), SOUP)
TYPES = st.sampled_from(
    [
        None,
        "",
        "text/html",
        "text/html; charset=utf-16",
        "text/html; charset=iso-2022-jp",
        "text/plain",
    ]
)
ENCODINGS = st.sampled_from([None, "gzip", "deflate", "br", "gzip,gzip", ",", "identity"])
TEXT = st.text(st.sampled_from("abc é\n"), max_size=80)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(BODY, TYPES | st.text(), ENCODINGS | st.text(), st.integers(0, 100))
def test_any_bytes_give_a_valid_result(
    body: bytes, content_type: str | None, encoding: str | None, limit: int
) -> None:
    page = parse(
        body, url=URL, content_type=content_type, content_encoding=encoding, max_bytes=limit
    )
    assert page.bytes <= limit
    assert len(page.links) == len(page.nofollow) == len(set(page.links))
    assert all(canonical(link) == link != URL for link in page.links)
    assert collapse_spaces(page.text) == page.text
    assert 0 <= page.digest < 2**64
    assert 0 <= simhash(page.text) < 2**64


@settings(deadline=None)
@given(st.text(st.sampled_from("ab \n\t\xa0é"), max_size=40))
def test_collapse_spaces_leaves_words_and_single_spaces(text: str) -> None:
    assert collapse_spaces(text) == " ".join(text.split())


@given(TEXT, TEXT, st.integers(1, 4), st.none() | st.integers(1, 20))
def test_shingle_distance_is_a_distance(
    left: str, right: str, width: int, sample: int | None
) -> None:
    a, b = (shingles(text, width=width, sample=sample) for text in (left, right))
    distance = shingle_distance(a, b, sample=sample)
    assert 0.0 <= distance <= 1.0
    assert distance == shingle_distance(b, a, sample=sample)
    assert shingle_distance(a, a, sample=sample) == 0.0
    assert (distance == 0.0) == (a.tolist() == b.tolist())


@given(TEXT)
def test_the_same_words_have_the_same_fingerprints(text: str) -> None:
    other = f"  {text.upper()}\n!"
    assert simhash(other) == simhash(text)
    assert shingles(other).tolist() == shingles(text).tolist()
