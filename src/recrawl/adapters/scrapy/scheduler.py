"""A Scrapy scheduler for crawls that never end: it plans the revisits of each cycle."""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler as ScrapyScheduler

from recrawl.adapters.scrapy.observer import page_of
from recrawl.adapters.scrapy.project import is_crawl
from recrawl.adapters.scrapy.revisits import Revisits
from recrawl.errors import RecrawlError

if TYPE_CHECKING:
    from concurrent.futures import Future

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from recrawl.adapters.scrapy.revisits import DuePage

_log = logging.getLogger(__name__)


class Scheduler(ScrapyScheduler):
    """Continuous: RECRAWL_BUDGET revisits in every RECRAWL_EVERY, by default a day.

    New pages go through Scrapy's own queues and duplicate filter. Revisits go first, since the
    budget limits them. Each cycle has a new plan; it replaces what the last one left over.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        assert self.crawler is not None
        self.revisits = Revisits(self.crawler)
        self._due: deque[DuePage] = deque()
        self._plan: Future[list[DuePage]] | None = None
        self._planned_at = 0.0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> ScrapyScheduler:  # type: ignore[override]
        """A scheduler of this class for a crawl; Scrapy's own for commands that do not crawl."""
        if is_crawl(crawler):
            return super().from_crawler(crawler)
        return ScrapyScheduler.from_crawler(crawler)

    def open(self, spider: Spider) -> Deferred[None] | None:
        opened = super().open(spider)
        self._due.extend(self.revisits.open())
        self._planned_at = time.monotonic()
        return opened

    def has_pending_requests(self) -> bool:
        """Always true: the spider waits for the next cycle. CLOSESPIDER_* or a signal ends it."""
        return True

    def enqueue_request(self, request: Request) -> bool:
        start = bool(request.meta.get("is_start_request"))
        return self.revisits.is_wanted(request, start=start) and super().enqueue_request(request)

    def next_request(self) -> Request | None:
        """Never waits: while a plan is made, the last one is used."""
        self._replan()
        return self.revisits.request(self._due.popleft()) if self._due else super().next_request()

    def _replan(self) -> None:
        now = time.monotonic()
        if self._plan is None:
            if now - self._planned_at >= self.revisits.budget.every:
                self._plan, self._planned_at = self.revisits.plan(), now
        elif self._plan.done():
            try:
                self._due = deque(self._without_active(self._plan.result()))
            except RecrawlError:
                _log.exception("No plan for this cycle; the next cycle tries again")
            self._plan = None

    def _without_active(self, due: list[DuePage]) -> list[DuePage]:
        """Without pages in flight, which the plan still takes for unvisited."""
        assert self.crawler is not None
        assert self.crawler.engine is not None
        active = {page_of(request) for request in self.crawler.engine.downloader.active}
        return [page for page in due if page.url not in active]
