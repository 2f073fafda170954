"""Page bytes → text, links, words, digest, simhash, shingles."""

from recrawl.content.fingerprints import (
    shingle_distance,
    shingles,
    simhash,
    word_counts,
    words,
)
from recrawl.content.page import Content, parse

__all__ = [
    "Content",
    "parse",
    "shingle_distance",
    "shingles",
    "simhash",
    "word_counts",
    "words",
]
