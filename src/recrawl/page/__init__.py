"""The bytes of a page → its text, links, words, digest and fingerprints."""

from recrawl.page.content import PageContent, parse
from recrawl.page.fingerprints import shingle_distance, shingles, simhash, word_counts, words

__all__ = [
    "PageContent",
    "parse",
    "shingle_distance",
    "shingles",
    "simhash",
    "word_counts",
    "words",
]
