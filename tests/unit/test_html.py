"""The HTML scanner, case by case, and on hostile pages."""

from __future__ import annotations

from html.entities import html5

import pytest

from recrawl.page.entities import name_table
from recrawl.page.html import MAX_LINKS_READ, collapse_spaces, read_html
from recrawl.page.html_scanner import scan

URL = "http://a.org/x/y"


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        # Tags.
        ("a<b>b</b>c", "a b c"),
        ("a</>b", "ab"),
        ("a< b", "a< b"),
        ("a<3 <= <", "a<3 <= <"),
        ("a</", "a</"),
        ("a<b", "a"),
        ("a<b x", "a"),
        ("a<b x='>", "a"),
        ("a</b x='>", "a"),
        ("a<p x='>'>b", "a b"),
        ('a<p x=">">b', "a b"),
        ("a<p x=a'>b'>c", "a b'>c"),
        ("a<p =x>b", "a b"),
        ("a<p x=>b", "a b"),
        ("a<p x = '>'y>b", "a b"),
        ("a<p/x/>b", "a b"),
        ("a</p x='>'>b", "a b"),
        ("a<p\0é\n>b", "a b"),
        # Comments, and what is taken for one.
        ("a<!--b-->c", "a c"),
        ("a<!-->b", "a b"),
        ("a<!--->b", "a b"),
        ("a<!---->b", "a b"),
        ("a<!--b--!>c", "a c"),
        ("a<!----!>b", "a b"),
        ("a<!--!>b-->c", "a c"),
        ("a<!---!>b-->c", "a c"),
        ("a<!--b->c--->d", "a d"),
        ("a<!--b", "a"),
        ("a<!--b--", "a"),
        ("a<!-b>c", "a c"),
        ("a<!", "a"),
        ("a<!-", "a"),
        ("a<?b>c", "a c"),
        ("a</ b>c", "a c"),
        ("a<!doctype b>c", "a c"),
        # Elements that hold no markup.
        ("<script>a</scriptx><p></SCRIPT >b", "b"),
        ("<script>a</script", ""),
        ("<script><!-- a</script>b", "b"),
        ("<script><!--<script>a</script>b</script>c", "c"),
        ("<script><!--<script>a--></script>b", "b"),
        ("<script><!--><script>a</script>b", "b"),
        ("<script><!--<scripty>a</script>b", "b"),
        ("<style><!--</style>a", "a"),
        ("<style>a</ style></style/>b", "b"),
        ("<noscript>a<p>b</noscript>c", "c"),
        ("<iframe>a</iframe><noembed>b</noembed><noframes>c</noframes>d", "d"),
        ("<textarea>a<p>&amp;</textarea>b", "a<p>& b"),
        ("<xmp>a<p>&amp;</xmp>b", "a<p>&amp; b"),
        ("a<plaintext>b</plaintext>&amp;", "a b</plaintext>&amp;"),
        ("<stylex>a</style>b", "a b"),
        ("a<script x='", "a"),
        ("<script/>a</script>b", "b"),
        # Elements that are not seen.
        ("<template>a<template>b</template>c<</template>d", "d"),
        ("</template>a", "a"),
        ("<template/>a", ""),
        ("<title>a</title>b<title>c</title>d", "b d"),
        ("<svg><title>a</title><style/><text>b</text></svg>c", "b c"),
        # References.
        ("&amp;&AMP&ampx&amp", "&&&x&"),
        ("&notin; &notit; &no &; & &x;", "∉ ¬it; &no &; & &x;"),
        ("&fjlig;&nGt;&CounterClockwiseContourIntegral;", "fj≫⃒∳"),
        ("&#65;&#65&#x41;&#X4a", "AAAJ"),
        ("&#x80;&#150;&#x1F600;&#233;", "€–😀é"),
        ("&#0;&#xD800;&#x110000;&#99999999999999999999;", "����"),
        ("&#;&#x;&#xg;&#", "&#;&#x;&#xg;&#"),
        # Spaces.
        (" a \n\t b\f", "a b"),
        ("a\xa0b&nbsp;c&#9;d&Tab;e&#xA0;", "a b c d e"),
        ("a\0b\x01c", "ab c"),
        ("\xa0&nbsp;<p> </p>", ""),
    ],
)
def test_text(markup: str, text: str) -> None:
    assert scan(markup.encode(), 9).text == text


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> a <b>\n&amp; c </title>", "a <b> & c"),
        ("<TITLE x='>'>a</Title >b", "a"),
        ("<title></title><title>a</title>", ""),
        ("<title>a", "a"),
        ("<title>a</title", "a</title"),
        ("<svg><title>a</title></svg><title>b</title>", "b"),
        ("<svg/><title>a</title>", "a"),
        ("<svg><svg></svg><title>a</title></svg></svg><title>b</title>", "b"),
        ("<template><title>a</title></template><title>b</title>", "b"),
        ("<script><title>a</title></script>", ""),
        ("<titles>a</titles>", ""),
    ],
)
def test_title(markup: str, title: str) -> None:
    assert scan(markup.encode(), 9).title == title


