"""What a Scrapy project asks for: its RECRAWL_* settings, and whether this run is a crawl."""

from __future__ import annotations

import logging
from difflib import get_close_matches
from typing import TYPE_CHECKING

from recrawl.errors import BadInput

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

SETTINGS = (
    "RECRAWL_STORE", "RECRAWL_BUDGET", "RECRAWL_EVERY", "RECRAWL_POLICY", "RECRAWL_CONDITIONAL",
)  # fmt: skip
_TALKATIVE = ("numba", "faiss")  # Scrapy shows every record, and theirs are thousands


def is_crawl(crawler: Crawler) -> bool:
    """Whether a spider crawls. `scrapy fetch`, `parse`, `check`, `bench` and `shell` only look.

    Each of these replaces the spider's `start`, except the shell, which never calls `crawl`.
    """
    start = getattr(crawler.spidercls, "start", None)
    by_command = getattr(start, "__module__", "").startswith("scrapy.commands.")
    return crawler.crawling and not by_command


def check_settings(settings: BaseSettings) -> None:
    """Refuse settings that would be ignored: misspelt ones, and RECRAWL_EVERY without a budget."""
    for name in settings:
        if name.startswith("RECRAWL_") and name not in SETTINGS:
            [near] = get_close_matches(name, SETTINGS, n=1, cutoff=0)
            raise BadInput(
                f"No setting is called {name}. Did you mean {near}? Known: {', '.join(SETTINGS)}."
            )
    if settings.get("RECRAWL_EVERY") and settings.get("RECRAWL_BUDGET") is None:
        raise BadInput(
            "RECRAWL_EVERY needs RECRAWL_BUDGET, the pages to revisit in that time. Got none; "
            "try 200 or 2%."
        )


def quieten_libraries() -> None:
    """Keep log records of libraries below a warning out of Scrapy's log, unless asked for."""
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
