"""Crawls a living web in forks of this process and kills each at a random moment.

Prints what the store holds in the end: `killed_crawl.py STORE TRACE`.
"""

from __future__ import annotations

import json
import os
import random
import select
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import recrawl
from recrawl.crawl import start_crawl
from recrawl.lab.traces import open_trace
from recrawl.lab.web import serve
from recrawl.model import DAY
from recrawl.page.responses import Response, to_visits

KILLS = 30
SPEED = DAY / 2


def crawl(store: Path, proxy: str, seeds: list[str], report: int) -> None:
    """Crawl until killed; report each batch that is on disk, one line per batch."""
    with recrawl.open(store, create=True) as opened:
        original_append = opened.append

        def append(visits, *, now=None):
            result = original_append(visits, now=now)
            made = visits.filter(visits["at"].is_valid()) if "at" in visits.column_names else []
            if len(made):
                pairs = zip(made["url"].to_pylist(), made["at"].to_pylist(), strict=True)
                keys = [[url, at.timestamp()] for url, at in pairs]
                os.write(report, (json.dumps(keys) + "\n").encode())
            return result

        opened.append = append
        with start_crawl(
            opened,
            seeds,
            budget="40/day",
            policy="poisson",
            simulated=True,
            every=DAY / 4,
            sitemaps=False,
            proxy=proxy,
            delay=0.0,
        ) as made:
            for _ in made.run():
                pass


def warm() -> None:
    """Import and compile here what every fork needs."""
    import warcio  # noqa: F401

    import recrawl.fetch.download
    import recrawl.fetch.reactor

    with TemporaryDirectory() as folder, recrawl.open(folder, create=True) as store:
        page = Response("http://a.example/", 1.7e9, 200, {"content-type": "text/html"}, b"<p>Hello")
        store.append(to_visits([page]))
        recrawl.plan(store, 1, now=1.8e9)


def main(store: Path, trace: Path) -> None:
    chance = random.Random(1)
    read, report = os.pipe()
    os.set_blocking(read, False)
    reported = b""
    # The web runs in a separate process: a fork of a process with threads would lack them.
    ready, tell = os.pipe()
    web = os.fork()
    if web == 0:
        with serve(open_trace(trace), speed=SPEED) as served:
            os.write(tell, json.dumps([served.proxy, served.seeds()]).encode() + b"\n")
            time.sleep(600)
    proxy, seeds = json.loads(os.fdopen(ready).readline())
    warm()
    try:
        scale = 1.0
        for number in range(KILLS):
            child = os.fork()
            if child == 0:
                try:
                    crawl(store, proxy, seeds, report)
                finally:
                    os._exit(1)  # reached only after an error
            if number:
                time.sleep(scale * (0.3 + chance.random()))
            else:  # the first one lives until its first batch, which shows how slow the machine is
                start = time.monotonic()
                select.select([read], [], [], 60)
                scale = max(1.0, time.monotonic() - start)
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status), "the crawl ended by itself"
            reported += read_available(read)
    finally:
        os.kill(web, signal.SIGKILL)
    print(json.dumps(count_and_check(store, reported)))  # noqa: T201


def read_available(read: int) -> bytes:
    parts = []
    try:
        while part := os.read(read, 1 << 16):
            parts.append(part)
    except BlockingIOError:
        pass
    return b"".join(parts)


def count_and_check(store: Path, reported: bytes) -> dict[str, int]:
    """How many reported visits are missing, and the most fetches of a day."""
    opened = recrawl.open(store)
    rows = opened.query(
        'SELECT url, epoch(visits.at) AS "at" FROM visits JOIN pages USING (page_id)'
    ).to_pylist()
    held = {(row["url"], round(row["at"], 3)) for row in rows}
    lines = [
        line for line in reported.split(b"\n") if line.startswith(b"[") and line.endswith(b"]")
    ]
    acknowledged = {(url, round(at, 3)) for line in lines for url, at in json.loads(line)}
    days: dict[int, int] = {}
    for row in rows:
        days[int(row["at"] // DAY)] = days.get(int(row["at"] // DAY), 0) + 1
    return {
        "kills": KILLS,
        "visits": len(rows),
        "acknowledged": len(acknowledged),
        "lost": len(acknowledged - held),
        "most_a_day": max(days.values(), default=0),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
