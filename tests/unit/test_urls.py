"""One spelling a page."""

from __future__ import annotations

import idna
import pytest

from recrawl import urls
from recrawl.errors import BadUrl
from recrawl.urls import (
    MAX_LENGTH,
    MAX_URL_LENGTH,
    canonical,
    host,
    resolve_links,
    site,
    without_credentials,
)

BASE = "http://a.org/x/y?z"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.org", "http://a.org/"),
        ("http://a.org/b.html?c=d", "http://a.org/b.html?c=d"),
        ("HTTP://A.Org:80/B", "http://a.org/B"),
        ("https://a.org:443/", "https://a.org/"),
        ("https://a.org:80/", "https://a.org:80/"),
        ("http://a.org:0080/", "http://a.org/"),
        ("http://a.org:/", "http://a.org/"),
        ("\x00 http://a.org/\tb\nc\r \x1f", "http://a.org/bc"),
        ("http:\\\\a.org\\b\\c?d\\e", "http://a.org/b/c?d\\e"),
        ("http:/a.org/", "http://a.org/"),
        ("http:a.org/", "http://a.org/"),
        ("http:////a.org//b", "http://a.org//b"),
        ("http://a.org/b#c?d", "http://a.org/b"),
        ("http://a.org?b", "http://a.org/?b"),
        ("http://a.org/?", "http://a.org/"),
        ("http://user:p@ss@a.org/", "http://a.org/"),
        ("http://a.org./", "http://a.org/"),
        # dot segments
        ("http://a.org/b/./c/../d", "http://a.org/b/d"),
        ("http://a.org/../../b", "http://a.org/b"),
        ("http://a.org/b/..", "http://a.org/"),
        ("http://a.org/b/.", "http://a.org/b/"),
        ("http://a.org/b/%2e%2E/c/%2e", "http://a.org/c/"),
        ("http://a.org/b//../c", "http://a.org/b/c"),
        ("http://a.org/.well-known/...", "http://a.org/.well-known/..."),
        ("http://a.org/?b=/../c", "http://a.org/?b=/../c"),
        # escapes
        ("http://a.org/%7ea%2fb%3f", "http://a.org/~a%2Fb%3F"),
        ("http://a.org/a b\"<>`{}^'", "http://a.org/a%20b%22%3C%3E%60%7B%7D%5E'"),
        ("http://a.org/?a b\"<>`{}^'", "http://a.org/?a%20b%22%3C%3E`{}^%27"),
        ("http://a.org/é?ü", "http://a.org/%C3%A9?%C3%BC"),
        ("http://a.org/100%", "http://a.org/100%25"),
        ("http://a.org/%%34%31", "http://a.org/%2541"),
        ("http://a.org/[a]|b", "http://a.org/[a]|b"),
        # hosts
        ("http://Bücher.de/", "http://xn--bcher-kva.de/"),
        ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("http://xn--bcher-kva.de/", "http://xn--bcher-kva.de/"),
        ("http://例え。テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("http://%41.org/", "http://a.org/"),
        ("http://r3---sn_x.-a.org/", "http://r3---sn_x.-a.org/"),
        ("http://localhost:8080/", "http://localhost:8080/"),
        ("http://192.168.0.1/", "http://192.168.0.1/"),
        ("http://0x7F.1/", "http://127.0.0.1/"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
    ],
)
def test_canonical(text: str, expected: str) -> None:
    assert canonical(text) == expected
    assert canonical(expected) == expected


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("", "http://a.org/x/y?z"),
        ("#top", "http://a.org/x/y?z"),
        ("?q", "http://a.org/x/y?q"),
        ("b", "http://a.org/x/b"),
        ("./b", "http://a.org/x/b"),
        ("../b/", "http://a.org/b/"),
        ("../../../b", "http://a.org/b"),
        ("/b?c#d", "http://a.org/b?c"),
        ("\\b", "http://a.org/b"),
        ("//b.org", "http://b.org/"),
        ("/\\b.org/c", "http://b.org/c"),
        ("http:b", "http://a.org/x/b"),
        ("https:b", "https://b/"),
        ("a:b/c", None),
        ("/a:b", "http://a.org/a:b"),
        ("b?c:d", "http://a.org/x/b?c:d"),
        ("https://b.org/c", "https://b.org/c"),
        ("javascript:void(0)", None),
        ("mailto:a@b.org", None),
        ("http://", None),
    ],
)
def test_links_are_seen_from_their_page(link: str, expected: str | None) -> None:
    assert resolve_links([link], BASE) == [expected]
    if expected is None:
        with pytest.raises(BadUrl):
            canonical(link, base=BASE)
    else:
        assert canonical(link, base=BASE) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a.org/b",
        "/b",
        "ftp://a.org/",
        "javascript:alert(1)",
        "http://",
        "http://?q",
        "http://a b.org/",
        "http://a..org/",
        "http://a.org:99999/",
        "http://a.org:8a/",
        "http://a.org:" + "9" * 5000,
        "http://1.2.3.256/",
        "http://[::1",
        "http://[::1%25eth0]/",
        "http://[::1]x/",
        "http://a%2fb.org/",
        "http://%ff.org/",
        "http://" + "a" * 64 + ".org/",
        "http://" + "a." * 130 + "org/",
        "http://\u200d.org/",
        "http://a.org/\ud800",
        "http://a.org/" + "b" * MAX_LENGTH,
        "http://a.org/" + "é" * (MAX_LENGTH // 2),
    ],
)
def test_what_is_no_web_page_is_refused(text: str) -> None:
    with pytest.raises(BadUrl, match=r"^url (must|has|holds)"):
        canonical(text)


