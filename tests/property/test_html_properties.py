"""The scanner agrees with the parser of a browser.

Pages are drawn so that the tree builder leaves tags where they are: no text in tables, no tag that
closes or reopens another. An end tag without a start, which a tree forgets, is a space to us.
"""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from recrawl.page.html_scanner import scan

UNSEEN = ["script", "style", "noscript", "iframe", "noembed", "noframes"]
ANY = 1_000_000


def by_tree(body: bytes) -> tuple[str, list[str], list[str]]:
    """Title, words and links as the tree has them."""
    tree = LexborHTMLParser(body, scripting=True)
    assert tree.head is not None
    assert tree.body is not None
    title = tree.head.css_first("title")
    hrefs = [node.attributes.get("href") or "#" for node in tree.tags("a")]
    tree.strip_tags(UNSEEN)
    words = tree.body.text(separator=" ").split()
    name = " ".join(title.text().split()) if title else ""
    return name, words, [href for href in hrefs if not href.startswith("#")]


def by_scan(body: bytes) -> tuple[str, list[str], list[str]]:
    page = scan(body, ANY)
    return page.title, page.text.split(), page.hrefs


# Text with references, whole and broken. No control characters: to us they are spaces.
REFERENCES = (
    *("&amp;", "&lt", "&nbsp;", "&copy", "&copy=1", "&copyx", "&notit;", "&notin;", "&nGt;", "&x"),
    *("&CounterClockwiseContourIntegral;", "&fjlig;", "&#65;", "&#x1F600;", "&#X41", "&#128;"),
    *("&#xD800;", "&#x110000;", "&#99999999999;", "&#;", "&#x;", "&", "&;", "&Aacute", "&sup1x"),
)
PIECE = st.sampled_from([*REFERENCES, "a", "Z", "7", "é", "漢", " ", "\n", "=", ";", "-", "!", "/"])
TEXT = st.lists(PIECE, max_size=6).map("".join)
NAME = st.sampled_from(["href", "href", "href", "HREF", "rel", "x", "data-a", "é", "@b", "x:y"])
ROOM = st.sampled_from(["", " ", "\n"])


@st.composite
def attribute(draw: st.DrawFn) -> str:
    quote = draw(st.sampled_from(["'", '"', ""]))
    extra = draw(st.sampled_from(["", "<p>", "a > b", "<!--", "-->"])) if quote else "v"
    value = draw(TEXT | st.sampled_from(REFERENCES)) if quote else "".join(draw(TEXT).split())
    name, before, after = draw(NAME), draw(ROOM), draw(ROOM)
    if draw(st.integers(0, 5)) == 0:
        return f" {name}"
    return f" {name}{before}={after}{quote}{extra}{value}{quote}"


ATTRIBUTES = st.lists(attribute(), max_size=3).map("".join)
END = st.sampled_from([">", " >", "\n>", " a='>'>"])  # of an end tag
CODE = st.lists(
    st.sampled_from(
        ["a", "<", "</", "<p>", "</p>", "&amp;", "'", '"', "<!-", "->", "</b", "<a href=no>"]
    ),
    max_size=6,
).map("".join)


@st.composite
def raw(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from([*UNSEEN, "xmp", "textarea", "STYLE", "Script"]))
    inner = draw(CODE)
    if name == "script" and draw(st.booleans()):
        inner = draw(st.sampled_from(["<!--<script>a</script>b-->", "<!-->", "<!--<script >x-->y"]))
    return f"<{name}{draw(ATTRIBUTES)}>{inner}</{name.upper()}{draw(END)}"


@st.composite
def comment(draw: st.DrawFn) -> str:
    inner = draw(
        st.sampled_from(["", "-", " <p>a</p> ", " - -> ", " --a ", " <!-- ", ">x", "->x", "!>"])
    )
    if inner in (">x", "->x"):
        return f"<!--{inner}"
    end = draw(st.sampled_from(["-->", "--!>", "--->"]))
    return draw(
        st.sampled_from([f"<!--{inner}{end}", "<?php a ?>", "<!x y>", "</ x>", "<![CDATA[x]]>"])
    )


