"""What does the crawl fetch again? What the plan says; the spider's own links lead to new pages."""

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

MARK = "recrawl"  #: key of a request's meta that holds the planned page


class Due(NamedTuple):
    """A page of the plan, with what makes its request a conditional one."""

    url: str
    headers: dict[str, str]


class Revisits:
    """The plan as requests; and a gate that leaves known pages to the plan."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.journal = Observer.from_crawler(crawler).journal
        self.budget = _budget(crawler.settings)
        self.policy = crawler.settings.get("RECRAWL_POLICY", DEFAULT_POLICY)
        self.conditional = crawler.settings.getbool("RECRAWL_CONDITIONAL")
        self._known: KeyArray = np.empty(0, np.uint64)

    def open(self) -> list[Due]:
        """The first plan; from now on the gate is closed to pages known by now."""
        self._known = self.journal.ask(_known).result()
        return self.ask().result()

    def ask(self) -> Future[list[Due]]:
        """A plan as of then, best first."""
        return self.journal.ask(self._plan)

    def request(self, due: Due) -> Request:
        """How the spider asks for a page: by its method `revisit`, or else for its `parse`."""
        spider = self.crawler.spider
        request: Request = getattr(spider, "revisit", Request)(due.url)
        request.dont_filter = True
        request.errback = request.errback or self.refused
        request.meta[MARK] = due.url
        for name, value in due.headers.items():
            request.headers.setdefault(name, value)
        return request

    def refused(self, failure: Failure) -> Failure:
        """What Scrapy does not fetch (robots.txt) counts as failed: else it stays due for ever."""
        request: Request = failure.request  # type: ignore[attr-defined]
        error = failure.value
        unasked = isinstance(error, IgnoreRequest) and not isinstance(error, HttpError)
        if unasked and page_of(request) == request.meta[MARK]:  # not where it redirects to
            self.journal.add(Response(request.meta[MARK], clock(), skipped=True))
        return failure

    def wanted(self, request: Request, *, start: bool) -> bool:
        """The gate: what the spider asks for, be it a start request of its own or a link.

        What it asks for with `dont_filter` (as all start requests do) it has a reason to.
        """
        if request.dont_filter and not start:
            return True
        url = page_of(request)
        return url is None or not self._knows(url)

    def _knows(self, url: str) -> bool:
        key = np.uint64(text_hash(url))
        place = np.searchsorted(self._known, key)
        return bool(place < len(self._known) and self._known[place] == key)

    def _plan(self, store: Store) -> list[Due]:
        chosen = plan(store, self.budget, now=clock(), policy=self.policy)
        if not self.conditional:
            return [Due(url, {}) for url in chosen.urls()]
        told = map(conditional, *store.validators(chosen.pages.page_id))
        return [Due(url, headers) for url, headers in zip(chosen.urls(), told, strict=True)]


class StartFromPlan(BaseSpiderMiddleware):
    """Batch: a run begins with the pages of the plan, and ends when they and new pages are done."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.revisits = Revisits(crawler)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        for due in self.revisits.open():
            yield self.revisits.request(due)
        async for one in start:
            if not isinstance(one, Request) or self.revisits.wanted(one, start=True):
                yield one

    def get_processed_request(
        self,
        request: Request,
        response: scrapy_http.Response | None,  # noqa: ARG002
    ) -> Request | None:
        return request if self.revisits.wanted(request, start=False) else None


def _budget(settings: BaseSettings) -> Budget:
    given = settings.get("RECRAWL_BUDGET")
    if given is None:
        raise BadInput(
            "RECRAWL_BUDGET must say how many pages to revisit. Got none; try 200 or 2%."
        )
    every = settings.get("RECRAWL_EVERY")
    return replace(units.budget(given), every=units.duration(every) if every else DAY)


def _known(store: Store) -> KeyArray:
    keys: KeyArray = store.query("SELECT key FROM pages ORDER BY key")["key"].to_numpy()
    return keys
