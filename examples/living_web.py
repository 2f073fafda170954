"""Crawl a web that changes while you watch with two policies at the same budget, and compare them.

A month passes in 36 seconds. `python examples/living_web.py FOLDER` writes the stores and a report
to that folder.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from recrawl import open as open_store
from recrawl.lab.traces import open_trace
from recrawl.lab.web import serve
from recrawl.model import DAY
from recrawl.page.responses import Response, to_visits
from recrawl.planner import DEFAULT_POLICY

SPEED = DAY / 1.2
BUDGET = ["--budget", "60/day", "--discover", "50%", "--every", "1d"]
BUDGET += ["--depth", "0"]  # all pages are seeds; what they link to is not in this web


def recrawl(*words: object) -> None:
    """Print and run a command."""
    command = " ".join(map(str, words))
    print(f"\n$ recrawl {command}", flush=True)
    subprocess.run([sys.executable, "-m", "recrawl", *map(str, words)], check=True)


def compile_once() -> None:
    """Compile the kernels now: it takes some seconds, which would be days of the crawl."""
    with TemporaryDirectory() as folder, open_store(folder, create=True) as store:
        store.append(to_visits([Response("http://example.org/", 1.7e9, 200, {}, b"<p>Hello")]))


def main(folder: Path) -> None:
    trace, seeds = folder / "trace", folder / "seeds.txt"
    recrawl("world", "hubs", "--pages", 300, "--days", 30, "--seed", 1, "--out", trace)
    policies = ["oldest", DEFAULT_POLICY]
    options = [f"--policy={name}" for name in ("random", "tx", "poisson", DEFAULT_POLICY)]
    recrawl("replay", trace, *options, "--budget", "20%", "--report", folder / "replay.html")
    compile_once()
    for policy in policies:
        with serve(open_trace(trace), speed=SPEED) as web:
            seeds.write_text("".join(url + "\n" for url in web.seeds()))
            where = ["--seeds", seeds, "--proxy", web.proxy, "--simulated", "--delay", "0s"]
            where += ["--no-sitemaps"]  # which would report nearly every change to both crawls
            recrawl("crawl", folder / policy, *where, *BUDGET, "--policy", policy)
    stores = [folder / policy for policy in policies]
    recrawl("info", stores[-1])
    recrawl("judge", trace, *stores, "--warm-up", 12, "--report", folder / "report.html")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