def test_links_that_are_too_long_to_keep() -> None:
    base = "http://a.org/" + "b" * 5000 + "/"
    hrefs = ["c" * 5000, "c", "/d", "http://b.org/", "../e", "./f"]
    kept = ["http://a.org/d", "http://b.org/", "http://a.org/e"]
    assert resolve_links(hrefs, base) == [None, None, *kept, None]
    room = MAX_URL_LENGTH - len("http://a.org/")
    for href in ("c" * room, "\u00e9" * (room // 6)):
        assert resolve_links([href, href + "cccccc"], "http://a.org/")[0] is not None
        assert resolve_links([href + "cccccc"], "http://a.org/") == [None]


def test_a_long_base_is_not_read_again_for_each_link(monkeypatch) -> None:
    calls = []
    monkeypatch.setattr(urls, "_escape", lambda match: calls.append(match) or "%C3")
    base = "http://a.org/" + "%C3" * 600 + "/"
    resolve_links(["\u00e9"] * 50, base)
    assert len(calls) <= 50 + 600


def test_credentials_are_not_even_in_the_error() -> None:
    with pytest.raises(BadUrl) as caught:
        canonical("http://user:secret@a.org:99999/")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://u:secret@a.org/b@c", "https://a.org/b@c"),
        ("see HTTP:\\\\u:secret@a.org", "see HTTP:\\\\a.org"),
        ("http:u:secret@a.org/", "http:a.org/"),
        ("http:/u:se cret@a.org/", "http:/a.org/"),
        ("//u:x@secret@a.org?b@c", "//a.org?b@c"),
        ('{"url": "https://u:secret@a.org", "by": "me@b.org"}', '{"url": "https://a.org", "by": "me@b.org"}'),
        ("http://a.org/" + "b" * 300 + "//u:secret@c", "http://a.org/" + "b" * 300 + "//c"),
        ("https://u:secret" + "x" * 300 + "@a.org:99999/", "https://a.org:99999/"),
    ],
)  # fmt: skip
def test_credentials_are_blanked_in_any_text(text, expected) -> None:
    assert without_credentials(text) == expected
    with pytest.raises(BadUrl) as caught:
        canonical(text.replace("a.org", "a.org:99999", 1) + "\ud800")
    assert "secret" not in str(caught.value)


def test_international_hosts_that_dns_cannot_hold_are_not_encoded(monkeypatch) -> None:
    calls = []
    encode = idna.alabel
    monkeypatch.setattr(idna, "alabel", lambda label: calls.append(label) or encode(label))
    long = ["\u0436" * 60, ".".join(["\u0436" * 30] * 8), "\u0436\u3002" * 200]
    for name in long:
        with pytest.raises(BadUrl, match="DNS"):
            canonical(f"http://{name}/")
    assert calls == []
    for _ in range(3):
        assert canonical("http://\u0436\u0436.org/") == "http://xn--f1aa.org/"
    assert len(calls) <= 1


def test_host_and_site() -> None:
    assert host("https://news.example.co.uk:8080/a/b") == "news.example.co.uk:8080"
    assert site("news.example.co.uk:8080") == "example.co.uk"
    assert site("a.b.github.io") == "b.github.io"
    for alone in ("localhost", "192.168.0.1", "[2001:db8::1]", "github.io", "co.uk"):
        assert site(alone) == alone
    assert site("[2001:db8::1]:80") == "[2001:db8::1]"
