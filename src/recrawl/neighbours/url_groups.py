"""Which pages are likely to change together? Those whose URLs are alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from recrawl.urls import keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import IntArray, KeyArray

#: From the widest to the narrowest; the first four nest.
LEVELS = ("all pages", "host", "section", "directory", "pattern")
NESTED = 4
ALONE = -1  #: the group of a page that shares its own with nobody

_HOST = r"^([^/]*//[^/?#]*).*$"
_DIRECTORY = r"^([^/]*//[^/?#]*(?:/[^/?#]*)*?/?)[^/?#]*/?(?:[?#].*)?$"
_SECTION = r"^([^/]*//[^/?#]*(?:/[^/?#]+)?).*$"  # of a directory
_SHAPE = r"^(?P<host>[^/]*//[^/?#]*)(?P<way>(?:/[^/?#]*)*?)/?(?P<last>[^/?#]*)/?(?:[?#].*)?$"


def names(urls: Sequence[str]) -> KeyArray:
    """What the groups of each page are called: a row a level, a column a page, hashes.

    The directory of `/a/b` and of `/a/b/` is `/a/`, its section `/a`.
    """
    said = pa.array(urls, pa.string())
    directory = _begin(said, _DIRECTORY)
    found = [_begin(said, _HOST), _begin(directory, _SECTION), directory, pattern(said)]
    return np.stack([np.zeros(len(said), np.uint64), *map(_hashes, found)])


def pattern(urls: pa.StringArray) -> pa.StringArray:
    """The shape of a URL: host, number of segments, and the last of them without digits.

    >>> pattern(pa.array(["https://a.org/x/7/read2me/", "https://a.org/y/12/readme"])).to_pylist()
    ['https://a.org////readme', 'https://a.org////readme']
    """
    part = pc.extract_regex(urls, _SHAPE)
    host, way, last = (pc.struct_field(part, name) for name in ("host", "way", "last"))
    depth = pc.replace_substring_regex(way, pattern="[^/]+", replacement="")
    plain = pc.replace_substring_regex(last, pattern="[0-9]+", replacement="")
    found = pc.binary_join_element_wise(host, depth, plain, "/")
    return pc.if_else(pc.is_valid(part), found, urls)


def numbers(names: KeyArray) -> tuple[IntArray, KeyArray]:
    """Of each name the number of its group, a row a level; and what each number is called.

    A page that shares a name with no other is alone at that level: -1.
    """
    found, called, first = [], [], 0
    for level, name in enumerate(names):
        each, which, size = np.unique(name, return_inverse=True, return_counts=True)
        shared = size > 1
        number = np.where(shared, first + np.cumsum(shared) - 1, ALONE)
        found.append(number[which].astype(np.int32))
        called.append(each[shared] ^ np.uint64(level))
        first += int(shared.sum())
    return np.stack(found), np.concatenate(called)


def _begin(names: pa.Array, begins: str) -> pa.Array:
    return pc.replace_substring_regex(names, pattern=begins, replacement=r"\1")


def _hashes(names: pa.Array) -> KeyArray:
    coded = names.dictionary_encode()
    found: KeyArray = keys(coded.dictionary.to_pylist())[coded.indices.to_numpy()]
    return found
