"""How the spider asked for each page: a revisit asks in the same way.

Callback and errback are kept by name, `cb_kwargs` and `meta` as JSON, as a note about the page.
"""

from __future__ import annotations

import inspect
import json
import logging
import os
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotConfigured,
)

from recrawl.adapters.journal import clock
from recrawl.adapters.page_notes import MAX_CHARACTERS, Note
from recrawl.adapters.scrapy.observer import Observer, page_of
from recrawl.adapters.scrapy.project import is_crawl
from recrawl.page.responses import ROBOTS_FORBIDS, Response

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy.crawler import Crawler

META_KEY = "recrawl"  #: in the meta of a request of the plan; its value is (page, RUN)
RUN = f"{os.getpid()} {clock():.0f}"  #: differs in each process
_MAX_WARNINGS = 10
#: In the meta of a request, what Scrapy adds to it.
_OF_SCRAPY = {
    META_KEY, "is_start_request", "download_latency", "retry_times", "redirect_times",
    "redirect_ttl", "redirect_urls", "redirect_reasons", "cached_response", "cache_timestamp",
    "_dont_cache", "_auth_proxy", "_scheme_proxy",
}  # fmt: skip
#: And what middlewares and the plan may have set, in a retry or the request after a redirect.
_OF_MIDDLEWARES = {"proxy", "download_slot", "download_timeout", "dont_cache"}

#: What the store calls the failures that it tells apart.
_PROBLEMS = {DownloadTimeoutError: "timeout", CannotResolveHostError: "dns"}

_log = logging.getLogger(__name__)


class RememberRequests:
    """A downloader middleware that notes each request before other middlewares change it."""

    def __init__(self, crawler: Crawler) -> None:
        self._observer = Observer.from_crawler(crawler)
        self._memory = RequestMemory(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not is_crawl(crawler):
            raise NotConfigured
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        page = page_of(request)
        if page is None:
            return
        planned, run = request.meta.get(META_KEY, (None, None))
        if planned != page:  # spiders copy meta
            self._observer.notes[request] = self._memory.note(page, request)
        elif run != RUN:
            raise IgnoreRequest("JOBDIR kept it, of an earlier plan; this run has a new plan")

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Record a planned page that Scrapy refuses (robots.txt) as failed, or it stays due.

        Of other failures, which the observer has recorded, say why.
        """
        page = page_of(request)
        if page is None:
            return
        is_planned = request.meta.get(META_KEY) == (page, RUN)  # not a redirect target
        if is_planned and isinstance(exception, IgnoreRequest):
            refused = Response(page, clock(), skipped=True, problem=ROBOTS_FORBIDS)
            self._observer.journal.add(refused)
        for kind, problem in _PROBLEMS.items():
            if isinstance(exception, kind):
                self._observer.journal.failed(page, problem)


class RequestMemory:
    """Turns requests of a spider into notes, and notes into requests."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._names: dict[Callable[..., Any], str] = {}
        self._n_warnings = 0

    def note(self, page: str, request: Request) -> Note:
        """What to keep of a request. What cannot be kept is left out, with a warning."""
        is_again = not request.meta.keys().isdisjoint(("retry_times", "redirect_times"))
        omitted = _OF_SCRAPY | _OF_MIDDLEWARES if is_again else _OF_SCRAPY
        lost: list[str] = []
        asked = {
            "callback": self._name(request, "callback", lost),
            "errback": self._name(request, "errback", lost),
            "cb_kwargs": _plain("cb_kwargs", request.cb_kwargs, lost),
            "meta": _plain(
                "meta", {k: v for k, v in request.meta.items() if k not in omitted}, lost
            ),
        }
        text = json.dumps({name: value for name, value in asked.items() if value})
        if len(text) > MAX_CHARACTERS:
            lost += [f"cb_kwargs and meta: over {MAX_CHARACTERS:,} characters"]
            text = json.dumps({n: v for n, v in asked.items() if v and n.endswith("back")})
        if lost:
            self._warn("%s: a revisit will lack %s", page, "; ".join(lost))
        return Note(page, text, replaces=not is_again)

    def request(self, page: str, text: str) -> Request:
        """The request for a page that its note describes; to `parse` if the method is gone."""
        try:
            asked = dict(json.loads(text))
            return Request(
                page,
                callback=self._method(page, asked.get("callback")),
                errback=self._method(page, asked.get("errback")),
                cb_kwargs=dict(asked.get("cb_kwargs") or {}),
                meta=dict(asked.get("meta") or {}),
            )
        except (ValueError, TypeError, RecursionError):  # a damaged file, or somebody else's
            self._warn("%s: its note cannot be read; it goes to `parse`", page)
            return Request(page)

    def _method(self, page: str, name: str | None) -> Callable[..., Any] | None:
        if name is None:
            return None
        method = getattr(self._crawler.spider, name, None)
        if inspect.ismethod(method):
            return method
        self._warn("%s: the spider has no method %s any more", page, name)
        return None

    def _name(self, request: Request, role: str, lost: list[str]) -> str | None:
        """The spider's name for a method; None for no method, or for one that is not its own."""
        method = getattr(request, role)
        if method is None:
            return None
        function = getattr(method, "__func__", None)
        if function in self._names:
            return self._names[function]
        try:
            bare = Request(request.url, callback=method)
            name: str = bare.to_dict(spider=self._crawler.spider)["callback"]
        except ValueError:
            lost.append(f"{role}: {method!r} is not a method of the spider")
            return None
        assert function is not None  # or Scrapy would not have found it
        self._names[function] = name
        return name

    def _warn(self, message: str, *facts: object) -> None:
        self._crawler.stats.inc_value("recrawl/not_kept")
        self._n_warnings += 1
        if self._n_warnings <= _MAX_WARNINGS:
            _log.warning(message, *facts)
        if self._n_warnings == _MAX_WARNINGS:
            _log.warning("More such warnings are only counted, in the stat recrawl/not_kept")


def _plain(name: str, values: dict[str, Any], lost: list[str]) -> dict[str, Any]:
    """The values that JSON keeps as they are, tuples as lists."""
    if _is_plain(values):
        return values
    lost += [f"{name}[{key!r}]" for key, value in values.items() if not _is_plain({key: value})]
    return {key: value for key, value in values.items() if _is_plain({key: value})}


def _is_plain(values: dict[str, Any]) -> bool:
    try:
        kept = json.loads(json.dumps(values))
    except (TypeError, ValueError, RecursionError):
        return False
    return bool(kept == {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()})
