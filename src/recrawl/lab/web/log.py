"""Who asked for what, and when? So that tests can judge a crawler's politeness."""

from __future__ import annotations

import json
from collections import deque
from threading import Lock
from typing import IO, NamedTuple

KEPT = 200_000  #: requests; a file keeps them all


class Logged(NamedTuple):
    """One request. Status 0: the connection was closed without an answer."""

    real: float  #: seconds of a clock that only goes forward
    simulated: float
    host: str
    path: str
    status: int
    bytes: int  #: of the body sent

    def line(self) -> str:
        return json.dumps(self._asdict()) + "\n"


class Log:
    """The last requests, and all of them in a file if one is given."""

    def __init__(self, file: IO[str] | None = None) -> None:
        self._file = file
        self._last: deque[Logged] = deque(maxlen=KEPT)
        self._lock = Lock()  # tests read while the server writes
        self.count = 0

    def add(self, request: Logged) -> None:
        with self._lock:
            self._last.append(request)
            self.count += 1
        if self._file is not None:
            self._file.write(request.line())

    def last(self) -> list[Logged]:
        """Oldest first."""
        with self._lock:
            return list(self._last)
