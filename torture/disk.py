"""A disk that fills up, or becomes read-only after an error, while an ingest or a crawl writes."""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from recrawl.model import DAY
from torture.journal import DAMAGE, Journal, add, examine, keep_journal, write_logs
from torture.pieces import Figures, Piece, Run, Skipped, need, need_root
from torture.processes import call, command, end, last_lines, living_web, start

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

ROUNDS = 60  #: a third with each of: full, nearly full from the start, read-only
DISK_BYTES = 48 << 20
MAX_LEFT_BYTES = 1 << 20  #: on a disk that is nearly full
FILES, ROWS = 8, 200
ERROR_WAIT_SECONDS = 60.0  #: for a crawl to notice


@dataclass
class LoopDisk:
    """A file system of its own in a file."""

    image: Path
    folder: Path

    def mount(self) -> None:
        _run("mount", "-o", "loop", self.image, self.folder)

    def repair(self) -> None:
        """As after a restart: what was read-only is checked and mounted again."""
        _run("umount", self.folder)
        subprocess.run(["e2fsck", "-p", str(self.image)], capture_output=True, check=False)
        self.mount()

    def fill(self, leave: int = 0) -> None:
        """Write a file until nothing is left but some bytes."""
        usage = os.statvfs(self.folder)
        with (self.folder / "ballast").open("ab", buffering=0) as file:
            left = usage.f_bavail * usage.f_frsize - leave
            try:
                while left > 0:
                    left -= file.write(bytes(min(left, 1 << 20)))
            except OSError:
                pass  # full

    def empty(self) -> None:
        (self.folder / "ballast").unlink(missing_ok=True)

    def refuse_writes(self) -> None:
        """What ext4 does after an error of the disk; files that are open cannot be written."""
        _run("mount", "-o", "remount,abort", self.folder)


def _run(*words: object) -> None:
    subprocess.run(list(map(str, words)), check=True, capture_output=True)


@contextmanager
def loop_disk(folder: Path) -> Iterator[LoopDisk]:
    disk = LoopDisk(folder / "image", folder / "disk")
    disk.folder.mkdir()
    with disk.image.open("wb") as file:
        file.truncate(DISK_BYTES)
    _run("mkfs.ext4", "-q", "-m", "0", disk.image)
    try:
        disk.mount()
    except subprocess.CalledProcessError as error:
        raise Skipped(f"it mounts a loop device, which failed: {error.stderr.decode()}") from error
    try:
        yield disk
    finally:
        subprocess.run(["umount", str(disk.folder)], check=False)


class Round:
    """One process, and what happens to its disk."""

    def __init__(self, run: Run, disk: LoopDisk, web: tuple[str, Path], number: int) -> None:
        self.disk = disk
        self.folder = run.empty_folder(f"round{number}")
        self.store = disk.folder / f"store{number}"
        self.journal = self.folder / "journal"  # on a disk that works
        self.log = self.folder / "log"
        self.is_crawl = number % 2 == 1
        self.kind = ("full", "nearly full", "read-only")[number // 2 % 3]
        logs = write_logs(self.folder / "logs", range(FILES), ROWS)
        proxy, seeds = web
        at = ("--seeds", seeds, "--proxy", proxy, "--simulated", "--policy", "poisson")
        crawl = ("crawl", self.store, *at, "--delay", "0s", "--budget", "200/day", "--every", "6h")
        self.words = crawl if self.is_crawl else ("ingest", self.store, *logs)

    def live(self, cycles: int | None = None) -> int:
        def work() -> None:
            keep_journal(self.journal)
            command(*self.words, *(("--cycles", cycles) if cycles and self.is_crawl else ()))

        return start(work, self.log)

    def torture(self, life: float, chance: random.Random) -> dict[str, int]:
        """Break the disk under a process, look, make it work again and go on."""
        if self.kind == "nearly full":
            self.disk.fill(leave=chance.randint(0, MAX_LEFT_BYTES))
        pid = self.live()
        time.sleep(chance.uniform(0, life))
        if self.kind == "read-only":
            self.disk.refuse_writes()
        else:
            self.disk.fill()
        found = self._ended(pid)
        self.disk.empty() if self.kind != "read-only" else self.disk.repair()
        add(found, call(partial(examine, self.store, Journal.read(self.journal)), self.log))
        code = end(self.live(cycles=1))
        found["did not work again"] = int(code != 0)
        if code:
            print(f"disk: {self.log}: {last_lines(self.log)}", flush=True)
        add(found, call(partial(examine, self.store, Journal.read(self.journal)), self.log))
        found["acknowledged visits"] = len(Journal.read(self.journal).acknowledged)
        return found

    def _ended(self, pid: int) -> dict[str, int]:
        """How the process ended: by itself, with an error that says why, or otherwise."""
        code = end(pid, ERROR_WAIT_SECONDS)
        text = self.log.read_text(errors="replace")
        is_clear = code == 1 and "recrawl: " in text and "Traceback" not in text
        if code != 0 and not is_clear:
            print(f"disk: {self.kind}: exit code {code}, {self.log}: {last_lines(self.log)}")
        return {
            "clear errors": int(is_clear),
            "ended before the disk failed": int(code == 0),
            "unclear errors": int(code not in (0, None) and not is_clear),
            "did not notice": int(code is None),
        }


def torture(run: Run) -> Figures:
    need_root()
    need("mount", "umount", "mkfs.ext4", "e2fsck")
    rounds, chance = run.n(ROUNDS, 6), run.chance()
    figures: Figures = {"rounds": 0, "acknowledged visits": 0, "clear errors": 0, **DAMAGE}
    web_log = run.empty_folder("web") / "web.log"
    with living_web(web_log, pages=80, days=2000, speed=DAY / 2) as web:
        life = _life(run, web)
        for number in range(rounds):
            with loop_disk(run.empty_folder("loop")) as disk:
                round_ = Round(run, disk, web, number)
                found = round_.torture(life, chance)
            add(figures, {"rounds": 1} | found)
            if (number + 1) % 6 == 0:
                run.say(number + 1, rounds, figures)
    return figures


def _life(run: Run, web: tuple[str, Path]) -> float:
    """Seconds that an ingest takes on a disk that works; a crawl fetches in about that time too."""
    with loop_disk(run.empty_folder("loop")) as disk:
        round_ = Round(run, disk, web, 0)
        began = time.monotonic()
        end(round_.live())
        return time.monotonic() - began


PIECE = Piece(
    "disk",
    torture,
    {**DAMAGE, "unclear errors": 0, "did not notice": 0, "did not work again": 0},
    {"clear errors": 1},
)
