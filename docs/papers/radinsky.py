"""Writes docs/papers/radinsky.md: do related pages tell when a page will change?

`python docs/papers/radinsky.py`. What is done is kept in the folder `radinsky`; run again, it goes
on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl.errors import BadInput
from recrawl.lab.days import days_of, versions_by_day
from recrawl.lab.papers.radinsky import Protocol, chosen, radinsky
from recrawl.lab.papers.radinsky_crawl import crawled
from recrawl.lab.papers.radinsky_tables import draw, tables
from recrawl.lab.traces import open_trace
from recrawl.lab.worlds import write
from recrawl.registry import build

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace

HERE = Path(__file__).parent
KEPT = Path("radinsky")
TRACES = HERE.parent.parent.parent / "shared" / "traces"
WORLD = "leaders:mean=0.16,shape=20,again=0.8,followers=15"


@dataclass(frozen=True)
class Run:
    """One experiment of the page."""

    title: str
    source: str  #: a world, or the name of a trace
    protocol: Protocol
    crawl: bool = False


RUNS = (
    Run(
        "A world in which pages follow others",
        f"{WORLD},follow=true",
        Protocol(alpha=0.1, detector="digest", figures=True),
        crawl=True,
    ),
    Run(
        "The same world, but followers follow nobody who can be seen",
        f"{WORLD},follow=false",
        Protocol(alpha=0.1, detector="digest"),
    ),
    Run(
        "ota_contrib, pages that flip on 2 % of the days",
        "ota_contrib",
        Protocol(alpha=0.02, pages=60, detector="digest"),
        crawl=True,
    ),
)

HEAD = """# Experts: change foretold from related pages

Made by `make papers`. Radinsky & Bennett (WSDM 2013) foretell whether a page changes significantly
on the next day: from its own changes (1D), from its content as well (2D, a support vector machine),
and from related pages (3D: a machine for each of 20 experts, which vote by how related they are).
On 54,816 pages of 2007, of which those that never or always change were left out, they found 54.84,
62.93 and 72.72 % right. Their pages are not to be had; below are worlds whose truth is known, and
real traces.

`recrawl paper radinsky TRACE` runs it. Where the paper is silent or contradicts itself, we chose:

- A page's behaviour must flip on a *share* `--alpha` of the days (printed as a count).
- The 1D baseline is given as printed, drawn with the frequency of changes, and as the majority. The
  first is a handicap: at a frequency p it is right p² + (1 − p)² of the time.
- Features are standardised on the days before the first that is foretold, the distribution of words
  as one; the kernel is (x·y / features + 1)³; the cost of a machine is the best of 0.1, 1 and 10 on
  the last n / 3 of these days.
- Who is related is settled on the `n` days before the first that is foretold, and kept.
- Cross-correlation is divided by its value of the page with itself, so that a page weighs 1 among
  its own experts; lags of 0 to 7 days. A distance d by DTW (per day and unit of TF-IDF, band 5)
  weighs 1 / (1 + d).
- Bags and boosted ensembles are of 10 machines.
- The paper chose n, k and cross-correlation on a sample of its data that was not held out.

"""

TAIL = """
## What to make of it

- Where pages do follow others, experts tell more than the page alone, and the page alone more than
  its frequency of changes; where they follow nobody, experts tell nothing. So the method works, and
  what it finds is not an artefact.
- The paper's order of combinations does not hold there: one machine with the features of all
  experts (union), bags and boosting do as well as the vote or better. In the vote each expert knows
  only its own page, and most of the twenty say nothing of the target.
- In the worlds one gradient boosting over all pages is right more often than machines of each page,
  at less cost (`python -m benchmarks experts`); on ota_contrib they do not differ. It gains where
  nobody follows as well: from examples of all pages, not from experts.
- Nearly no page of the real traces passes the paper's filter. Without it "no change" is right
  nearly always: look at balanced accuracy and AUC there. On real traces any change counts above.
- The worlds were set up, with how many followers and how lively, until pages' own past told
  something and experts could tell more: they show that the method can work, not how often it does.
- In the crawl a machine a page, with a coin, does not keep copies fresher than the plain frequency:
  most pages have too few visits to learn from. `poisson` beats all of them on freshness.
"""


def opened(run: Run) -> Trace:
    """The trace of a run."""
    if not run.source.startswith("leaders"):
        return open_trace(TRACES / run.source)
    folder = KEPT / run.source.replace(":", "-").replace(",", "-")
    if not folder.exists():
        write(build("world", run.source).make(pages=64, days=151, seed=3), folder)
    return open_trace(folder)


def command(run: Run) -> str:
    """What one types to run it."""
    given, plain = run.protocol, Protocol()
    names = ("pages", "alpha", "detector")
    said = [f"--{n} {getattr(given, n)}" for n in names if getattr(given, n) != getattr(plain, n)]
    return " ".join(["recrawl paper radinsky TRACE", *said, *(["--figures"] * given.figures)])


def section(run: Run) -> str:
    print(run.title, flush=True)  # noqa: T201
    trace = opened(run)
    tell = lambda *news: print(*news, flush=True)  # noqa: E731, T201
    said = [f"## {run.title}", ""]
    if run.source.startswith("leaders"):
        said += [f"`recrawl world {run.source} --pages 64 --days 151 --seed 3`, then"]
    said += [f"`{command(run)}`:", ""]
    found = radinsky(trace, KEPT, run.protocol, progress=tell)
    said.append(tables(found))
    if run.crawl:
        fresh = crawled(trace, KEPT, progress=tell)
        said.append(fresh.table())
        if run.protocol.figures:
            draw(found, fresh, KEPT)
    return "\n".join(said)


def passing() -> str:
    """How many pages of each trace pass the filter, whatever change counts."""
    lines = ["## Pages that pass the paper's filter, any change counted", ""]
    lines += ["| trace | pages | pass |", "|---|---|---|"]
    for path in sorted(path.parent for path in TRACES.glob("*/versions.parquet")):
        trace = open_trace(path)
        try:
            version = versions_by_day(trace, days_of(trace))
            passed = f"{chosen(trace, version, Protocol(detector='digest'))[2]:,}"
        except BadInput:
            passed = "fewer than 2"
        lines.append(f"| {path.name} | {len(trace):,} | {passed} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    if not TRACES.is_dir():
        sys.exit(f"No traces in {TRACES}; docs/papers/radinsky.md stays as it is.")
    KEPT.mkdir(exist_ok=True)
    text = HEAD + "\n".join(section(run) for run in RUNS) + "\n" + passing() + TAIL
    (HERE / "radinsky.md").write_text(text)


if __name__ == "__main__":
    main()