@pytest.mark.parametrize(
    ("markup", "hrefs"),
    [
        ("<a href=b>", ["b"]),
        ("<a href='b c'><A\nHREF = \"d'e\">", ["b c", "d'e"]),
        ("<a/href=b>", ["b"]),
        ("<a href=b/>", ["b/"]),
        ("<a x href='>'y=z>", [">"]),
        ("<a href=b href=c><a href href=d>", ["b"]),
        ("<a href><a href=><a href=''><a href='#b'><a href='&#35;b'><a>", []),
        ("<a hrefs=b><a href1=b><a xhref=b><a hre=f>", []),
        ("<area href=b><link href=b><ab href=b><a1 href=b></a href=b>", []),
        ("<a href=b", []),
        ("<a href='b>", []),
        ("<a href='b&#0;\0'>", ["b��"]),
        ("<a href=?b&copy=1&copyx&copy;&copy>", ["?b&copy=1&copyx©©"]),
        ("<a href='&amp;&ampx&amp=&amp&notit;&notin;&amp'>", ["&&ampx&amp=&&notit;∉&"]),
        ("<template><a href=b></template><!-- <a href=c> --><a href=d>", ["d"]),
        ("<noscript><a href=b></noscript><textarea><a href=b></textarea>", []),
        ("<svg><a href=b></svg>", ["b"]),
    ],
)
def test_hrefs(markup: str, hrefs: list[str]) -> None:
    assert scan(markup.encode(), 9).hrefs == hrefs


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ("rel=nofollow", True),
        ("rel='external NoFollow'", True),
        ("REL=xNOFOLLOWx", True),
        ("rel=nofollo", False),
        ("rel", False),
        ("rel='' rel=nofollow", False),
        ("rel1=nofollow", False),
        ("rev=nofollow", False),
    ],
)
def test_nofollow(attributes: str, says: bool) -> None:
    assert scan(f"<a href=b {attributes}>".encode(), 9).nofollow == [says]


@pytest.mark.parametrize(
    ("markup", "base"),
    [
        ("<base href=b><base href=c>", "b"),
        ("<base><base target=x><base href='&amp;'>", "&"),
        ("<base href><base href=c>", ""),
        ("<template><base href=b></template><base href=c>", "c"),
        ("<body><a href=d><base href=c>", "c"),
        ("<basefont href=b>", ""),
    ],
)
def test_base(markup: str, base: str) -> None:
    assert scan(markup.encode(), 9).base == base


@pytest.mark.parametrize(
    ("markup", "canonical"),
    [
        # Spelling.
        ("<link rel=canonical href=b>", "b"),
        ("<LINK HREF = 'b' REL='Canonical'>", "b"),
        ('<link href="b c" rel="canonical"/>', "b c"),
        ("<link rel='alternate\ncanonical nofollow' href=b>", "b"),
        ("<link rel=canonical href='?a=1&amp;b=2&copy=3'>", "?a=1&b=2&copy=3"),
        ("<link rel='canonical-not canonicals xcanonical' href=b>", ""),
        ("<link rel=canonica href=b>", ""),
        ("<link data-rel=canonical href=b><link rel=canonical data-href=b>", ""),
        ("<link rel=x rel=canonical href=b>", ""),
        ("<link rev=canonical href=b><links rel=canonical href=b>", ""),
        ("<link rel=canonical href=b", ""),
        # The first one that has an address.
        ("<link rel=canonical><link rel=canonical href=b><link rel=canonical href=c>", "b"),
        ("<link rel=canonical href><link rel=canonical href=c>", ""),
        ("<link rel=icon href=b><link rel=canonical href=c>", "c"),
        # Only a link that is in the head.
        ("<!doctype html><html><head><meta a><title>t</title><link rel=canonical href=b>", "b"),
        ("<head><script>a<p></script><style>a</style> <link rel=canonical href=b>", "b"),
        ("<head><template><p>a</template></head><link rel=canonical href=b>", "b"),
        ("<!-- <link rel=canonical href=b> --><link rel=canonical href=c>", "c"),
        ("<script>'<link rel=canonical href=b>'</script><link rel=canonical href=c>", "c"),
        ("<template><link rel=canonical href=b></template><link rel=canonical href=c>", "c"),
        ("<title><link rel=canonical href=b></title>", ""),
        ("<noscript><link rel=canonical href=b></noscript>", ""),
        ("<head></head><body><link rel=canonical href=b>", ""),
        ("<p><link rel=canonical href=b>", ""),
        ("text<link rel=canonical href=b>", ""),
        ("<head>" + "<meta>" * 20_000 + "<link rel=canonical href=b>", "b"),
    ],
)
def test_canonical(markup: str, canonical: str) -> None:
    assert scan(markup.encode(), 9).canonical == canonical


