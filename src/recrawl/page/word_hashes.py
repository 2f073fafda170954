"""The words of a text as 64-bit hashes, read from its bytes without making strings.

A word is a run of letters and digits, in lower case. Each Chinese, Japanese or Korean character
is a word of its own, because these languages may be written without spaces.
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

TABLE_SIZE = 0x10000  #: characters in the letter table; above it, only ideographs are letters
IDEOGRAPHS = (0x3040, 0xE000)  #: characters that are words; so are the ideographs above the table
SEED, PRIME = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
STEP = 8  #: bytes read at once
#: Constants for eight ASCII bytes at once: adding one sets the high bit of the bytes in a range.
ONES = np.uint64(0x0101010101010101)
HIGH, CASE = ONES * np.uint64(0x80), ONES * np.uint64(0x20)
FROM_A, AFTER_Z = ONES * np.uint64(0x80 - 0x61), ONES * np.uint64(0x80 - 0x7B)
FROM_0, AFTER_9 = ONES * np.uint64(0x80 - 0x30), ONES * np.uint64(0x80 - 0x3A)
#: Numbers of the same type, made here because making them in a kernel takes time to compile.
ONE, TWO, SEVEN, HALF, LAST_BYTE = (np.uint64(n) for n in (1, 2, 7, 32, 56))
_IDEOGRAPH = re.compile(f"[{chr(IDEOGRAPHS[0])}-{chr(IDEOGRAPHS[1] - 1)}\U00020000-\U0003ffff]")


def space_ideographs(text: str) -> str:
    """The text with spaces around each character that is a word, for other word splitters."""
    return text if text.isascii() else _IDEOGRAPH.sub(r" \g<0> ", text)


def utf8_bytes(texts: pa.Array | Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """All texts as one array of bytes, and where each begins in it; nulls are empty."""
    column = texts if isinstance(texts, pa.Array) else pa.array(texts, pa.large_string())
    column = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = column.buffers()
    starts = np.zeros(1, np.int64)
    if len(column):
        starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    whole = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return whole, starts


def byte_groups(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """The STEP bytes from each place of the data as a number, the first byte the lowest."""
    n_groups = max(len(data) - STEP + 1, 0)
    return np.ndarray(n_groups, "<u8", data, strides=(1,))


@cache
def letter_table() -> NDArray[np.int32]:
    """Character → its lower case, negative if it is a word; 0 if it is no letter or digit."""
    table = np.zeros(TABLE_SIZE, np.int32)
    for code in range(TABLE_SIZE):
        if chr(code).isalnum():
            small = chr(code).lower()
            table[code] = ord(small) if len(small) == 1 else code
    table[slice(*IDEOGRAPHS)] *= -1
    return table


@njit(cache=True, nogil=True, inline="always")
def next_word(data, groups, at, end, table):  # type: ignore[no-untyped-def]
    """The hash of the next word from `at` on, 0 if there is none, and the next position.

    `groups` are the `byte_groups` of the data.
    """
    hash_, begin = SEED, at
    while at + STEP <= end:
        group = groups[np.uint64(at)]  # a signed place would be checked for being negative
        if group & HIGH:
            break
        letter = ((group | CASE) + FROM_A) & ~((group | CASE) + AFTER_Z) & HIGH
        small = group | (letter >> TWO)
        other = (letter | ((group + FROM_0) & ~(group + AFTER_9))) & HIGH ^ HIGH
        if not other:  # eight letters, and perhaps more
            hash_ = _fold(hash_, small)
            at += STEP
            continue
        before = ((other & (~other + ONE)) >> SEVEN) - ONE
        if before:  # a mask of the letters before the first other byte
            hash_ = _fold(hash_, small & before)
        elif at == begin:
            at += 1
            begin = at
            continue
        many = ((before & ONES) * ONES) >> LAST_BYTE
        return hash_ | np.uint64(hash_ == 0), at + np.int64(many) + 1
    return _by_letter(data, begin, end, table)


@njit(cache=True, nogil=True, inline="always")
def _fold(hash_, group):  # type: ignore[no-untyped-def]
    hash_ = (hash_ ^ group) * PRIME
    return hash_ ^ (hash_ >> HALF)


@kernel_helper
def _by_letter(data, at, end, table):  # type: ignore[no-untyped-def]
    """As `next_word`, by letter, for any alphabet; letters beyond ASCII count three bytes."""
    hash_, group, shift, inside = SEED, np.uint64(0), np.uint64(0), False
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
                hash_, group, shift = _fold(hash_, group), np.uint64(0), np.uint64(0)
        if small < 0:
            break
    if not inside:
        return np.uint64(0), at
    if shift:
        hash_ = _fold(hash_, group)
    return hash_ | np.uint64(hash_ == 0), at


@kernel_helper
def _letter(data, at, table):  # type: ignore[no-untyped-def]
    """The entry of the table for the character at `at`, and its number of bytes."""
    code, step = np.uint32(data[at]), 1
    if code >= 0x80:  # Arrow holds valid UTF-8 only
        step = 2 if code < 0xE0 else (3 if code < 0xF0 else 4)
        code = code & np.uint32(0xFF >> (step + 1))
        for i in range(1, step):
            code = (code << np.uint32(6)) | (np.uint32(data[at + i]) & np.uint32(0x3F))
    return np.int64(table[code]) if code < TABLE_SIZE else -np.int64(code) * (code >= 0x20000), step