LEAF = st.one_of(
    TEXT,
    raw(),
    comment(),
    st.sampled_from(
        ["<br>", "<br/>", "<hr />", "<img src='a>b'>", "< b", "<3", "a<=b", "</>", "<>"]
    ),
    st.builds("<a{}>{}</a{}".format, ATTRIBUTES, TEXT, END),
)


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    name = st.sampled_from(["div", "ul", "section", "DIV", "x-y", "template", "blockquote"])
    parts = st.lists(inner, max_size=4).map("".join)
    return st.builds(
        lambda name, attributes, inner, end: f"<{name}{attributes}>{inner}</{name}{end}",
        *(name, ATTRIBUTES, parts, END),
    )


PAGES = st.builds(
    "<!doctype html>{}<body>{}".format,
    st.sampled_from(["", "<title>a &amp; <b>\nc</title>", "<TITLE a='>'></title><title>b</title>"]),
    st.lists(st.recursive(LEAF, nested, max_leaves=12), max_size=5).map("".join),
)


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(PAGES)
def test_the_tree_agrees(text: str) -> None:
    body = text.encode()
    assert by_scan(body) == by_tree(body)


LINK = "<link{}{}>".format
HEAD_PIECE = st.sampled_from(
    [
        *(
            "",
            " ",
            "\n",
            "<!--a-->",
            "<meta a>",
            "<title>a</title>",
            "<head>",
            "</head>",
            "<p>",
            "a",
        ),
        *("<template><p>a</template>", "<style>p</style>", "<script>'<p>'</script>", "<body>"),
    ]
)
RELS = st.sampled_from(["", " rel=canonical", " REL='x Canonical'", " rel=icon", " rel=canonicals"])
LINKS = st.builds(LINK, RELS, st.sampled_from([" href=b", " href='c&amp;d'", ""]))


@settings(max_examples=250, deadline=None)
@given(st.lists(HEAD_PIECE | LINKS, max_size=6).map("".join))
def test_the_tree_agrees_on_the_canonical_url(text: str) -> None:
    head = LexborHTMLParser(text.encode(), scripting=True).head
    links = head.css("link[rel~=canonical i][href]") if head else []
    expected = links[0].attributes["href"] if links else ""
    assert scan(text.encode(), ANY).canonical == expected


@pytest.mark.slow
@settings(deadline=None)
@given(PAGES, st.integers(0, 400))
def test_a_page_may_be_cut_anywhere(text: str, at: int) -> None:
    body = text.encode()[:at]
    page = scan(body, ANY)
    assert len(page.hrefs) == len(page.nofollow)
    assert page.text == " ".join(page.text.replace("\xa0", " ").split(" "))


def realistic(draw: random.Random) -> str:
    """A page as sites have them: scripts, a menu, cards of marked-up text."""

    def say(most: int) -> str:
        return " ".join(
            "".join(draw.choices("etaoinshr", k=5)) for _ in range(draw.randint(1, most))
        )

    menu = "".join(
        f'<li class="menu menu--{i}"><a data-track="nav:{i}" href="/s/{i}?a=1&amp;b={i}"><span>'
        f"{say(4)}</span></a></li>\n"
        for i in range(draw.randint(0, 100))
    )
    cards = "".join(
        f'<article data-id={i} class="card"><img src="/{i}.jpg" alt="{say(5)}"/><h3>{say(9)}</h3>\n'
        f"<p class='text'>{say(30)} <strong>{say(4)}</strong>&nbsp;&mdash; {say(9)}.</p><!-- {i} -->"
        f'<time datetime="2024-05-0{i % 9 + 1}">{i} May</time></article>\n'
        for i in range(draw.randint(0, 100))
    )
    script = f"<script>if (a < b && c > d) {{ s = '<p>{say(20)}<\\/p>' }}</script>"
    head = (
        f"<meta charset=utf-8><title>{say(8)}</title>{script}<style>p > a {{ margin: 0 }}</style>"
    )
    table = f"<table><tbody><tr><td>{say(3)}</td><td>{say(3)}</td></tr></tbody></table>"
    return f"<!doctype html><html lang=en><head>{head}</head><body><ul>{menu}</ul>{cards}{table}</body></html>"


@pytest.mark.parametrize("seed", range(20))
def test_the_tree_agrees_on_a_page_of_the_web(seed: int) -> None:
    body = realistic(random.Random(seed)).encode()
    assert by_scan(body) == by_tree(body)