def test_every_named_reference_is_known() -> None:
    assert len(name_table()) == len(html5)
    for name, value in html5.items():
        assert scan(f"<a href='x&{name}'>".encode(), 9).hrefs == [f"x{value}"]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"a\xffb", "a�b"),
        (b"\xc2", "�"),
        (b"\xc2\0\xa0", "��"),  # not the space that both would be together
        (b"\xc2</>\xa0", "��"),
        (b"\xe2\x82", "�"),
        (b"<\xff>", "<�>"),
        (b"</\xff>a", "a"),
        (b"", ""),
        (b"\0", ""),
        (b"&", "&"),
    ],
)
def test_broken_bytes(body: bytes, text: str) -> None:
    assert scan(body, 9).text == text


def test_links_are_limited() -> None:
    page = scan(b"<a href=b>" * 5, 3)
    assert page.hrefs == ["b"] * 3
    assert page.nofollow == [False] * 3


def test_collapse_spaces_takes_text_as_it_is() -> None:
    assert collapse_spaces(" a <b>\n&amp;\xa0c ") == "a <b> &amp; c"


N = 400_000
#: Each would take a tree builder minutes, gigabytes or its stack. With the visible text, if not "hi".
HOSTILE: dict[str, bytes | tuple[bytes, str]] = {
    "nested": b"<div>" * N,
    "nested lists": b"<ul><li>" * N,
    "nested templates": b"<template>" * N,
    "nested drawings": b"<svg><title/>" * N,
    "nested links": b"<a href=z><div>" * N,
    "reopened": b"".join(b"<font size=%d><p>" % i for i in range(N)),
    "misnested": b"<b><i><a></b><table><td>" * N,
    "attributes": b"<div " + b" ".join(b"a%d" % i for i in range(N)) + b">",
    "attributes of a link": b"<a href=z " + b" ".join(b"a%d='>'" % i for i in range(N)) + b">",
    "the same attribute": b"<a " + b"href=z " * N + b">",
    "canonical links": b"<link rel='canonical' href='z'>" * N,
    "links without spaces": b"<link/rel='x'/href='z'/>" * N,
    "words of a rel": b"<link rel='" + b"canonica " * N + b"' href=z>",
    "slashes": b"<a" + b"/" * 10 * N,
    "spaces in a tag": b"<a" + b" =" * 5 * N,
    "open tags": b"<a" * N,
    "open comments": b"<!--" * N,
    "half-closed comments": b"<!--" + b"-!-" * N,
    "open quotes": b"<a b='" * N,
    "open scripts": b"<script>" * N,
    "half-closed scripts": b"<script>" + b"</scrip" * N,
    "escaped scripts": b"<script><!--" + b"<script<!--</script-" * N,
    "open titles": b"<title>" * N,
    "open end tags": b"</a " * N,
    "declarations": b"<!" * 5 * N,
    "less": (b"<" * 10_000_000, "hi" + "<" * 10_000_000),
    "ampersands": (b"&" * 10_000_000, "hi" + "&" * 10_000_000),
    "half references": (b"&abcdefg" * N, "hi" + "&abcdefg" * N),
    "long references": (b"&CounterClockwiseContourIntegra" * N, ""),
    "longest references": (b"&nGt;" * N, "hi" + "≫⃒" * N),
    "numbers": (b"&#" + b"9" * 10_000_000, "hi�"),
    "spaces": b" \xc2\xa0" * N,
    "half spaces": (b"\xc2" * N, "hi" + "�" * N),
    "NULs": b"\0" * 10_000_000,
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_markup_is_read_like_any_other(hostile: bytes | tuple[bytes, str]) -> None:
    body, text = hostile if isinstance(hostile, tuple) else (hostile, "hi")
    page = read_html(b"hi" + body, URL)
    assert page.text == text or not text
    assert read_html(body, URL).canonical in (None, "http://a.org/x/z")
    assert set(page.links) <= {"http://a.org/x/z"}
    assert len(page.nofollow) == len(page.links)


def test_hostile_links() -> None:
    many = b"".join(b"<a href=%d rel=nofollow>" % i for i in range(N))
    assert len(read_html(many, URL).links) == 2 * MAX_LINKS_READ
    assert read_html(b"<a href='" + b"&nGt;" * N + b"'>", URL).links == []
    assert read_html(b"<a href='" + b"z" * 10_000_000 + b"'>", URL).links == []
    assert read_html(b"<a href='\0'>" * N, URL).links == ["http://a.org/x/%EF%BF%BD"]
