"""Features of the links to a page, a function each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.neighbours.graph import in_links
from recrawl.papers.dang.feature import static

if TYPE_CHECKING:
    from recrawl.model import FloatArray
    from recrawl.papers.dang.crawls import Crawl


@static("SN")
def internal_in_links(crawl: Crawl) -> FloatArray:
    """Links to the page from its own host and scheme."""
    return in_links(crawl.target[crawl.inside], len(crawl.bytes))


@static("SN")
def external_in_links(crawl: Crawl) -> FloatArray:
    """Links to the page from elsewhere."""
    return in_links(crawl.target[~crawl.inside], len(crawl.bytes))


@static("SN")
def trust(crawl: Crawl) -> FloatArray:
    """TrustRank."""
    return crawl.trust


@static("SN")
def rank(crawl: Crawl) -> FloatArray:
    """PageRank; no model uses it, as it says the same as TrustRank (Dang et al. 2021, §6.1)."""
    return crawl.rank
