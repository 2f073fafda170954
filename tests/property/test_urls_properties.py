"""No text breaks `canonical`, and twice is once."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import example, given
from hypothesis import strategies as st

from recrawl.errors import BadUrl
from recrawl.urls import _PLAIN, _rewrite, canonical, resolve_links

ANYTHING = st.text(st.characters(), max_size=60)  # surrogates too
PIECES = st.lists(
    st.sampled_from(
        [
            *("http:", "https://", "HTTP://", "//", "/", "\\", ".", "..", "%2e", "%", "%4", "%41"),
            *("a", "A", "b.org", "xn--", "é", "ß", "İ", "。", "٠", "0x", "1", "08", "[::1]", "]"),
            *(
                "@",
                ":",
                "80",
                "443",
                "?",
                "#",
                "&",
                "=",
                "utm_a",
                " ",
                "\t",
                "'",
                "|",
                "^",
                "\ud800",
            ),
        ]
    ),
    max_size=14,
).map("".join)
URLISH = st.one_of(
    ANYTHING, PIECES, PIECES.map("http://a.org".__add__), PIECES.map("http://".__add__)
)


@given(URLISH, st.none() | URLISH)
@example("http://a.org/%%34%31", None)
@example("http://ẞ.xn--/", None)
def test_twice_is_once(url: str, base: str | None) -> None:
    with suppress(BadUrl):
        once = canonical(url, base=base)
        assert canonical(once) == once
        assert once.isascii()
        assert "#" not in once
        assert "@" not in once.split("/")[2]


@given(st.from_regex(_PLAIN, fullmatch=True, alphabet=st.characters(max_codepoint=127)))
def test_the_fast_path_says_what_the_slow_one_says(url: str) -> None:
    assert canonical(url) == _rewrite(url, None)


@given(st.lists(URLISH, max_size=5), PIECES.map("http://a.org/b/c".__add__))
def test_many_links_are_resolved_as_one(links: list[str], base: str) -> None:
    with suppress(BadUrl):
        for link, found in zip(links, resolve_links(links, base), strict=True):
            try:
                assert canonical(link, base=base) == found
            except BadUrl:
                assert found is None
