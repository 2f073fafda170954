"""Page bytes → text, links, words, digest, simhash, shingles."""

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
