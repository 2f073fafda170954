"""Which pages does a Scrapy crawl fetch again? Those of the plan; the spider finds new ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.spidermiddlewares.httperror import HttpError

from recrawl import units
from recrawl.adapters.journal import clock
from recrawl.adapters.scrapy.observer import Observer, page_of
from recrawl.errors import BadInput
from recrawl.model import DAY
from recrawl.page.fingerprints import text_hash
from recrawl.page.responses import Response, conditional
from recrawl.planner import DEFAULT_POLICY, plan

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from concurrent.futures import Future

    from scrapy import http as scrapy_http
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from recrawl.history import Store
    from recrawl.model import Budget, KeyArray

META_KEY = "recrawl"  #: in the meta of a request; its value is the planned page


class DuePage(NamedTuple):
    """A page of the plan, with the headers of a conditional request."""

    url: str
    headers: dict[str, str]


class Revisits:
    """Turns the plan into requests, and drops the spider's own requests for known pages."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.journal = Observer.from_crawler(crawler).journal
        self.budget = _budget(crawler.settings)
        self.policy = crawler.settings.get("RECRAWL_POLICY", DEFAULT_POLICY)
        self.conditional = crawler.settings.getbool("RECRAWL_CONDITIONAL")
        self._known: KeyArray = np.empty(0, np.uint64)

    def open(self) -> list[DuePage]:
        """The first plan. From now on, requests for pages known at this time are dropped."""
        self._known = self.journal.run(_page_keys).result()
        return self.plan().result()

    def plan(self) -> Future[list[DuePage]]:
        """A plan as of now, best page first, made in the thread of the journal."""
        return self.journal.run(self._plan)

    def request(self, due: DuePage) -> Request:
        """The request for a page: from the spider's method `revisit`, or else to its `parse`."""
        spider = self.crawler.spider
        request: Request = getattr(spider, "revisit", Request)(due.url)
        request.dont_filter = True
        request.errback = request.errback or self.record_refused
        request.meta[META_KEY] = due.url
        for name, value in due.headers.items():
            request.headers.setdefault(name, value)
        return request

    def record_refused(self, failure: Failure) -> Failure:
        """Record a page that Scrapy refuses (robots.txt) as failed, or it stays due for ever."""
        request: Request = failure.request  # type: ignore[attr-defined]
        error = failure.value
        was_refused = isinstance(error, IgnoreRequest) and not isinstance(error, HttpError)
        if was_refused and page_of(request) == request.meta[META_KEY]:  # not a redirect target
            self.journal.add(Response(request.meta[META_KEY], clock(), skipped=True))
        return failure

    def is_wanted(self, request: Request, *, start: bool) -> bool:
        """Whether a request of the spider is sent: only for pages that are not known.

        Requests with `dont_filter` are always sent, except start requests, which all have it.
        """
        if request.dont_filter and not start:
            return True
        url = page_of(request)
        return url is None or not self._is_known(url)

    def _is_known(self, url: str) -> bool:
        key = np.uint64(text_hash(url))
        index = np.searchsorted(self._known, key)
        return bool(index < len(self._known) and self._known[index] == key)

    def _plan(self, store: Store) -> list[DuePage]:
        chosen = plan(store, self.budget, now=clock(), policy=self.policy)
        if not self.conditional:
            return [DuePage(url, {}) for url in chosen.urls()]
        headers = map(conditional, *store.validators(chosen.pages.page_id))
        return [DuePage(*pair) for pair in zip(chosen.urls(), headers, strict=True)]


class StartFromPlan(BaseSpiderMiddleware):
    """Batch: a run starts with the pages of the plan, and ends after them and the new pages."""

    def __init__(self, crawler: Crawler) -> None:
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


def _page_keys(store: Store) -> KeyArray:
    keys: KeyArray = store.query("SELECT key FROM pages ORDER BY key")["key"].to_numpy()
    return keys
