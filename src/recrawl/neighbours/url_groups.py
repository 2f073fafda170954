"""Which pages have similar URLs? Groups by host, path segments and URL pattern."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.urls import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import IntArray, KeyArray

#: From the widest to the narrowest; the first N_NESTED contain one another.
LEVELS = ("all pages", "host", "section", "directory", "pattern")
N_NESTED = 4
ALONE = -1  #: the group number of a page that is alone in its group
MAX_SEGMENTS = 6  #: path segments that are compared; few sites sort their pages deeper

_DIRECTORY = r"^([^/]*//[^/?#]*(?:/[^/?#]*)*?/?)[^/?#]*/?(?:[?#].*)?$"
_SHAPE = r"^(?P<host>[^/]*//[^/?#]*)(?P<path>(?:/[^/?#]*)*?)/?(?P<last>[^/?#]*)/?(?:[?#].*)?$"


def prefix(urls: pa.StringArray, segments: int) -> pa.StringArray:
    """The host and the first `segments` path segments of each URL, or all if it has fewer.

    >>> prefix(pa.array(["https://a.org/x/y?q", "https://a.org/"]), 1).to_pylist()
    ['https://a.org/x', 'https://a.org']
    """
    return _first_match(urls, rf"^([^/]*//[^/?#]*(?:/[^/?#]+){{0,{segments}}}).*$")


def pattern(urls: pa.StringArray) -> pa.StringArray:
    """The shape of a URL: host, number of segments, and the last segment without digits.

    >>> pattern(pa.array(["https://a.org/x/7/read2me/", "https://a.org/y/12/readme"])).to_pylist()
    ['https://a.org////readme', 'https://a.org////readme']
    """
    parts = pc.extract_regex(urls, _SHAPE)
    host, path, last = (pc.struct_field(parts, name) for name in ("host", "path", "last"))
    depth = pc.replace_substring_regex(path, pattern="[^/]+", replacement="")
    without_digits = pc.replace_substring_regex(last, pattern="[0-9]+", replacement="")
    shape = pc.binary_join_element_wise(host, depth, without_digits, "/")
    return pc.if_else(pc.is_valid(parts), shape, urls)


def group_names(urls: Sequence[str]) -> KeyArray:
    """Hashes of the names of each page's groups: a row for each of LEVELS, one column per page.

    The directory of `/a/b` and of `/a/b/` is `/a/`, its section `/a`.
    """
    texts = pa.array(urls, pa.string())
    directory = _first_match(texts, _DIRECTORY)
    names = [prefix(texts, 0), prefix(directory, 1), directory, pattern(texts)]
    return np.stack([np.zeros(len(texts), np.uint64), *map(_hashes, names)])


def number_groups(names: KeyArray) -> tuple[IntArray, KeyArray]:
    """The group number of each page, one row per level; and the name of each group, as a hash.

    A page that shares a name with no other page has the number ALONE at that level.
    """
    numbers, group_names, first = [], [], 0
    for level, name in enumerate(names):
        each, which, size = np.unique(name, return_inverse=True, return_counts=True)
        shared = size > 1
        number = np.where(shared, first + np.cumsum(shared) - 1, ALONE)
        numbers.append(number[which].astype(np.int32))
        group_names.append(each[shared] ^ np.uint64(level))
        first += int(shared.sum())
    return np.stack(numbers), np.concatenate(group_names)


def prefix_groups(urls: Sequence[str]) -> list[IntArray]:
    """The group number of each page by host, then by one more path segment at each level.

    `/a/` and `/a/b` are both in the group `/a`; at the next level `/a/` is alone.
    """
    texts = pa.array(urls, pa.string())
    levels = []
    for segments in range(MAX_SEGMENTS + 1):
        names = prefix(texts, segments).dictionary_encode()
        levels.append(names.indices.to_numpy().astype(np.int64))
        if np.bincount(levels[-1]).max(initial=0) <= 1:
            break
    return levels


def smallest_shared(levels: Sequence[IntArray]) -> IntArray:
    """The number of the smallest group that each page shares with another page."""
    group = -1 - np.arange(len(levels[0]))  # alone
    for level, number in enumerate(levels):
        shared = np.bincount(number)[number] > 1
        group = np.where(shared, number * len(levels) + level, group)
    return np.unique(group, return_inverse=True)[1]


def _first_match(texts: pa.Array, regex: str) -> pa.Array:
    return pc.replace_substring_regex(texts, pattern=regex, replacement=r"\1")


def _hashes(names: pa.Array) -> KeyArray:
    coded = names.dictionary_encode()
    hashes: KeyArray = keys(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
    return hashes
