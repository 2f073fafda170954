"""Texts of made-up words; pages on one topic share words."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recrawl.random import mix, random_bits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recrawl.model import IntArray, KeyArray

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvwz" for vowel in "aeiou"]
COMMON = 200  #: words that every topic uses
OWN = 30  #: words that only one topic uses
LASTING, FLEETING = 40, 12  #: words that all versions of a page share, and words of one version


def word(number: int) -> str:
    """A word for each number, of two syllables or more.

    >>> word(0), word(77), word(123_456)
    ('baba', 'bibe', 'dezeke')
    """
    out = ""
    while number or len(out) < 4:
        number, digit = divmod(number, len(SYLLABLES))
        out += SYLLABLES[digit]
    return out


@dataclass(frozen=True)
class Numbered:
    """Content of worlds that only model times: the number of the version, and no links."""

    def texts(self, page: IntArray, version: IntArray) -> list[str]:
        rows = zip(page.tolist(), version.tolist(), strict=True)
        return [f"Page {p}, version {v}." for p, v in rows]

    def links(self, page: IntArray, version: IntArray) -> list[list[str]]:  # noqa: ARG002
        return [[] for _ in range(len(page))]


@dataclass(frozen=True)
class Topical:
    """Text about the topic of a page: two of three words belong to the topic alone."""

    seed: int
    topic: IntArray  #: of each page
    repeats: int = field(default=1, kw_only=True)  #: of each word of a version, in its text

    def texts(self, page: IntArray, edition: IntArray) -> list[str]:
        """Equal for equal page and edition, different otherwise."""
        key = random_bits(page.astype(np.uint64), self.seed)
        lasting = self._words(page, key, LASTING)
        fleeting = self._words(page, mix(key ^ mix(edition.astype(np.uint64))), FLEETING)
        fleeting = np.tile(fleeting, (1, self.repeats))
        rows = zip(lasting.tolist(), fleeting.tolist(), edition.tolist(), strict=True)
        return [f"{' '.join(old)}.\n{' '.join(new)}, revision {e}." for old, new, e in rows]

    def _words(self, page: IntArray, key: KeyArray, count: int) -> NDArray[np.object_]:
        place: KeyArray = np.arange(count, dtype=np.uint64)
        draw = mix(key[:, None] + place)
        own = draw % np.uint64(3) > 0
        draw >>= np.uint64(8)  # the low bits are used up
        topical = COMMON + OWN * self.topic[page][:, None] + (draw % np.uint64(OWN)).astype(int)
        return self._vocabulary[np.where(own, topical, (draw % np.uint64(COMMON)).astype(int))]

    @cached_property
    def _vocabulary(self) -> NDArray[np.object_]:
        size = COMMON + OWN * (int(self.topic.max()) + 1)
        return np.array([word(number) for number in range(size)], dtype=object)
