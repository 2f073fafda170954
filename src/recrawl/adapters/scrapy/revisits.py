"""Which pages does a Scrapy crawl fetch again? Those of the plan; the spider finds new ones."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scrapy import Request
from scrapy.exceptions import NotConfigured
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.misc import load_object

from recrawl import registry, units
from recrawl.adapters.journal import clock
from recrawl.adapters.scrapy.memory import META_KEY, RUN, RememberRequests, RequestMemory
from recrawl.adapters.scrapy.observer import Observer, page_of
from recrawl.adapters.scrapy.project import is_crawl
from recrawl.errors import BadInput
from recrawl.model import DAY
from recrawl.page.fingerprints import text_hash
from recrawl.page.responses import conditional

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable
    from concurrent.futures import Future

    from scrapy import http as scrapy_http
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from recrawl.history import Store
    from recrawl.model import Budget, KeyArray


class DuePage(NamedTuple):
    """A page of the plan."""

    url: str
    headers: dict[str, str]  #: of a conditional request
    note: str | None  #: how the spider asked for it


class Revisits:
    """Turns the plan into requests, and drops the spider's own requests for known pages."""

    def __init__(self, crawler: Crawler) -> None:
        _require_memory(crawler.settings)
        self.crawler = crawler
        self.journal = Observer.from_crawler(crawler).journal
        self.budget = _budget(crawler.settings)
        self.policy = crawler.settings.get("RECRAWL_POLICY")  #: None: the default of `plan`
        if self.policy is not None:
            registry.make("policy", self.policy)  # a wrong name is refused now
        self.conditional = crawler.settings.getbool("RECRAWL_CONDITIONAL")
        self._memory = RequestMemory(crawler)
        self._known: KeyArray = np.empty(0, np.uint64)

    def open(self) -> list[DuePage]:
        """The first plan. From now on, requests for pages known at this time are dropped."""
        self._known = self.journal.run(_page_keys).result()
        return self.plan().result()

    def plan(self) -> Future[list[DuePage]]:
        """A plan as of now, best page first, made in the thread of the journal."""
        return self.journal.run(self._plan)

    def request(self, due: DuePage) -> Request:
        """The request for a page: of the spider's `revisit`, or else as it asked before."""
        revisit = getattr(self.crawler.spider, "revisit", None)
        if revisit is not None:
            request: Request = revisit(due.url)
        elif due.note is not None:
            request = self._memory.request(due.url, due.note)
        else:
            request = Request(due.url)
        self.crawler.stats.inc_value("recrawl/revisited")
        request.dont_filter = True
        request.meta["dont_cache"] = True  # a response from the HTTP cache is no visit
        request.meta[META_KEY] = (due.url, RUN)
        for name, value in due.headers.items():
            request.headers.setdefault(name, value)
        return request

    def is_wanted(self, request: Request, *, start: bool) -> bool:
        """Whether a request of the spider is sent: only for pages that are not known.

        Requests with `dont_filter` are always sent, except start requests, which all have it.
        """
        if request.dont_filter and not start:
            return True
        url = page_of(request)
        if url is None or not self._is_known(url):
            return True
        self.crawler.stats.inc_value("recrawl/dropped_known")
        return False

    def _is_known(self, url: str) -> bool:
        key = np.uint64(text_hash(url))
        index = np.searchsorted(self._known, key)
        return bool(index < len(self._known) and self._known[index] == key)

    def _plan(self, store: Store) -> list[DuePage]:
        from recrawl.planner import plan  # a crawl that only observes need not load it

        begin = time.monotonic()
        chosen = plan(store, self.budget, now=clock(), policy=self.policy)
        urls = chosen.urls()
        headers: Iterable[dict[str, str]] = repeat({}, len(urls))
        if self.conditional:
            headers = map(conditional, *store.validators(chosen.pages.page_id))
        notes = self.journal.notes.read(urls)
        due = [DuePage(*facts) for facts in zip(urls, headers, notes, strict=True)]
        stats = self.crawler.stats
        stats.inc_value("recrawl/planned", len(due))
        took = stats.get_value("recrawl/plan_seconds") + time.monotonic() - begin
        stats.set_value("recrawl/plan_seconds", round(took, 3))
        return due


class StartFromPlan(BaseSpiderMiddleware):
    """Batch: a run starts with the pages of the plan, and ends after them and the new pages."""

    def __init__(self, crawler: Crawler) -> None:
        if not is_crawl(crawler):
            raise NotConfigured
        super().__init__(crawler)
        self.revisits = Revisits(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        for due in self.revisits.open():
            yield self.revisits.request(due)
        async for item in start:
            if not isinstance(item, Request) or self.revisits.is_wanted(item, start=True):
                yield item

    def get_processed_request(
        self,
        request: Request,
        response: scrapy_http.Response | None,  # noqa: ARG002
    ) -> Request | None:
        return request if self.revisits.is_wanted(request, start=False) else None


def _budget(settings: BaseSettings) -> Budget:
    budget = settings.get("RECRAWL_BUDGET")
    if budget is None:
        raise BadInput(
            "RECRAWL_BUDGET must say how many pages to revisit. Got none; try 200 or 2%."
        )
    every = settings.get("RECRAWL_EVERY")
    return replace(units.budget(budget), every=units.duration(every) if every else DAY)


def _require_memory(settings: BaseSettings) -> None:
    named = settings.getwithbase("DOWNLOADER_MIDDLEWARES")
    if RememberRequests not in map(load_object, named):
        raise BadInput(
            "Revisits need recrawl.adapters.scrapy.RememberRequests in DOWNLOADER_MIDDLEWARES. "
            'Got none; use ADDONS = {"recrawl.adapters.scrapy.Addon": 300}, which adds it.'
        )


def _page_keys(store: Store) -> KeyArray:
    keys: KeyArray = store.query("SELECT key FROM pages ORDER BY key")["key"].to_numpy()
    return keys
