"""What does the web tell of itself? Its time, the truth, and who asked for what."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from recrawl.errors import BadInput
from recrawl.lab.web.answers import problem
from recrawl.lab.web.message import Answer

if TYPE_CHECKING:
    from recrawl.lab.web.clock import Clock
    from recrawl.lab.web.log import Log
    from recrawl.lab.web.message import Request
    from recrawl.lab.web.truth import Truth

HOST = "recrawl.admin"


def answer(request: Request, clock: Clock, log: Log, truth: Truth | None) -> Answer:
    """The answer of the admin host; no truth: it is not told."""
    parts = urlsplit(request.path)
    words = {name: values[0] for name, values in parse_qs(parts.query).items()}
    try:
        if parts.path == "/time":
            return _json(_time(clock, words.get("set")))
        if parts.path == "/log":
            lines = "".join(request.line() for request in log.last())
            return Answer(200, lines.encode(), "Content-Type: application/x-ndjson\r\n")
        if parts.path != "/truth":
            return problem(404, "There are /time, /log and /truth?url=.")
        if truth is None:
            return problem(403, "The truth is told only where the web is served with --truth.")
        return _json(truth.say(words.get("url", ""), clock.now()))
    except BadInput as error:
        return problem(400, str(error))


def _time(clock: Clock, put_to: str | None) -> dict[str, float | None]:
    if put_to is not None:
        try:
            at = float(put_to)
        except ValueError:
            at = math.nan
        clock.set(at)
    return {"now": clock.now(), "end": clock.end, "speed": clock.speed}


def _json(value: object) -> Answer:
    return Answer(200, (json.dumps(value) + "\n").encode(), "Content-Type: application/json\r\n")
