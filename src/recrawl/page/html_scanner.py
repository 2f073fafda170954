"""The HTML scanner: visible text, title, links, base and canonical URL in one pass, without a tree.

It is the tokenizer of the HTML Standard. The tree builder is left out, because a hostile page can
make it take quadratic time. Here each byte is read a bounded number of times: a search that may
fail consumes what it has searched, and every look-ahead has a bounded length.

The functions below are compiled. They take the page as `data` and a position `i`, and return the
position where reading continues.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recrawl.page.byte_classes import (
    ATTRIBUTE_END,
    CLASS,
    LETTER,
    MARKED,
    NAME_END,
    SLASH,
    SPACE,
    VALUE_END,
)
from recrawl.page.entities import IN_TEXT, IN_VALUE, name_table, reference
from recrawl.page.kernels import kernel, kernel_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _key(name: str) -> np.int64:
    """A name of at most 12 letters as a number, as `_word` reads it."""
    key = 0
    for letter in name:
        key = key * 32 + ord(letter) - 96
    return np.int64(key)


_A, _BASE, _LINK, _SVG, _HREF, _REL = map(_key, ("a", "base", "link", "svg", "href", "rel"))
_SCRIPT, _TEMPLATE, _TITLE = map(_key, ("script", "template", "title"))
_TEXTAREA, _XMP, _PLAINTEXT = map(_key, ("textarea", "xmp", "plaintext"))
_HIDDEN_ELEMENTS = tuple(map(_key, ("style", "noscript", "iframe", "noembed", "noframes")))
#: The head of a page ends at any other element, and at any text.
_HEAD_NAMES = (
    "html head meta link base basefont bgsound title style script noscript noframes template"
)
_HEAD_ELEMENTS = tuple(map(_key, _HEAD_NAMES.split()))
_LESS, _GREATER, _ZERO = map(np.int64, (60, 62, 0))
_NOFOLLOW = np.frombuffer(b"nofollow", np.uint8)
_CANONICAL = _key("canonical")

# What a "<" begins.
_NO_TAG, _START_TAG, _END_TAG, _COMMENT, _BOGUS_COMMENT, _EMPTY_END_TAG = map(np.int64, range(6))
# How text is read: up to a "<", with character references only, as it is, or not at all.
_DATA, _REFERENCES, _RAW, _HIDDEN = map(np.int64, range(4))
# Places in the state of a scan: lengths of both outputs, number of links, open templates and
# drawings (svg), where title, base and canonical URL are in the source, whether the head has ended.
_TEXT, _STRINGS, _LINKS, _TEMPLATES, _DRAWINGS, _TITLE_AT, _TITLE_TO = range(7)
_BASE_AT, _BASE_TO, _CANONICAL_AT, _CANONICAL_TO, _HEAD_ENDED, _STATE_SIZE = range(7, 13)


class ScannedPage(NamedTuple):
    """What a page holds, as it is written; text and title with single spaces."""

    text: str
    title: str  #: empty if there is none
    base: str  #: empty if there is none
    canonical: str  #: of the first `<link rel=canonical>` in the head; empty if there is none
    hrefs: list[str]
    nofollow: list[bool]  #: for each link


def scan(body: bytes, max_links: int) -> ScannedPage:
    """What a page in UTF-8 holds; no more than the first `max_links` links."""
    data = np.frombuffer(body, np.uint8)
    text, strings = _buffer(body), _buffer(body)
    flags = np.empty(min(max_links, len(body) // 8), np.bool_)
    state = np.zeros(_STATE_SIZE, np.int64)
    _scan(data, name_table(), text, strings, flags, state)
    *hrefs, base, canonical, title = _str(strings, state[_STRINGS]).split("\0")
    visible = _str(text, state[_TEXT]).strip(" ")
    nofollow = flags[: len(hrefs)].tolist()
    return ScannedPage(visible, title.strip(" "), base, canonical, hrefs, nofollow)


def collapse_spaces(text: str) -> str:
    """The text with single spaces; for long texts several times faster than `split`."""
    data = np.frombuffer(text.encode(), np.uint8)
    out = np.empty_like(data)
    return _str(out, _collapse_spaces(data, name_table(), out)).strip(" ")


def _buffer(body: bytes) -> NDArray[np.uint8]:
    # A character reference grows to at most 6/5 of its length, as `&nGt;` does.
    return np.empty(len(body) + len(body) // 5 + 8, np.uint8)


def _str(utf8: NDArray[np.uint8], length: int) -> str:
    return str(utf8[:length].data, "utf-8", "replace")


@kernel
def _scan(data, table, text, strings, nofollow, state):  # type: ignore[no-untyped-def]
    """Fill `strings` with links, base, canonical URL and title, with a NUL between each two."""
    i = _ZERO
    while i < len(data):
        i = _read_text(data, i, len(data), _DATA, text, state, table)
        what = _markup(data, i)
        if what == _START_TAG:
            i = _start_tag(data, i, text, strings, nofollow, state, table)
        elif what == _END_TAG:
            i = _end_tag(data, i, text, state)
        elif what == _NO_TAG:
            i = _less_than(data, i, text, state)
        elif what == _EMPTY_END_TAG:
            _break_character(text, state[_TEXT])
            i += 3
        else:
            state[_TEXT] = _space(text, state[_TEXT])
            i = _comment_end(data, i) if what == _COMMENT else _find(data, i, _GREATER) + 1
    n = _copy_value(data, state[_BASE_AT], state[_BASE_TO], strings, state[_STRINGS], table)
    strings[n] = 0
    n = _copy_value(data, state[_CANONICAL_AT], state[_CANONICAL_TO], strings, n + 1, table)
    strings[n] = 0
    at, to = state[_TITLE_AT], state[_TITLE_TO]
    _, state[_STRINGS] = _copy(data, at, to, _REFERENCES, strings, n + 1, table)


@kernel
def _collapse_spaces(data, table, out):  # type: ignore[no-untyped-def]
    return _copy(data, _ZERO, len(data), _RAW, out, _ZERO, table)[1]


@kernel_helper
def _markup(data, i):  # type: ignore[no-untyped-def]
    """What the "<" at i begins."""
    size = len(data)
    after = data[i + 1] if i + 1 < size else 0
    if CLASS[after] & LETTER:
        return _START_TAG
    if after == 33:  # !
        dashed = i + 3 < size and data[i + 2] == 45 and data[i + 3] == 45
        return _COMMENT if dashed else _BOGUS_COMMENT
    if after != 47 or i + 2 >= size:  # /
        return _BOGUS_COMMENT if after == 63 else _NO_TAG  # ?
    if CLASS[data[i + 2]] & LETTER:
        return _END_TAG
    return _EMPTY_END_TAG if data[i + 2] == 62 else _BOGUS_COMMENT  # >


@kernel_helper
def _start_tag(data, i, text, strings, nofollow, state, table):  # type: ignore[no-untyped-def]
    """Read the start tag at i, and the text of an element that holds no markup."""
    state[_TEXT] = _space(text, state[_TEXT])
    key, i = _tag_name(data, i + 1)
    i, closed, href, href_to, rel, rel_to = _attributes(data, i, key)
    if i > len(data):  # cut short: not a tag
        return i
    if state[_HEAD_ENDED] == 0 and state[_TEMPLATES] == 0:
        state[_HEAD_ENDED] = key not in _HEAD_ELEMENTS or state[_TEXT] > 0
    if key == _TEMPLATE:
        state[_TEMPLATES] += 1
    elif key == _SVG:
        state[_DRAWINGS] += not closed
    elif href > 0 and state[_TEMPLATES] == 0:
        _keep_address(data, key, href, href_to, rel, rel_to, strings, nofollow, state, table)
    if closed and state[_DRAWINGS] > 0:  # a slash closes an element only in a drawing
        return i
    end, mode = _contents(data, i, key, state)
    return end if mode == _HIDDEN else _read_text(data, i, end, mode, text, state, table)


@kernel_helper
def _keep_address(data, key, href, href_to, rel, rel_to, strings, nofollow, state, table):  # type: ignore[no-untyped-def]
    """Keep the address of a link, of the first base, or of the first canonical URL in the head."""
    if key == _BASE and state[_BASE_AT] == 0:
        state[_BASE_AT], state[_BASE_TO] = href, href_to
    elif key == _LINK and state[_CANONICAL_AT] == 0 and state[_HEAD_ENDED] == 0:
        if _says_canonical(data, rel, rel_to):
            state[_CANONICAL_AT], state[_CANONICAL_TO] = href, href_to
    elif key == _A and state[_LINKS] < len(nofollow):
        nofollow[state[_LINKS]] = _says_nofollow(data, rel, rel_to)
        _keep_link(data, href, href_to, strings, state, table)


@kernel_helper
def _keep_link(data, href, href_to, strings, state, table):  # type: ignore[no-untyped-def]
    """Keep a link, unless it is empty or leads to a place on the same page."""
    begin = state[_STRINGS]
    n = _copy_value(data, href, href_to, strings, begin, table)
    if n > begin and strings[begin] != 35:
        strings[n] = 0
        state[_STRINGS] = n + 1
        state[_LINKS] += 1


@kernel_helper
def _contents(data, i, key, state):  # type: ignore[no-untyped-def]
    """Where the text of an element that holds no markup ends, and how it is read.

    The text begins at i. For other elements it ends there too.
    """
    if key == _SCRIPT:
        return _script_end(data, i), _HIDDEN
    if key == _TITLE or key in _HIDDEN_ELEMENTS:
        end = _raw_end(data, i, key)
        first = state[_TITLE_AT] == 0 and state[_TEMPLATES] == 0 and state[_DRAWINGS] == 0
        if key == _TITLE and first:
            state[_TITLE_AT], state[_TITLE_TO] = i, end
        return end, _HIDDEN
    if key == _TEXTAREA:
        return _raw_end(data, i, key), _REFERENCES
    if key == _XMP:
        return _raw_end(data, i, key), _RAW
    return (len(data), _RAW) if key == _PLAINTEXT else (i, _HIDDEN)


@kernel_helper
def _less_than(data, i, text, state):  # type: ignore[no-untyped-def]
    """Read the "<" at i, which is text. There is none at the end of the page."""
    if i < len(data) and state[_TEMPLATES] == 0:
        text[state[_TEXT]] = 60
        state[_TEXT] += 1
    return i + 1


@kernel_helper
def _end_tag(data, i, text, state):  # type: ignore[no-untyped-def]
    """Read the end tag at i."""
    state[_TEXT] = _space(text, state[_TEXT])
    key, i = _tag_name(data, i + 2)
    i = _attributes(data, i, key)[0]
    if i <= len(data):
        if key == _TEMPLATE and state[_TEMPLATES] > 0:
            state[_TEMPLATES] -= 1
        elif key == _SVG and state[_DRAWINGS] > 0:
            state[_DRAWINGS] -= 1
    return i


@kernel_helper
def _word(data, i):  # type: ignore[no-untyped-def]
    """The letters at i, at most 12, as a number that ignores their case, and where they end."""
    key = 0
    stop = min(i + 12, len(data))
    while i < stop and CLASS[data[i]] & LETTER:
        key = key * 32 + (data[i] & 31)
        i += 1
    return key, i


@kernel_helper
def _is_word(data, i, key):  # type: ignore[no-untyped-def]
    """Whether the name of a tag is at i."""
    word, i = _word(data, i)
    return word == key and i < len(data) and CLASS[data[i]] & NAME_END > 0


@kernel_helper
def _tag_name(data, i):  # type: ignore[no-untyped-def]
    """The name at i as a number, 0 if it has other characters than letters, and where it ends."""
    key, i = _word(data, i)
    end = _until(data, i, NAME_END)
    return key if end == i else 0, end


@kernel_helper
def _attributes(data, i, tag):  # type: ignore[no-untyped-def]
    """Where a tag ends, whether a slash closes it, and the spans of its first `href` and `rel`.

    The name of the tag ends at i. A tag that is cut short ends beyond the data.
    """
    href = href_to = rel = rel_to = 0
    closed = False
    while True:
        while i < len(data) and CLASS[data[i]] & (SPACE | SLASH):
            closed = data[i] == 47
            i += 1
        if i >= len(data) or data[i] == 62:
            return i + 1, closed, href, href_to, rel, rel_to
        name = i
        i = _until(data, i + 1, ATTRIBUTE_END)
        key, letters_to = _word(data, name) if tag in (_A, _BASE, _LINK) else (_ZERO, name)
        key = key if letters_to == i else _ZERO
        value, value_to, i = _value(data, i)
        closed = False
        if key == _HREF and href == 0:
            href, href_to = value, value_to
        elif key == _REL and rel == 0:
            rel, rel_to = value, value_to


@kernel_helper
def _value(data, i):  # type: ignore[no-untyped-def]
    """Begin and end of the value of the attribute whose name ends at i, and the next position."""
    i = _spaces(data, i)
    if i >= len(data) or data[i] != 61:
        return i, i, i
    i = _spaces(data, i + 1)
    if i < len(data) and (data[i] == 34 or data[i] == 39):
        end = _find(data, i + 1, np.int64(data[i]))
        return i + 1, end, end + 1
    end = _until(data, i, VALUE_END)
    return i, end, end


@kernel_helper
def _find(data, i, byte):  # type: ignore[no-untyped-def]
    while i < len(data) and data[i] != byte:
        i += 1
    return i


@kernel_helper
def _until(data, i, classes):  # type: ignore[no-untyped-def]
    while i < len(data) and not CLASS[data[i]] & classes:
        i += 1
    return i


@kernel_helper
def _spaces(data, i):  # type: ignore[no-untyped-def]
    while i < len(data) and CLASS[data[i]] & SPACE:
        i += 1
    return i


@kernel_helper
def _comment_end(data, i):  # type: ignore[no-untyped-def]
    """Where the comment at i ends."""
    end = i + 4
    while True:
        end = _find(data, end, _GREATER)
        if end >= len(data):
            return end
        # The opening dashes count: `<!-->` and `<!--->` are whole comments, `<!--!>` is not.
        if data[end - 1] == 45 and data[end - 2] == 45:
            return end + 1
        if end - 3 >= i + 4 and data[end - 1] == 33 and data[end - 2] == 45 and data[end - 3] == 45:
            return end + 1
        end += 1


@kernel_helper
def _raw_end(data, i, key):  # type: ignore[no-untyped-def]
    """Where the end tag is of the element whose text begins at i."""
    while True:
        i = _find(data, i, _LESS)
        if i + 2 >= len(data):
            return len(data)
        if data[i + 1] == 47 and _is_word(data, i + 2, key):
            return i
        i += 1


@kernel_helper
def _script_end(data, i):  # type: ignore[no-untyped-def]
    """The same for a script. A script within a comment has an end tag of its own."""
    size = len(data)
    depth = 0  # 1 in a comment, 2 in a script within it
    while i < size:
        i = _find(data, i, _LESS) if depth == 0 else i
        if i + 2 >= size:
            return size
        if depth and data[i] == 45 and data[i + 1] == 45 and data[i + 2] == 62:
            depth = 0
        elif data[i] == 60 and data[i + 1] == 47 and _is_word(data, i + 2, _SCRIPT):
            if depth < 2:
                return i
            depth = 1
        elif data[i] == 60 and depth == 0 and _markup(data, i) == _COMMENT:
            depth = 1
            i += 1  # its dashes may be those of its end
        elif data[i] == 60 and depth == 1 and _is_word(data, i + 1, _SCRIPT):
            depth = 2
        i += 1
    return i


@kernel_helper
def _says_nofollow(data, i, end):  # type: ignore[no-untyped-def]
    for begin in range(i, end - 7):
        k = 0
        while k < 8 and data[begin + k] | 32 == _NOFOLLOW[k]:
            k += 1
        if k == 8:
            return True
    return False


@kernel_helper
def _says_canonical(data, i, end):  # type: ignore[no-untyped-def]
    """Whether one of the words of a `rel` is canonical."""
    begin = i
    for at in range(i, end + 1):
        if at == end or CLASS[data[at]] & SPACE:
            key, letters_to = _word(data, begin)
            if key == _CANONICAL and letters_to == at:
                return True
            begin = at + 1
    return False


@kernel_helper
def _read_text(data, i, end, mode, text, state, table):  # type: ignore[no-untyped-def]
    """Read text from i up to `end`. It is visible unless it is in a template."""
    i, n = _copy(data, i, end, mode, text, state[_TEXT], table)
    if state[_TEMPLATES] == 0:
        state[_TEXT] = n
    return i


@kernel_helper
def _copy(data, i, end, mode, out, n, table):  # type: ignore[no-untyped-def]
    """Copy text with single spaces to `out` from n on. Returns both next positions."""
    while i < end:
        byte = data[i]
        if not CLASS[byte] & MARKED:
            out[n] = byte
            n += 1
        elif byte == 60 and mode == _DATA:
            break
        elif byte == 38 and mode != _RAW:
            i, n = _copy_reference(data, i, end, out, n, table)
            continue
        elif byte == 0:
            _break_character(out, n)
        elif byte <= 32:
            n = _space(out, n)
        elif byte == 0xC2 and i + 1 < end and data[i + 1] == 0xA0:  # no-break space
            n = _space(out, n)
            i += 1
        else:
            out[n] = byte
            n += 1
        i += 1
    return i, n


@kernel_helper
def _space(out, n):  # type: ignore[no-untyped-def]
    if n > 0 and out[n - 1] != 32:
        out[n] = 32
        return n + 1
    return n


@kernel_helper
def _break_character(out, n):  # type: ignore[no-untyped-def]
    # Bytes are left out here. The first byte of a character must not join what follows them.
    if n > 0 and out[n - 1] >= 0xC0:
        out[n - 1] = 0xFF


@kernel_helper
def _copy_reference(data, i, end, out, n, table):  # type: ignore[no-untyped-def]
    i, stop = reference(data, i, end, IN_TEXT, out, n, table)
    is_no_break_space = stop == n + 2 and out[n] == 0xC2 and out[n + 1] == 0xA0
    return i, _space(out, n) if is_no_break_space or out[n] <= 32 else stop


@kernel_helper
def _copy_value(data, i, end, out, n, table):  # type: ignore[no-untyped-def]
    """Copy the value of an attribute to `out` from n on. Returns the next position there."""
    while i < end:
        if data[i] == 38:
            i, n = reference(data, i, end, IN_VALUE, out, n, table)
            continue
        out[n] = data[i] if data[i] else 0xFF  # NUL becomes an invalid byte
        n += 1
        i += 1
    return n
