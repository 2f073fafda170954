"""The bytes of a page → its text, links, words, digest and fingerprints."""

from recrawl.page.content import Content, parse
from recrawl.page.fingerprints import shingle_distance, shingles, simhash, word_counts, words

__all__ = [
    "Content",
    "parse",
    "shingle_distance",
    "shingles",
    "simhash",
    "word_counts",
    "words",
]
