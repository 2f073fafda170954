"""The loop on the live web: discover, plan, fetch, record, and again, for weeks."""

from recrawl.crawl.begin import begin
from recrawl.crawl.clock import Clock
from recrawl.crawl.loop import Crawl, Cycled
from recrawl.crawl.pace import Pace
from recrawl.crawl.scope import Scope

__all__ = ["Clock", "Crawl", "Cycled", "Pace", "Scope", "begin"]
