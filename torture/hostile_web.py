"""A hostile web: 10,000 fetches from fifty hosts, judged by what the hosts saw."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torture import hostile_hosts as hosts
from torture.pieces import ROOT, Figures, Piece, Run, Skipped, need
from torture.processes import end, is_running, kill, last_lines, rss, start

if TYPE_CHECKING:
    from collections.abc import Iterable

FETCHES = 10_000
CONNECTIONS = 100
CYCLE_SECONDS = 30.0  #: real ones, of a day: so robots.txt is read again in each cycle
TOLERANCE = 0.05  #: seconds by which the log of the hosts may be wrong
MAX_MB = 1024
MAX_SECONDS = 1800.0
MAX_CRASHES = 5
BEGIN = 1_767_225_600.0
NETWORK = (
    "ip link set lo up && ip route add local 0.0.0.0/0 dev lo && ip -6 route add local ::/0 dev lo"
)


def torture(run: Run) -> Figures:
    """Run `live` in a network of its own."""
    if os.geteuid():
        raise Skipped("it makes a network of its own, which only root may do")
    need("unshare", "ip", "mount")
    folder = run.empty_folder("web")
    (folder / "hosts").write_text(hosts.hosts_file())
    words = [sys.executable, "-m", "torture.hostile_web", folder, run.n(FETCHES, 100), run.seed]
    script = f'{NETWORK} && mount --bind "$0/hosts" /etc/hosts && exec "$@"'
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", script, str(folder), *map(str, words)],
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    if not (folder / "figures.json").exists():
        raise Skipped(f"a network of its own could not be made (exit code {done.returncode})")
    figures: Figures = json.loads((folder / "figures.json").read_text())
    return figures


def live(folder: Path, fetches: int, seed: int) -> None:
    """Serve the hosts, crawl them, and write the figures."""
    requests, log = folder / "requests", folder / "log"
    ready, tell = os.pipe()
    server = start(
        partial(hosts.serve, requests, seed, lambda: os.write(tell, b"x")), folder / "server"
    )
    os.read(ready, 1)
    peak = crashes = done = 0
    deadline = time.monotonic() + MAX_SECONDS
    while done < fetches and crashes < MAX_CRASHES and time.monotonic() < deadline:
        child = start(partial(crawl, folder, fetches - done), log)
        while is_running(child):
            peak = max(peak, rss(child, "VmHWM"))
            time.sleep(0.2)
            if time.monotonic() > deadline + 120:
                os.kill(child, 9)
        crashes += end(child) != 0
        done = sum(json.loads(line)["fetched"] for line in (folder / "cycles").open())
        print(f"hostile: {done:,} of {fetches:,} fetches, {peak >> 20} MB", flush=True)
    kill(server)
    text = log.read_text(errors="replace")
    crashes += text.count("Unhandled")
    if crashes:
        print(f"hostile: {last_lines(log, 8)}", flush=True)
    found = judge(json.loads(line) for line in requests.open())
    figures = {"fetches": done, "hosts": hosts.HOSTS, "connections": CONNECTIONS, **found}
    figures |= {"crashes": crashes, "peak MB": peak >> 20}
    (folder / "figures.json").write_text(json.dumps(figures))


def crawl(folder: Path, fetches: int) -> None:
    """Crawl until this many pages were fetched; each cycle is a line of the file `cycles`."""
    from recrawl.crawl import CrawlClock, start_crawl
    from recrawl.model import DAY

    names = [hosts.name_of(n) for n in range(hosts.HOSTS)]
    seeds = [f"http://{name}/{part}/{n}" for name in names for part in "abc" for n in range(20)]
    cycles = (folder / "cycles").open("a")
    speed = DAY / CYCLE_SECONDS
    with cycles, start_crawl(
        folder / "store", seeds, clock=CrawlClock(BEGIN, speed), every=DAY, budget="3000",
        contact="mailto:crawl@example.org", delay=hosts.DELAY, reach="any", policy="poisson",
        concurrency=CONNECTIONS, timeout=5.0, pages_per_host=1000,
    ) as made:  # fmt: skip
        for cycle in made.run():
            cycles.write(json.dumps({"fetched": cycle.fetched}) + "\n")
            cycles.flush()
            fetches -= cycle.fetched
            if fetches <= 0:
                break


def judge(requests: Iterable[dict[str, Any]]) -> dict[str, int]:
    """What the hosts say about the crawler, from the log of their requests."""
    public = {hosts.address_of(n) for n in range(hosts.HOSTS)}
    found = {"requests": 0, "private requests": 0, "too soon": 0, "within Retry-After": 0}
    found |= {"forbidden by robots.txt": 0, "before robots.txt": 0}
    by_host = defaultdict(list)
    for request in sorted(requests, key=lambda request: request["at"]):
        found["requests"] += 1
        is_private = request["address"].removeprefix("::ffff:") not in public
        found["private requests"] += is_private
        if is_private:
            print(f"hostile: private request: {request}")
        by_host[request["host"]].append(request)
    for one_host in by_host.values():
        for name, count in judge_host(one_host).items():
            found[name] += count
    return found


def judge_host(requests: list[dict[str, Any]]) -> dict[str, int]:
    """Impolite requests among those to one host, in their order."""
    found = dict.fromkeys(
        ("too soon", "within Retry-After", "forbidden by robots.txt", "before robots.txt"), 0
    )
    last, delay, wait, forbidden = -1e9, hosts.DELAY, 0.0, None
    known = False
    for request in requests:
        gap = request["at"] - last + TOLERANCE
        found["too soon"] += gap < delay
        found["within Retry-After"] += gap < wait
        if request["path"].startswith("/robots.txt"):
            forbidden, known = request.get("robots"), True
            delay = max(hosts.DELAY, request.get("delay", 0.0))
        else:
            found["before robots.txt"] += not known
            rules = tuple(forbidden or ())
            found["forbidden by robots.txt"] += bool(rules) and request["path"].startswith(rules)
        last, wait = request["at"], request.get("retry", 0.0)
    return found


PIECE = Piece(
    "hostile",
    torture,
    {
        "private requests": 0,
        "too soon": 0,
        "within Retry-After": 0,
        "forbidden by robots.txt": 0,
        "before robots.txt": 0,
        "crashes": 0,
        "peak MB": MAX_MB,
    },
    {"fetches": 100},
)

if __name__ == "__main__":
    live(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
