"""Static features of a page by itself, and its new links, a function each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from recrawl.papers.dang.feature import counted, static

if TYPE_CHECKING:
    from recrawl.model import FloatArray
    from recrawl.papers.dang.crawls import Crawl, Interval


@static("SP")
def content_size(crawl: Crawl) -> FloatArray:
    """Bytes of the page."""
    return crawl.bytes


@static("SP")
def text_size(crawl: Crawl) -> FloatArray:
    """Bytes of its text."""
    return crawl.text_bytes


@static("SP")
def text_quality(crawl: Crawl) -> FloatArray:
    """How rich its words are: distinct ones by the root of all (Guiraud 1954)."""
    return crawl.distinct / np.sqrt(np.maximum(crawl.words, 1.0))


@static("SP")
def path_depth(crawl: Crawl) -> FloatArray:
    """Slashes of the path, but for one at the end: 3 for /en/news/a/."""
    path = pc.replace_substring_regex(crawl.urls, r"^[^/]*//[^/?#]*|/?(?:[?#].*)?$", "")
    return _numbers(pc.count_substring(path, "/"))


@static("SP")
def domain_depth(crawl: Crawl) -> FloatArray:
    """Labels of the host, www in front not counted."""
    host = pc.replace_substring_regex(crawl.urls, r"^[^/]*//(?:www\.)?([^/?#:]*).*$", r"\1")
    return _numbers(pc.count_substring(host, ".")) + 1.0


@static("SP")
def internal_links(crawl: Crawl) -> FloatArray:
    """Links on the page to its own host and scheme."""
    return crawl.internal


@static("SP")
def external_links(crawl: Crawl) -> FloatArray:
    """Links on the page to elsewhere."""
    return crawl.external


@counted
def new_internal(interval: Interval) -> FloatArray:
    """New links to its own host and scheme."""
    return interval.new_internal


@counted
def new_external(interval: Interval) -> FloatArray:
    """New links to elsewhere."""
    return interval.new_external


@counted
def new_links(interval: Interval) -> FloatArray:
    """New links of either kind."""
    return interval.new_internal + interval.new_external


def _numbers(column: object) -> FloatArray:
    return np.asarray(column, np.float64)
