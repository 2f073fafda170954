"""Fetches large pages from many hosts and prints the peak memory: `large_bodies.py PORT`.

The hosts are addresses of loopback, since names at one address share its connections.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

from recrawl.fetch import LiveEngine

HOSTS = 100


class LargePages:
    """A plan of one page of each host."""

    def __init__(self, port: str) -> None:
        self._urls = [f"http://127.0.1.{i + 1}:{port}/" for i in range(HOSTS)]

    def urls(self) -> list[str]:
        return self._urls

    def __len__(self) -> int:
        return HOSTS


def main(port: str) -> None:
    outcomes: Counter[str] = Counter()
    with LiveEngine(allow_private=True, delay=0.0, concurrency=HOSTS, timeout=120.0) as engine:
        for batch in engine.fetch(LargePages(port)):
            outcomes.update(why or "fetched" for why in batch["problem"].to_pylist())
    # Of this program alone: ru_maxrss has the peak of the process that started it, too.
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024
    print(json.dumps({"peak": peak, **outcomes}))  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
