"""The admin host of a living web: its time, its log of requests, and the truth."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from recrawl.errors import BadInput
from recrawl.lab.web.message import WebResponse
from recrawl.lab.web.responder import error_page

if TYPE_CHECKING:
    from recrawl.lab.web.clock import TraceClock
    from recrawl.lab.web.message import Request
    from recrawl.lab.web.request_log import RequestLog
    from recrawl.lab.web.truth import Truth

HOST = "recrawl.admin"


def respond(
    request: Request, clock: TraceClock, log: RequestLog, truth: Truth | None
) -> WebResponse:
    """The response of the admin host; without `truth`, /truth is forbidden."""
    parts = urlsplit(request.path)
    arguments = {name: values[0] for name, values in parse_qs(parts.query).items()}
    try:
        if parts.path == "/time":
            return _json(_time(clock, arguments.get("set")))
        if parts.path == "/log":
            lines = "".join(request.line() for request in log.last())
            return WebResponse(200, lines.encode(), "Content-Type: application/x-ndjson\r\n")
        if parts.path != "/truth":
            return error_page(404, "There are /time, /log and /truth?url=.")
        if truth is None:
            return error_page(403, "/truth is available only if the web is served with --truth.")
        return _json(truth.describe(arguments.get("url", ""), clock.now()))
    except BadInput as error:
        return error_page(400, str(error))


def _time(clock: TraceClock, new_time: str | None) -> dict[str, float | None]:
    if new_time is not None:
        try:
            at = float(new_time)
        except ValueError:
            at = math.nan
        clock.set(at)
    return {"now": clock.now(), "end": clock.end, "speed": clock.speed}


def _json(value: object) -> WebResponse:
    return WebResponse(
        200, (json.dumps(value) + "\n").encode(), "Content-Type: application/json\r\n"
    )
