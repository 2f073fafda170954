"""Run the benchmarks, print their figures, and with --write keep them in docs/performance.md."""

from __future__ import annotations

import os
import pkgutil
import platform
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import benchmarks

SKIP = {"__main__", "choose", "harness"}
PAGE = Path("docs/performance.md")
LIBRARIES = ("numpy", "numba", "duckdb", "pyarrow", "selectolax", "fastwarc", "scrapy")


def main() -> None:
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in SKIP]
    asked = [name for name in sys.argv[1:] if name != "--write"] or names
    if "--write" in sys.argv and asked != names:
        sys.exit("--write keeps the figures of all benchmarks; leave the names out.")
    lines = ["# Speed and memory", "", f"Made by `make bench`. {machine()}", ""]
    for name in asked:
        module = import_module(f"benchmarks.{name}")
        head = [
            f"## {(module.__doc__ or name).splitlines()[0]}",
            "",
            "| | | goal |",
            "|---|---|---|",
        ]
        print("\n".join(head), flush=True)
        lines += head
        for figure in module.figures():
            lines.append(f"| {figure.what} | {figure.value} | {figure.goal} |")
            print(lines[-1], flush=True)
        lines.append("")
        print(flush=True)
    if "--write" in sys.argv:
        PAGE.write_text("\n".join(lines))


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        models = [
            x.split(":")[1].strip() for x in info.read_text().splitlines() if "model name" in x
        ]
        cpu = models[0] if models else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    using = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"Machine: {os.cpu_count()} cores of {cpu}, {memory:.0f} GiB; "
        f"Python {platform.python_version()}, {using}."
    )


if __name__ == "__main__":
    main()
