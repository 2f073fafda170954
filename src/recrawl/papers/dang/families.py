"""The families of features of Dang et al. (2021), and the few features that do best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.papers.dang.feature import around, average, change_rate, lag
from recrawl.papers.dang.network import external_in_links, internal_in_links, trust
from recrawl.papers.dang.page_features import (
    content_size,
    domain_depth,
    external_links,
    internal_links,
    new_external,
    new_internal,
    new_links,
    path_depth,
    text_quality,
    text_size,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.papers.dang.feature import Feature

HISTORY = 8  #: intervals back
COUNTS = {"internal": new_internal, "external": new_external, "any": new_links}
BOTH = (new_internal, new_external)

SP = [
    content_size,
    text_size,
    text_quality,
    path_depth,
    domain_depth,
    internal_links,
    external_links,
]
IN = [internal_in_links, external_in_links, trust]
SN = [*IN, *map(around, [*SP, *IN])]


def dp(history: int = HISTORY, meaning: Sequence[Feature] = ()) -> list[Feature]:
    """The page in the past, and its new links, up to `history` intervals back.

    The authors' program lacks the past of the links and of what the page is about (`meaning`),
    which their text lists.
    """
    sizes = [content_size, text_size, text_quality, internal_links, external_links]
    changing = [*sizes, *meaning, *BOTH]
    lags = [lag(feature, back) for feature in changing for back in _backs(history)]
    return lags + [average(count, history) for count in BOTH if history]


def dn(history: int = HISTORY) -> list[Feature]:
    """The network in the past, and the new links of related pages.

    The change rates of those are included for any history, as in the paper.
    """
    lags = [lag(feature, back) for feature in IN for back in _backs(history)]
    counts = [around(lag(count, back)) for count in BOTH for back in _backs(history)]
    means = [around(average(count, history)) for count in BOTH if history]
    return lags + [around(change_rate(count)) for count in BOTH] + counts + means


def lbla(links: str, history: int = HISTORY) -> list[Feature]:
    """Look back, look around: only the new links of the page and of related pages."""
    count = COUNTS[links]
    own = [lag(count, back) for back in _backs(history)]
    own += [average(count, history)] if history else []
    return [*own, *map(around, own), around(change_rate(count))]


def lbla_rate(links: str) -> list[Feature]:
    """The same to predict how often a page shows new links; its own past would leak the target."""
    return [around(change_rate(COUNTS[links]))]


def _backs(history: int) -> range:
    return range(1, history + 1)
