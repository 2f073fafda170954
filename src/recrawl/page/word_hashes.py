"""Where are the words of a text, and which are they? Hashes of them, without making any.

A word is letters and digits in a row, in lower case. Chinese, Japanese and Korean are written
without spaces, or may be, so each of their letters is a word.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numba import njit

from recrawl.page.kernels import kernel_helper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PLANE = 0x10000  #: characters with a table of their own; of those above, ideographs are letters
ALONE = (0x3040, 0xE000)  #: letters that are words by themselves; so are the ideographs above
ODD, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
STEP = 8
#: Eight bytes at once. Of ASCII, the high bit of a byte says after an addition what range it is of.
ONES = np.uint64(0x0101010101010101)
HIGH, CASE = ONES * np.uint64(0x80), ONES * np.uint64(0x20)
FROM_A, AFTER_Z = ONES * np.uint64(0x80 - 0x61), ONES * np.uint64(0x80 - 0x7B)
FROM_0, AFTER_9 = ONES * np.uint64(0x80 - 0x30), ONES * np.uint64(0x80 - 0x3A)
_ALONE = re.compile(f"[{chr(ALONE[0])}-{chr(ALONE[1] - 1)}\U00020000-\U0003ffff]")


def spaced(text: str) -> str:
    """The text with spaces around the letters that are words, for those who split it by others."""
    return text if text.isascii() else _ALONE.sub(r" \g<0> ", text)


def bytes_of(texts: pa.Array | Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All texts as one run of bytes, and where each begins; nulls are empty."""
    column = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    column = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = column.buffers()
    place = np.zeros(1, np.int64)
    if len(column):
        place = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    whole = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return whole, place


@cache
def letters() -> NDArray[np.int32]:
    """For each character its lower case, negative if it is a word; 0 for no letter or digit."""
    table = np.zeros(PLANE, np.int32)
    for code in range(PLANE):
        if chr(code).isalnum():
            small = chr(code).lower()
            table[code] = ord(small) if len(small) == 1 else code
    table[slice(*ALONE)] *= -1
    return table


@njit(cache=True, nogil=True, inline="always")
def next_word(data, at, end, table):  # type: ignore[no-untyped-def]
    """The hash of the next word from `at` on, 0 if there is none, and where to go on."""
    found, begin = ODD, at
    while at + STEP <= end:
        group = _eight(data, np.uint64(at))
        if group & HIGH:
            break
        letter = ((group | CASE) + FROM_A) & ~((group | CASE) + AFTER_Z) & HIGH
        small = group | (letter >> np.uint64(2))
        other = (letter | ((group + FROM_0) & ~(group + AFTER_9))) & HIGH ^ HIGH
        if not other:  # eight letters, and perhaps more
            found = _fold(found, small)
            at += STEP
            continue
        before = ((other & (~other + np.uint64(1))) >> np.uint64(7)) - np.uint64(1)
        if before:  # a mask of the letters before the first byte that is none
            found = _fold(found, small & before)
        elif at == begin:
            at += 1
            begin = at
            continue
        many = ((before & ONES) * ONES) >> np.uint64(56)
        return found | np.uint64(found == 0), at + np.int64(many) + 1
    return _by_letter(data, begin, end, table)


@njit(cache=True, nogil=True, inline="always")
def _eight(data, at):  # type: ignore[no-untyped-def]
    """Eight bytes as a number; compilers make one load of this."""
    return (
        np.uint64(data[at])
        | np.uint64(data[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(data[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(data[at + np.uint64(3)]) << np.uint64(24)
        | np.uint64(data[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(data[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(data[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(data[at + np.uint64(7)]) << np.uint64(56)
    )


@njit(cache=True, nogil=True, inline="always")
def _fold(found, group):  # type: ignore[no-untyped-def]
    found = (found ^ group) * PRIME
    return found ^ (found >> np.uint64(32))


@kernel_helper
def _by_letter(data, at, end, table):  # type: ignore[no-untyped-def]
    """The same by letter, of any alphabet; those beyond ASCII count as three bytes."""
    found, group, shift, inside = ODD, np.uint64(0), np.uint64(0), False
    while at < end:
        small, step = _letter(data, at, table)
        if inside and small <= 0:
            break
        at += step
        if small == 0:
            continue
        inside = True
        for i in range(1 if 0 < small < 0x80 else 3):
            group |= np.uint64((abs(small) >> (8 * i)) & 0xFF) << shift
            shift += np.uint64(8)
            if shift == 64:
                found, group, shift = _fold(found, group), np.uint64(0), np.uint64(0)
        if small < 0:
            break
    if not inside:
        return np.uint64(0), at
    if shift:
        found = _fold(found, group)
    return found | np.uint64(found == 0), at


@kernel_helper
def _letter(data, at, table):  # type: ignore[no-untyped-def]
    """What the table says of the character there, and how many bytes it has."""
    code, step = np.uint32(data[at]), 1
    if code >= 0x80:  # Arrow keeps nothing but right UTF-8
        step = 2 if code < 0xE0 else (3 if code < 0xF0 else 4)
        code = code & np.uint32(0xFF >> (step + 1))
        for i in range(1, step):
            code = (code << np.uint32(6)) | (np.uint32(data[at + i]) & np.uint32(0x3F))
    return np.int64(table[code]) if code < PLANE else -np.int64(code) * (code >= 0x20000), step
