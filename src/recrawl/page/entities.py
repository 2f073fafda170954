"""Character references (`&name;`, `&#number;`) → the characters they stand for."""

from __future__ import annotations

from functools import cache
from html.entities import html5
from typing import TYPE_CHECKING

import numpy as np

from recrawl.page.byte_classes import CLASS, DIGIT, EQUALS, LETTER
from recrawl.page.kernels import kernel_helper

if TYPE_CHECKING:
    from numpy.typing import NDArray

VALUE = max(map(len, html5)) + 1  #: where in a row of `name_table` the value begins

IN_TEXT, IN_VALUE = map(np.int64, range(2))  #: where a reference is: in text or an attribute
#: Numbers from 0x80 to 0x9F mean characters of Windows-1252.
_WINDOWS = np.array([ord(bytes([i]).decode("cp1252", "ignore") or chr(i)) for i in range(128, 160)])


@cache
def name_table() -> NDArray[np.uint8]:
    """The names of the HTML Standard, one in each row, in ascending order.

    A row holds the name, with its `;` if it needs one, then at least one 0. At `VALUE` is the
    length of what the name stands for, in UTF-8, and behind it those bytes.
    """
    rows = sorted((name.encode(), value.encode()) for name, value in html5.items())
    width = VALUE + 1 + max(len(value) for _, value in rows)
    packed = [
        (name.ljust(VALUE, b"\0") + bytes([len(value)]) + value).ljust(width, b"\0")
        for name, value in rows
    ]
    return np.frombuffer(b"".join(packed), np.uint8).reshape(len(rows), width)


@kernel_helper
def reference(data, i, end, place, out, n, table):  # type: ignore[no-untyped-def]
    """Write what the reference at i stands for, or its "&" if it is none, to `out` from n on.

    Returns the next positions in `data` and in `out`.
    """
    if i + 1 < end and data[i + 1] == 35:
        code, stop = _number(data, i + 2, end)
        if stop > i:
            return stop, _put(out, n, code)
    else:
        row, stop = _name(data, i + 1, end, table)
        # In a value, `&copy=1` is a parameter.
        is_bare = place == IN_VALUE and stop < end and data[stop - 1] != 59
        if row >= 0 and not (is_bare and CLASS[data[stop]] & (EQUALS | LETTER | DIGIT)):
            for k in range(table[row, VALUE]):
                out[n + k] = table[row, VALUE + 1 + k]
            return stop, n + np.int64(table[row, VALUE])
    out[n] = 38
    return i + 1, n + 1


@kernel_helper
def _number(data, i, end):  # type: ignore[no-untyped-def]
    """The character that the number at i stands for, and where the number ends, -1 without one."""
    radix = 10
    if i < end and data[i] | 32 == 120:  # x
        radix = 16
        i += 1
    begin, code = i, 0
    while i < end and _digit(data[i]) < radix:
        code = min(code * radix + _digit(data[i]), 0x110000)
        i += 1
    if i == begin:
        return 0, -1
    if 128 <= code < 160:
        code = _WINDOWS[code - 128]
    elif code == 0 or code > 0x10FFFF or 0xD800 <= code < 0xE000:
        code = 0xFFFD
    return code, i + 1 if i < end and data[i] == 59 else i


@kernel_helper
def _digit(byte):  # type: ignore[no-untyped-def]
    if CLASS[byte] & DIGIT:
        return byte - 48
    return (byte | 32) - 87 if CLASS[byte] & LETTER else 99


@kernel_helper
def _put(out, n, code):  # type: ignore[no-untyped-def]
    """Write a character in UTF-8. Returns the next position."""
    if code < 0x80:
        out[n] = code
        return n + 1
    more = 1 + (code >= 0x800) + (code >= 0x10000)
    out[n] = ((0xF00 >> (more + 1)) & 0xFF) | (code >> (6 * more))
    for k in range(1, more + 1):
        out[n + k] = 0x80 | ((code >> (6 * (more - k))) & 63)
    return n + more + 1


@kernel_helper
def _name(data, i, end, table):  # type: ignore[no-untyped-def]
    """The row of the name at i, -1 if there is none, and where the name ends."""
    stop = i
    while stop < min(i + 32, end) and CLASS[data[stop]] & (LETTER | DIGIT):
        stop += 1
    if stop < end and data[stop] == 59:  # ;
        row = _lookup(data, i, stop + 1, table)
        if row >= 0:
            return row, stop + 1
    # Names that need no semicolon have at most 6 letters. The longest that fits is taken.
    for shorter in range(min(stop, i + 6), i + 1, -1):
        row = _lookup(data, i, shorter, table)
        if row >= 0:
            return row, shorter
    return -1, i


@kernel_helper
def _lookup(data, begin, end, table):  # type: ignore[no-untyped-def]
    low, high = 0, len(table)
    while low < high:
        middle = (low + high) // 2
        order = _compare(data, begin, end, table[middle])
        if order == 0:
            return middle
        if order < 0:
            high = middle
        else:
            low = middle + 1
    return -1


@kernel_helper
def _compare(data, begin, end, row):  # type: ignore[no-untyped-def]
    """Whether the bytes sort before (< 0) or after (> 0) the name in a row, or equal it (0)."""
    for k in range(end - begin):
        if data[begin + k] != row[k]:
            return np.int64(data[begin + k]) - np.int64(row[k])
    return -np.int64(row[end - begin])
