"""Words, shingles and simhash of a text: are two texts the same, or nearly?"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
from xxhash import xxh3_64_intdigest

if TYPE_CHECKING:
    from recrawl.model import KeyArray

_WORD = re.compile(r"[^\W_]+")
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_SIMHASH_WIDTH = 3  # words; with single words the common ones would decide
_BITS = ((np.arange(256)[:, None] >> np.arange(8)) & 1).astype(np.int64)


def text_hash(text: str) -> int:
    """64 bits, equal for equal texts."""
    return int(xxh3_64_intdigest(text.encode()))


def words(text: str) -> list[str]:
    """Its words, in order: runs of letters and digits, in lower case."""
    return _WORD.findall(text.lower())


def word_counts(text: str) -> Counter[str]:
    """How often each word occurs."""
    return Counter(words(text))


def shingles(text: str, *, width: int = 5, sample: int | None = None) -> KeyArray:
    """Hashes of all runs of `width` words, ascending, without duplicates.

    `sample` keeps only the smallest hashes: a random sample of the runs that is the same for every
    text with these runs (Broder 1997). A text with fewer than `width` words is one run.
    """
    return np.unique(_runs(text, width))[:sample]


def shingle_distance(before: KeyArray, after: KeyArray, *, sample: int | None = None) -> float:
    """The share of the shingles of both texts that are in one only; 0 for two empty texts."""
    union = np.union1d(before, after)[:sample]
    if not len(union):
        return 0.0
    both = np.intersect1d(before, after, assume_unique=True)
    return 1.0 - float(np.isin(union, both, assume_unique=True).sum()) / len(union)


def simhash(text: str) -> int:
    """64 bits; few of them differ between texts that share most runs of words.

    0 for a text without words (Charikar 2002, Manku et al. 2007).
    """
    runs = _runs(text, _SIMHASH_WIDTH)
    if not len(runs):
        return 0
    columns = runs.astype("<u8").view(np.uint8).reshape(-1, 8)
    ones = [np.bincount(columns[:, i], minlength=256) @ _BITS for i in range(8)]
    majority = (2 * np.concatenate(ones) > len(runs)).astype(np.uint8)
    return int.from_bytes(np.packbits(majority, bitorder="little").tobytes(), "little")


def _runs(text: str, width: int) -> KeyArray:
    """The hash of each run of `width` words, in order."""
    tokens = words(text)
    hash_of = {word: text_hash(word) for word in set(tokens)}
    hashes = np.fromiter(map(hash_of.__getitem__, tokens), np.uint64, len(tokens))
    width = min(width, len(tokens))
    count = len(tokens) - width + 1 if tokens else 0
    runs = np.zeros(count, dtype=np.uint64)
    for i in range(width):
        runs = (runs ^ hashes[i : i + count]) * _MULTIPLIER
        runs ^= runs >> _SHIFT
    return runs
