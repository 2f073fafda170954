"""Crawlee: a request loader over a plan, which also records the visits. See docs/scrapy.md."""

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

_REDIRECT = 302  # Crawlee follows redirects itself and does not report their status


class PlanLoader:
    """A RequestLoader of Crawlee over the pages of one plan, which is made on the first request.

    It has the methods of that class but does not inherit from it, so this module can be imported
    without Crawlee. A tandem marks a request as handled before it is fetched, so visits are
    recorded by `record` and `failed`, which Crawlee's own handlers call.
    """

    def __init__(
        self, store: str | Path, budget: Budget | str | int, *, policy: str = DEFAULT_POLICY
    ) -> None:
        self.budget = budget
        self.policy = policy
        self._journal = Journal.join(store)
        self._due: deque[str] | None = None
        self._n_given = self._n_handled = 0

    async def to_tandem(
        self, request_manager: RequestManager | None = None
    ) -> RequestManagerTandem:
        """The `request_manager` for a crawler."""
        from crawlee.request_loaders import RequestManagerTandem
        from crawlee.storages import RequestQueue

        return RequestManagerTandem(self, request_manager or await RequestQueue.open())

    async def fetch_next_request(self) -> Request | None:
        from crawlee import Request

        due = await self._pages()
        if not due:
            return None
        url = due.popleft()
        self._n_given += 1
        # A new key each time: a queue accepts each key once, and this page was fetched before.
        return Request.from_url(url, unique_key=f"{url}#{clock():.0f}")

    async def mark_request_as_handled(self, request: Request) -> None:  # noqa: ARG002
        self._n_handled += 1

    async def is_empty(self) -> bool:
        return not await self._pages()

    async def is_finished(self) -> bool:
        return await self.is_empty() and self._n_handled >= self._n_given

    async def get_handled_count(self) -> int:
        return self._n_handled

    async def get_total_count(self) -> int:
        return self._n_given + len(await self._pages())

    async def record(self, context: Any) -> None:
        """Record the page that the request handler of an HTTP crawler got, planned or new."""
        response, request = context.http_response, context.request
        requested, url = canonical(request.url), canonical(request.loaded_url or request.url)
        if requested != url:
            self._journal.add(Response(requested, clock(), _REDIRECT))
        headers = {name.lower(): value for name, value in response.headers.items()}
        headers.pop("content-encoding", None)  # Crawlee has undone it
        body = await response.read()
        self._journal.add(Response(url, clock(), response.status_code, headers, body))

    async def failed(self, context: Any, error: Exception) -> None:
        """Record a page that could not be fetched; for `failed_request_handler`."""
        status = getattr(error, "status_code", NO_ANSWER)
        self._journal.add(Response(canonical(context.request.url), clock(), status))

    async def close(self) -> None:
        """Write the remaining visits and release the store."""
        await asyncio.to_thread(self._journal.leave)

    async def _pages(self) -> deque[str]:
        if self._due is None:
            self._due = deque(await asyncio.wrap_future(self._journal.run(self._plan)))
        return self._due

    def _plan(self, store: Store) -> Sequence[str]:
        return plan(store, self.budget, now=clock(), policy=self.policy).urls()
