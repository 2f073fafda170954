"""The loop on the live web: discover, plan, fetch, record and wait, for weeks."""

from recrawl.crawl.clock import CrawlClock
from recrawl.crawl.loop import CycleResult, LiveCrawl
from recrawl.crawl.pace import Pace
from recrawl.crawl.scope import Scope
from recrawl.crawl.start import crawl, start_crawl

__all__ = ["CrawlClock", "CycleResult", "LiveCrawl", "Pace", "Scope", "crawl", "start_crawl"]
