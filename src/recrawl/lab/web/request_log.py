"""Which requests came when? With it tests can check the politeness of a crawler."""

from __future__ import annotations

import json
from collections import deque
from threading import Lock
from typing import IO, NamedTuple

MAX_REQUESTS_KEPT = 200_000  #: in memory; a file keeps them all


class LoggedRequest(NamedTuple):
    """One request. Status 0: the connection was closed without a response."""

    real: float  #: seconds of a monotonic clock
    simulated: float
    host: str
    path: str
    status: int
    bytes: int  #: size of the body

    def line(self) -> str:
        return json.dumps(self._asdict()) + "\n"


class RequestLog:
    """The last requests, and all of them in a file if one is given."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self._file = file
        self._last: deque[LoggedRequest] = deque(maxlen=MAX_REQUESTS_KEPT)
        self._lock = Lock()  # tests read while the server writes
        self.count = 0

    def add(self, request: LoggedRequest) -> None:
        with self._lock:
            self._last.append(request)
            self.count += 1
        if self._file is not None:
            self._file.write(request.line())

    def last(self) -> list[LoggedRequest]:
        """Oldest first."""
        with self._lock:
            return list(self._last)
