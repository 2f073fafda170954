"""Sixty days in minutes: a crawl that is restarted every day, now and then by SIGKILL."""

from __future__ import annotations

import signal
import subprocess
import time
from functools import partial
from typing import TYPE_CHECKING

from recrawl.model import DAY
from torture.journal import DAMAGE, Journal, add, examine
from torture.pieces import Figures, Piece, Run
from torture.processes import call, last_lines, living_web, rss
from torture.victim import popen

if TYPE_CHECKING:
    from pathlib import Path

DAYS = 60
REAL_SECONDS = 12.0  #: of a day
KILLED = 0.3  #: share of the days that end with SIGKILL
CYCLES = 3  #: at least, in a day; a busy machine may need longer for them
MAX_SECONDS = 180.0  #: of a day
STOP_SECONDS = 60.0  #: in which a crawl that is asked to stop has to end
MAX_GROWTH = 1.25  #: of memory, from the first quarter of the days to the last


def torture(run: Run) -> Figures:
    days, chance = run.n(DAYS, 3), run.chance()
    folder = run.empty_folder("crawl")
    store, journal, log = folder / "store", folder / "journal", folder / "log"
    figures: Figures = {"days": 0, "kills": 0, "visits": 0, **DAMAGE}
    figures |= {"days without a fetch": 0, "errors": 0}
    memory: list[int] = []
    with living_web(folder / "web.log", pages=300, days=10 * DAYS, speed=DAY / REAL_SECONDS) as web:
        visits = 0
        for day in range(1, days + 1):
            killed = chance.random() < KILLED
            memory.append(live_a_day(store, journal, log, web, killed=killed, figures=figures))
            known = Journal.read(journal)
            found = call(partial(examine, store, known), log)
            found["days without a fetch"] = int(len(known.acknowledged) == visits)
            visits = len(known.acknowledged)
            found |= {"days": 1, "kills": int(killed), "visits": visits - int(figures["visits"])}
            # The damage of one day is still there the next day: the last count is the figure.
            add(figures, {name: found.pop(name) for name in list(found) if name not in DAMAGE})
            figures |= {name: max(int(figures[name]), found[name]) for name in found}
            run.say(day, days, {"MB": memory[-1] >> 20, **figures})
    quarter = max(len(memory) // 4, 1)
    first, last = sorted(memory[:quarter]), sorted(memory[-quarter:])
    middle = first[len(first) // 2], last[len(last) // 2]
    figures |= {"MB in the first days": middle[0] >> 20, "MB in the last days": middle[1] >> 20}
    figures["growth of memory"] = round(middle[1] / max(middle[0], 1), 2)
    return figures


def live_a_day(
    store: Path,
    journal: Path,
    log: Path,
    web: tuple[str, Path],
    *,
    killed: bool,
    figures: Figures,
) -> int:
    """Crawl for a day and end the crawl; the bytes of memory that it used at the end."""
    proxy, seeds = web
    at = ("--seeds", seeds, "--proxy", proxy, "--simulated", "--delay", "0s")
    process = popen(
        journal, "crawl", store, *at, "--budget", "400/day", "--every", "6h", "--policy", "poisson",
        log=log,
    )  # fmt: skip
    began, before = time.monotonic(), _n_cycles(log)
    while process.poll() is None and (passed := time.monotonic() - began) < MAX_SECONDS:
        if passed > REAL_SECONDS and _n_cycles(log) >= before + CYCLES:
            break
        time.sleep(0.1)
    used = rss(process.pid)
    if process.poll() is not None:
        print(f"soak: the crawl ended by itself: {last_lines(log)}", flush=True)
        add(figures, {"errors": 1})
        return used
    process.send_signal(signal.SIGKILL if killed else signal.SIGTERM)
    try:
        code = process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
        killed = False
    if code != (-signal.SIGKILL if killed else 0):
        print(f"soak: exit code {code}: {last_lines(log)}", flush=True)
        add(figures, {"errors": 1})
    return used


def _n_cycles(log: Path) -> int:
    return log.read_bytes().count(b'{"cycle": ') if log.exists() else 0


PIECE = Piece(
    "soak",
    torture,
    {**DAMAGE, "days without a fetch": 0, "errors": 0, "growth of memory": MAX_GROWTH},
    {"visits": 1},
)
