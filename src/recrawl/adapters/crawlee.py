"""Crawlee: a loader that hands out the plan, and records what came back. See docs/scrapy.md."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any

from recrawl.adapters.journal import Journal, clock
from recrawl.page.responses import NO_ANSWER, Response
from recrawl.planner import DEFAULT_POLICY, plan
from recrawl.urls import canonical

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from crawlee import Request
    from crawlee.request_loaders import RequestManager, RequestManagerTandem

    from recrawl.history import Store
    from recrawl.model import Budget

_MOVED = 302  # Crawlee follows redirects by itself, and does not say of which kind they were


class PlanLoader:
    """Crawlee's RequestLoader over the pages of one plan, made when the first is asked for.

    It has the methods of that class and does not inherit from it, so that this module can be
    imported where Crawlee is not. A tandem calls a request handled when it hands it on, before it
    is fetched: so visits are recorded by `record` and `failed`, from Crawlee's own handlers.
    """

    def __init__(
        self, store: str | Path, budget: Budget | str | int, *, policy: str = DEFAULT_POLICY
    ) -> None:
        self.budget = budget
        self.policy = policy
        self._journal = Journal.join(store)
        self._due: deque[str] | None = None
        self._handed = self._handled = 0

    async def to_tandem(
        self, request_manager: RequestManager | None = None
    ) -> RequestManagerTandem:
        """What a crawler takes as its `request_manager`."""
        from crawlee.request_loaders import RequestManagerTandem
        from crawlee.storages import RequestQueue

        return RequestManagerTandem(self, request_manager or await RequestQueue.open())

    async def fetch_next_request(self) -> Request | None:
        from crawlee import Request

        due = await self._pages()
        if not due:
            return None
        url = due.popleft()
        self._handed += 1
        # A key of its own: a queue takes each key once, and this page was fetched before.
        return Request.from_url(url, unique_key=f"{url}#{clock():.0f}")

    async def mark_request_as_handled(self, request: Request) -> None:  # noqa: ARG002
        self._handled += 1

    async def is_empty(self) -> bool:
        return not await self._pages()

    async def is_finished(self) -> bool:
        return await self.is_empty() and self._handled >= self._handed

    async def get_handled_count(self) -> int:
        return self._handled

    async def get_total_count(self) -> int:
        return self._handed + len(await self._pages())

    async def record(self, context: Any) -> None:
        """For the request handler of an HTTP crawler: record the page it got, planned or new."""
        answer, request = context.http_response, context.request
        asked, found = canonical(request.url), canonical(request.loaded_url or request.url)
        if asked != found:
            self._journal.add(Response(asked, clock(), _MOVED))
        headers = {name.lower(): value for name, value in answer.headers.items()}
        headers.pop("content-encoding", None)  # Crawlee has undone it
        body = await answer.read()
        self._journal.add(Response(found, clock(), answer.status_code, headers, body))

    async def failed(self, context: Any, error: Exception) -> None:
        """For `failed_request_handler`: record a page that could not be had."""
        status = getattr(error, "status_code", NO_ANSWER)
        self._journal.add(Response(canonical(context.request.url), clock(), status))

    async def close(self) -> None:
        """Write what is held, and let others write."""
        await asyncio.to_thread(self._journal.leave)

    async def _pages(self) -> deque[str]:
        if self._due is None:
            self._due = deque(await asyncio.wrap_future(self._journal.ask(self._plan)))
        return self._due

    def _plan(self, store: Store) -> Sequence[str]:
        return plan(store, self.budget, now=clock(), policy=self.policy).urls()
