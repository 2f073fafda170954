"""What hosts asked for, on disk: pauses, failures and robots.txt are obeyed after a restart too.

The file has one JSON object a line; the last line about a host or an origin counts. Lines are added
as things happen, and the file is written again, whole, when it is opened or has grown too large.
Pauses are kept as times of the wall clock, since they are real seconds; a robots.txt expires by the
engine's clock.
"""

from __future__ import annotations

import json
import logging
import math
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from recrawl.fetch import robots
from recrawl.fetch.result import MAX_PAUSE_SECONDS
from recrawl.fetch.robots import RobotsRules
from recrawl.files import DAMAGED, sync, whole_file
from recrawl.urls import resolve_links

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MAX_FILE_BYTES = 64_000_000  #: a larger file is ignored
MAX_ADDED_BYTES = 16_000_000  #: then the file is written again
MAX_KEPT_CHARACTERS = 32_000  #: of a robots.txt; a longer one is requested again after a restart
MAX_KEPT_HOSTS = 20_000  #: and as many robots.txt; the last ones count
MAX_KEPT_BYTES = 32_000_000  #: of the file when it is written whole; it holds the last lines
_MAX_FAILURES = 100
_MAX_LINE_BYTES = 10 * MAX_KEPT_CHARACTERS

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class KnownHosts:
    """What is known of hosts. Pauses are seconds from now."""

    hosts: Mapping[str, tuple[float, int]] = field(default_factory=dict)  #: pause and failures
    robots: Mapping[str, RobotsRules] = field(default_factory=dict)  #: by origin


class HostFile:
    """The file of what hosts asked for. It never raises: an error costs a log line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._added: float = math.inf  # bytes since the file was written whole; inf: it was not

    @property
    def is_due(self) -> bool:
        """Whether the next `add` must have all that is known, not only what is new."""
        return self._added > MAX_ADDED_BYTES

    def read(self, *, now: float, wall: float) -> KnownHosts:
        """What the file says and still holds. `now` is by the engine's clock, `wall` by the wall's.

        No pause is longer than MAX_PAUSE_SECONDS, and no robots.txt is kept for longer than a new
        one, whatever the file says.
        """
        hosts: OrderedDict[str, tuple[float, int]] = OrderedDict()
        rules: OrderedDict[str, RobotsRules] = OrderedDict()
        bad = 0
        for line in self._lines():
            try:
                _take(_record(line), hosts, rules, now=now, wall=wall)
            except DAMAGED:
                bad += 1
        if bad:
            _log.warning("%s: %d lines cannot be read and are ignored.", self._path, bad)
        return KnownHosts(
            {name: known for name, known in hosts.items() if any(known)},
            {origin: known for origin, known in rules.items() if known.until > now},
        )

    def _lines(self) -> list[bytes]:
        try:
            with self._path.open("rb") as file:
                text = file.read(MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            return []
        except OSError as error:
            _log.warning("%s cannot be read and is ignored: %s.", self._path, error)
            return []
        if len(text) > MAX_FILE_BYTES:
            _log.warning("%s is too large and is ignored.", self._path)
            return []
        return [line for line in text.split(b"\n") if line]

    def add(self, known: KnownHosts, *, wall: float) -> None:
        """Add lines for what is known; they are on disk when this returns.

        If the file `is_due`, they take the place of all that is in it.
        """
        try:
            if self._path.is_symlink():
                raise OSError("it is a symbolic link; remove it")  # noqa: TRY301
            if self.is_due:
                lines = _last([*_robots_lines(known), *_host_lines(known, wall)])
                with whole_file(self._path) as file:
                    file.writelines(lines)
                self._added = 0
            else:
                lines = [*_robots_lines(known), *_host_lines(known, wall)]
                with self._path.open("ab") as file:
                    file.writelines(lines)
                    sync(file)
                self._added += sum(map(len, lines))
        except OSError as error:
            self._added = math.inf  # the last line may be cut: the next time all is written again
            _log.warning("What hosts asked for cannot be kept in %s: %s.", self._path, error)


def _take(
    record: Any,
    hosts: OrderedDict[str, tuple[float, int]],
    rules: OrderedDict[str, RobotsRules],
    *,
    now: float,
    wall: float,
) -> None:
    """Note what one line says. Raises one of DAMAGED if it is not a line of ours."""
    if "host" in record:
        pause = min(_number(record["due"]) - wall, MAX_PAUSE_SECONDS)
        failures = min(int(_number(record["failures"])), _MAX_FAILURES)
        _keep_last(hosts, _text(record["host"]), (max(pause, 0.0), max(failures, 0)))
        return
    origin = _text(record["origin"])
    sitemaps = resolve_links([_text(url) for url in record["sitemaps"]], origin + "/")
    read = RobotsRules(
        until=min(_number(record["until"]), now + robots.CACHE_SECONDS),
        text=_text(record["text"]),
        reachable=record["reachable"] is True,
        delay=min(max(_number(record["delay"]), 0.0), robots.MAX_DELAY_SECONDS),
        sitemaps=[url for url in sitemaps if url],
    )
    _keep_last(rules, origin, read)


def _record(line: bytes) -> Any:
    if len(line) > _MAX_LINE_BYTES:
        raise ValueError("too long")
    return json.loads(line)


def _keep_last(known: OrderedDict[str, T], name: str, value: T) -> None:
    """Put a value last, and drop the first one if there are too many."""
    known[name] = value
    known.move_to_end(name)
    if len(known) > MAX_KEPT_HOSTS:
        known.popitem(last=False)


def _host_lines(known: KnownHosts, wall: float) -> Iterable[bytes]:
    for name, (pause, failures) in known.hosts.items():
        yield _line({"host": name, "due": round(wall + pause, 3), "failures": failures})


def _robots_lines(known: KnownHosts) -> Iterable[bytes]:
    for origin, rules in known.robots.items():
        size = len(rules.text) + sum(map(len, rules.sitemaps))
        if size <= MAX_KEPT_CHARACTERS:
            yield _line(
                {
                    "origin": origin,
                    "until": rules.until,
                    "reachable": rules.reachable,
                    "delay": rules.delay,
                    "sitemaps": rules.sitemaps,
                    "text": rules.text,
                }
            )


def _last(lines: list[bytes]) -> list[bytes]:
    """The last lines, up to MAX_KEPT_BYTES."""
    size = 0
    for i in range(len(lines) - 1, -1, -1):
        size += len(lines[i])
        if size > MAX_KEPT_BYTES:
            return lines[i + 1 :]
    return lines


def _line(record: dict[str, object]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("not a number")
    return float(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")  # noqa: TRY004
    return value
