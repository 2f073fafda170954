"""Helpers of benchmarks: figures, clocks, and separate processes to measure peak memory."""

from __future__ import annotations

import multiprocessing
import resource
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Figure:
    """A line of the table; `goal` is what it must reach, if anything."""

    what: str
    value: str
    goal: str = ""


def seconds(task: Callable[[], object], rounds: int = 3) -> float:
    """The shortest time of several rounds: the one least disturbed by other work."""
    took = []
    for _ in range(rounds):
        begin = perf_counter()
        task()
        took.append(perf_counter() - begin)
    return min(took)


def ratio(
    ours: Callable[[], object], bare: Callable[[], object], rounds: int = 7
) -> tuple[float, float]:
    """Seconds of ours, and its speed relative to the bare way, measured in turns."""
    took = [(seconds(ours, 1), seconds(bare, 1)) for _ in range(rounds)]
    least = min(t[0] for t in took)
    return least, min(t[1] for t in took) / least


def apart(task: Callable[..., Any], *arguments: object) -> Any:
    """The result of a task, and the peak memory in GiB of a process that runs only this task."""
    # Not a Pool, which ends its processes by SIGTERM: after a crawl, Scrapy ignores it.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as executor:
        return executor.submit(_measured, task, arguments).result()


def _measured(task: Callable[..., Any], arguments: tuple[object, ...]) -> tuple[Any, float]:
    result = task(*arguments)
    # Not getrusage, whose maximum survives from the process that started this one.
    status = Path("/proc/self/status")
    if not status.exists():
        return result, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    [peak] = [line.split()[1] for line in status.read_text().splitlines() if "VmHWM" in line]
    return result, int(peak) / 2**20
