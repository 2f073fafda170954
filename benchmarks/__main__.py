"""Run the benchmarks, or those named, print their figures, with --write into docs/performance.md."""

from __future__ import annotations

import os
import pkgutil
import platform
import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import benchmarks

SKIP = {"__main__", "choose", "harness", "replays", "results"}
PAGE = Path("docs/performance.md")
HEAD = "# Speed and memory\n\nMade by `make bench`, or one by one: `python -m benchmarks search --write`."
LIBRARIES = ("numpy", "numba", "duckdb", "pyarrow", "selectolax", "fastwarc", "scrapy")


def main() -> None:
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in SKIP]
    for name in [name for name in sys.argv[1:] if name != "--write"] or names:
        module = import_module(f"benchmarks.{name}")
        head = f"## {(module.__doc__ or name).splitlines()[0]}"
        lines = [head, "", "| | | goal |", "|---|---|---|"]
        print("\n".join(lines), flush=True)
        for figure in module.figures():
            lines.append(f"| {figure.what} | {figure.value} | {figure.goal} |")
            print(lines[-1], flush=True)
            if "--write" in sys.argv:  # at once: some take long, and are cut short
                write("\n".join([*lines, "", machine()]))
        print(flush=True)


def write(section: str) -> None:
    """Put a section in the place of the one with the same heading, or at the end."""
    old = PAGE.read_text().split("\n## ")[1:] if PAGE.exists() else []
    sections = {one.partition("\n")[0]: f"## {one.strip()}" for one in old}
    sections[section.partition("\n")[0].removeprefix("## ")] = section
    PAGE.write_text("\n\n".join([HEAD, *sections.values()]) + "\n")


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
