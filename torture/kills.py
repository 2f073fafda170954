"""SIGKILL at random moments of ingest, crawl, plan and search."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING

from recrawl.model import DAY
from torture.journal import DAMAGE, Journal, add, examine, keep_journal, write_log, write_logs
from torture.pieces import Figures, Piece, Run
from torture.processes import ChildFailed, call, command, end, kill, living_web, start

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KILLS = {"ingest": 400, "crawl": 300, "plan": 150, "search": 150}
KILLS_PER_STORE = 25  #: then an empty one, so that its creation is interrupted too
FILES, ROWS = 6, 200  #: of an ingest
SPEED = DAY / 2  #: of the living web
CYCLE = "6h"


class Victims:
    """Makes the work that is to be killed: one store after the other."""

    def __init__(self, run: Run, name: str, web: tuple[str, Path] | None) -> None:
        self.name = name
        self.web = web
        self.folder = run.empty_folder(name)
        self.log = self.folder / "log"
        self.number = 0
        self.n_stores = 0
        self.renew()

    def renew(self) -> None:
        """Go on with an empty store; plan and search get one with visits."""
        self.n_stores += 1
        self.store = self.folder / f"store{self.n_stores}"
        self.journal = self.folder / f"journal{self.n_stores}"
        if self.name in ("plan", "search"):
            call(self._ingest(4), self.log)

    def next(self) -> Callable[[], None]:
        """The work of the next process."""
        if self.name == "ingest":
            return self._ingest(FILES)
        if self.name == "crawl":
            return self._crawl()
        more = self.folder / "more.jsonl"
        self.number += 1
        write_log(more, self.number, ROWS)
        words = {
            "plan": ("plan", self.store, "--budget", 50, "--format", "urls"),
            "search": ("search", self.store, "version"),
        }
        return partial(self._after_ingest, more, words[self.name])

    def _ingest(self, n_files: int) -> Callable[[], None]:
        numbers = range(self.number, self.number + n_files)
        self.number += n_files
        logs = write_logs(self.folder / "logs", numbers, ROWS)
        return partial(self._journaled, "ingest", self.store, *logs)

    def _crawl(self) -> Callable[[], None]:
        assert self.web is not None
        proxy, seeds = self.web
        words = ("crawl", self.store, "--seeds", seeds, "--proxy", proxy, "--simulated")
        pace = ("--delay", "0s", "--budget", "200/day", "--every", CYCLE, "--policy", "poisson")
        return partial(self._journaled, *words, *pace)

    def _after_ingest(self, log: Path, words: tuple[object, ...]) -> None:
        """Something new, so that a model is fitted or an index updated."""
        keep_journal(self.journal)
        command("ingest", self.store, log)
        command(*words)

    def _journaled(self, *words: object) -> None:
        keep_journal(self.journal)
        command(*words)

    def examine(self) -> dict[str, int]:
        found = examine(self.store, Journal.read(self.journal))
        if self.name == "search":
            found["index not repaired"] = int(not _is_repaired(self.store))
        return found


def _is_repaired(store: Path) -> bool:
    """Whether one more update makes the index whole."""
    import recrawl
    from recrawl.search.index import SearchIndex

    index = SearchIndex(recrawl.open(store))
    index.update()
    return all(len(rows) == 0 for rows in index.outdated()) and len(index) == ROWS


def kill_often(run: Run, figures: Figures, name: str, n: int, victims: Victims) -> None:
    """Kill `n` processes, each at a random moment of its life, and look at the store each time."""
    chance = run.chance()
    life, kills = _life(victims), 0
    while kills < n:
        if kills % KILLS_PER_STORE == 0 and kills:
            victims.renew()
        pid = start(victims.next(), victims.log)
        time.sleep(chance.uniform(0, life))
        if not kill(pid):
            continue  # it had ended
        kills += 1
        try:
            found = call(victims.examine, victims.log)
        except ChildFailed as error:
            print(f"{name}: {error}")
            found = {"not opened": 1}
        add(figures, {"kills": 1, f"kills of {name}": 1} | found)
        if kills % max(n // 5, 5) == 0:
            run.say(kills, n, {"command": name} | found)
    add(figures, {"acknowledged visits": _acknowledged(victims)})


def _life(victims: Victims) -> float:
    """Seconds that a process takes, or for a crawl those until it has fetched a while."""
    if victims.name != "crawl" and end(start(victims.next(), victims.log)) != 0:
        raise ChildFailed(f"{victims.name} failed without being killed: {victims.log}")
    began = time.monotonic()  # of the second one: the first compiles the kernels
    pid = start(victims.next(), victims.log)
    if victims.name != "crawl":
        if end(pid) != 0:
            raise ChildFailed(f"{victims.name} failed without being killed: {victims.log}")
        return time.monotonic() - began
    while not victims.journal.exists() or not victims.journal.stat().st_size:
        time.sleep(0.01)
        if time.monotonic() - began > 120:
            raise ChildFailed(f"the crawl fetched nothing: {victims.log}")
    kill(pid)
    return 2 * (time.monotonic() - began)


def _acknowledged(victims: Victims) -> int:
    journals = victims.folder.glob("journal*")
    return sum(len(Journal.read(path).acknowledged) for path in journals)


def torture(run: Run) -> Figures:
    figures: Figures = {"kills": 0, "acknowledged visits": 0, **DAMAGE}
    with ExitStack() as stack:
        for name, n in KILLS.items():
            web = None
            if name == "crawl":
                log = run.empty_folder("web") / "web.log"
                web = stack.enter_context(living_web(log, pages=120, days=1000, speed=SPEED))
            kill_often(run, figures, name, run.n(n), Victims(run, name, web))
    return figures


PIECE = Piece("kills", torture, {**DAMAGE, "index not repaired": 0}, {"acknowledged visits": 1})
