"""Clocks that jump: set back, set forward or suspended while a crawl runs."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from recrawl.crawl import CrawlClock, start_crawl
from recrawl.model import DAY
from torture.journal import DAMAGE, Journal, add, examine, keep_journal
from torture.pieces import Figures, Piece, Run
from torture.processes import call, end, is_running, kill, last_lines, living_web, start

if TYPE_CHECKING:
    import random
    from pathlib import Path

JUMPS = 200
JUMPS_PER_STORE = 20
SECONDS = 0.8  #: real ones between two jumps
MAX_SECONDS = 30.0  #: in which a crawl must go on after a jump
SPEED = DAY / 2
BEGIN = 1_767_225_600.0  #: 2026-01-01
#: Seconds by which a clock is set: leap seconds, time zones, a battery that was empty.
SIZES = (1.0, 60.0, 299.0, 3600.0, DAY, 3 * DAY, 40 * DAY)


#: The speed at which the time of a crawl may run while it is ahead of its clock: docs/crawling.md.
SPEED_AHEAD = 0.5


class JumpingClock(CrawlClock):
    """A clock that can be set while it runs; knows the latest time that a crawl may have by it.

    That is the latest time it ever said, or half of the time that really passed later.
    """

    def __init__(self, begin: float, speed: float) -> None:
        super().__init__(begin, speed)
        self.state: dict[str, float] = {"moved": 0.0, "limit": begin}
        self._unmoved = begin
        self._lock = threading.Lock()

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the class is frozen

    def now(self) -> float:
        with self._lock:
            unmoved = super().now()
            said, passed = unmoved + self.state["moved"], unmoved - self._unmoved
            self._unmoved = unmoved
            self.state["limit"] = max(said, self.state["limit"] + passed * SPEED_AHEAD)
        return said

    def move(self, seconds: float) -> None:
        self.state["moved"] += seconds


def crawl(store: Path, journal: Path, report: Path, web: tuple[str, Path], begin: float) -> None:
    """Crawl until killed; SIGUSR1 moves the clock as the file `report.move` says.

    A line of the report is the start or a cycle, with the latest time that it may have.
    """
    proxy, seeds = web
    clock = JumpingClock(begin, SPEED)
    keep_journal(journal, lambda: {"limit": clock.state["limit"]})

    def move(*_: object) -> None:
        clock.move(float(report.with_suffix(".move").read_text()))

    signal.signal(signal.SIGUSR1, move)
    out = os.open(report, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    with start_crawl(
        store, seeds.read_text().splitlines(), clock=clock, proxy=proxy, delay=0.0,
        budget="40", every=DAY / 4, policy="poisson", sitemaps=False,
    ) as made:  # fmt: skip
        for cycle in chain([None], made.run()):
            line = {"fetched": cycle.fetched if cycle else 0, **clock.state}
            os.write(out, (json.dumps(line) + "\n").encode())


class Crawl:
    """A crawl in a process of its own, whose clock we move."""

    def __init__(self, run: Run, web: tuple[str, Path], number: int) -> None:
        self.folder = run.empty_folder(f"store{number}")
        self.store, self.journal = self.folder / "store", self.folder / "journal"
        self.report, self.log = self.folder / "report", self.folder / "log"
        self.web = web
        self.pid = 0
        self.last_jump = ""
        self.begin(BEGIN)

    def begin(self, at: float) -> None:
        lines = len(self.lines())
        work = partial(crawl, self.store, self.journal, self.report, self.web, at)
        self.pid = start(work, self.log)
        self.wait_for(lines + 1)

    def lines(self) -> list[dict[str, Any]]:
        text = self.report.read_text() if self.report.exists() else ""
        return [json.loads(line) for line in text.split("\n")[:-1]]

    def wait_for(self, lines: int, seconds: float = MAX_SECONDS) -> bool:
        """Whether the report has this many lines in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if len(self.lines()) >= lines:
                return True
            if not self.is_alive():
                return False
            time.sleep(0.02)
        return False

    def is_alive(self) -> bool:
        return is_running(self.pid)

    def jump(self, chance: random.Random) -> str:
        """Set the clock back or forward, or suspend the process for a moment; says which."""
        kind = self.last_jump = chance.choice(("back", "forward", "suspended"))
        if kind == "suspended":
            os.kill(self.pid, signal.SIGSTOP)
            time.sleep(chance.uniform(0.1, 1.0))
            os.kill(self.pid, signal.SIGCONT)
        else:
            size = chance.choice(SIZES) * (-1 if kind == "back" else 1)
            self.last_jump = f"{kind} by {abs(size):,.0f} s"
            self.report.with_suffix(".move").write_text(str(size))
            os.kill(self.pid, signal.SIGUSR1)
        return kind

    def end(self) -> None:
        if self.pid:
            kill(self.pid)
        self.pid = 0

    def goes_on(self) -> dict[str, int]:
        """Wait for the next two cycles: the first may have begun before the jump."""
        before = len(self.lines())
        if self.wait_for(before + 2):
            return {"crawls that stopped": 0}
        alive = self.is_alive()
        self.end() if alive else end(self.pid)
        self.pid = 0
        why = "no cycle" if alive else last_lines(self.log, 1)
        print(f"clocks: {self.last_jump}: the crawl stopped: {why}", flush=True)
        latest = max((line["limit"] for line in self.lines()), default=BEGIN)
        self.begin(latest + DAY)
        return {"crawls that stopped": 1, "of these without a cycle": int(alive)}

    def examine(self) -> dict[str, int]:
        """The damage, and visits later than a crawl with this clock may have had by then."""
        found = examine(self.store, Journal.read(self.journal))
        return found | {"visits in the future": late_visits(self.journal.read_text())}


def late_visits(journal: str) -> int:
    """How many visits of a journal are later than the crawl may have had when it stored them."""
    late, begun = 0, list[Any]()
    for line in journal.split("\n")[:-1]:
        record = json.loads(line)
        begun = record.get("begin", begun)
        if "limit" in record:
            late += sum(at > record["limit"] * 1e6 + 1 for _, at in begun)
    return late


def torture(run: Run) -> Figures:
    jumps, chance = run.n(JUMPS, 6), run.chance()
    figures: Figures = {"jumps": 0, "acknowledged visits": 0, **DAMAGE, "visits in the future": 0}
    figures |= {"crawls that stopped": 0}
    web_log = run.empty_folder("web") / "web.log"
    with living_web(web_log, pages=150, days=400, speed=SPEED) as web:
        made = Crawl(run, web, 0)
        for number in range(1, jumps + 1):
            time.sleep(chance.uniform(0, SECONDS))
            add(figures, {"jumps": 1, f"jumps {made.jump(chance)}": 1} | made.goes_on())
            if number % JUMPS_PER_STORE == 0 or number == jumps:
                made.end()
                add(figures, call(made.examine, made.log))
                read = Journal.read(made.journal)
                add(figures, {"acknowledged visits": len(read.acknowledged)})
                run.say(number, jumps, figures)
                if number < jumps:
                    made = Crawl(run, web, number)
        made.end()
    return figures


PIECE = Piece(
    "clocks",
    torture,
    {**DAMAGE, "visits in the future": 0, "crawls that stopped": 0},
    {"acknowledged visits": 1},
)
