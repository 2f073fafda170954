"""Writes docs/papers/radinsky.md: do related pages tell when a page will change?

Run `python -m recrawl.papers.radinsky.page` in a checkout. The folder `radinsky` keeps finished
work; a second run continues from there.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from recrawl.lab.statistics import fold_test
from recrawl.lab.traces import open_trace
from recrawl.lab.worlds import write
from recrawl.papers.radinsky.algorithms import change_frequency
from recrawl.papers.radinsky.crawl import crawled
from recrawl.papers.radinsky.data import Protocol, passing_pages, prepare
from recrawl.papers.radinsky.experiment import MAIN, Views, radinsky
from recrawl.papers.radinsky.series.days import days_of, versions_by_day
from recrawl.papers.radinsky.tables import draw_figures, measure, tables
from recrawl.registry import make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray

HERE = Path("docs", "papers")  #: of a checkout, in whose root this runs
KEPT = Path("radinsky")
TRACES = Path("..", "shared") / "traces"
WORLD = "leaders:mean=0.16,shape=20,again=0.8,followers=15"
IN_WORLDS = Protocol(alpha=0.1, detector="digest")
SEED, FRESH = 3, range(101, 109)  #: the worlds were set up on the first; nobody had seen the others


@dataclass(frozen=True)
class Run:
    """One experiment of the page."""

    name: str
    title: str
    source: str  #: a world, or the name of a trace
    protocol: Protocol
    pages: int = 96  #: of a world
    seed: int = SEED


RUNS = (
    Run(
        "leaders",
        "A world in which pages follow others",
        f"{WORLD},follow=true",
        replace(IN_WORLDS, figures=True),
    ),
    Run(
        "nobody",
        "The same world, but followers follow nobody who can be seen",
        f"{WORLD},follow=false",
        IN_WORLDS,
    ),
    Run("many", "A larger world", f"{WORLD},follow=true", IN_WORLDS, pages=300, seed=109),
    Run(
        "ota",
        "ota_contrib: significant changes, without the filter",
        "ota_contrib",
        Protocol(alpha=0.0),
    ),
    Run(
        "ota-any",
        "ota_contrib: any change, without the filter",
        "ota_contrib",
        Protocol(alpha=0.0, detector="digest", figures=True),
    ),
    Run(
        "lists",
        "trackawesomelist: any change, pages that pass the filter",
        "trackawesomelist",
        Protocol(detector="digest"),
    ),
    Run(
        "lists-any",
        "trackawesomelist: any change, without the filter",
        "trackawesomelist",
        Protocol(alpha=0.0, detector="digest"),
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

TAIL = """## What to make of it

- Where pages do follow others, experts tell more than the page alone, and the page alone more than
  its frequency of changes, in every world; where they follow nobody, experts tell nothing. So the
  method works, and what it finds is not an artefact. The worlds were set up so that experts could
  tell something: they show that the method can work, not how often it does.
- On real pages the paper's main finding does not come back. On those of trackawesomelist that pass
  the filter experts do better than the 1D baseline as the paper has it, drawn, but worse than the
  majority, and no better than the page alone. On ota_contrib nothing beats the majority by more
  than chance.
- Of the ways to combine experts the vote is the best on trackawesomelist, as in the paper. In the
  worlds it is the worst: there each expert tells a little, and one machine with the features of all
  can add that up.
- How experts are chosen matters little. In the worlds those that say the same do best, for there
  they are of the same topic.
- In the worlds one gradient boosting over all pages is right far more often than machines of each
  page, at less cost (`python -m benchmarks experts`); on real pages they do not differ much.
- Nearly no page of the real traces passes the paper's filter, and a chi-squared test of word counts
  calls nearly no change significant: most words of a page are rare, and one that comes or goes may
  be chance. Without the filter "no change" is right nearly always: look at balanced accuracy and
  AUC, and see that of significant changes there are too few to say anything.
- In the crawl the paper's coin, whatever it goes by, keeps copies less fresh than oldest-first:
  it comes back at random to pages just seen. A machine a page tells it hardly more than the plain
  frequency of changes, for most pages have few visits to learn from.
- To take the highest chances first gains far more. So `content` and `experts` find more changes
  than `poisson`, in the world and on ota_contrib, and nearly as many as the default policy. That is
  not freshness: in the world, where most pages change all the time, oldest-first keeps copies
  freshest, on ota_contrib the default policy does.
"""


def opened(source: str, pages: int, seed: int) -> Trace:
    """A trace by its name, or that of a world."""
    if not source.startswith("leaders"):
        return open_trace(TRACES / source)
    folder = KEPT / f"{source.replace(':', '-').replace(',', '-')}-{pages}-{seed}"
    if not folder.exists():
        write(make("world", source).make(pages=pages, days=151, seed=seed), folder)
    return open_trace(folder)


def command(run: Run) -> str:
    """What one types to run it."""
    given, plain = run.protocol, Protocol()
    names = ("alpha", "detector")
    said = [f"--{n} {getattr(given, n)}" for n in names if getattr(given, n) != getattr(plain, n)]
    return " ".join(["recrawl paper radinsky TRACE", *said, *(["--figures"] * given.figures)])


def section(run: Run) -> str:
    """Its tables and figures."""
    trace = opened(run.source, run.pages, run.seed)
    said = [f"## {run.title}", ""]
    if run.source.startswith("leaders"):
        size = f"--pages {run.pages} --days 151 --seed {run.seed}"
        said += [f"`recrawl world {run.source} {size}`, then"]
    said += [f"`{command(run)}`:", ""]
    found = radinsky(trace, KEPT, run.protocol, progress=tell)
    said += [tables(found), ""]
    if run.protocol.figures:
        fresh = crawled(trace, KEPT, progress=tell)
        said.append(fresh.table())
        for name, figure in draw_figures(found, fresh).items():
            file = HERE / f"radinsky-{run.name}-{name}.svg"
            file.write_text(figure)
            said.append(f"![{name.replace('-', ' ').capitalize()}]({file.name})\n")
    return "\n".join(said)


def seeds() -> str:
    """Does the order of methods hold in worlds that nobody looked at before?"""
    lines = [
        "## Other seeds of these worlds",
        "",
        f"The worlds above were set up, in how lively they are and who follows, on seed {SEED}; "
        f"these are seeds {FRESH[0]} to {FRESH[-1]}, which nobody had seen, of 64 pages each. "
        "Means over pages of the share right; p of paired t-tests over pages.",
        "",
        "| seed | followed | 1D, majority | 2D | 3D | 2D − 1D | p | 3D − 2D | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    held, fooled = 0, 0
    for follow in ("true", "false"):
        for seed in FRESH:
            tell(seed, follow)
            right = accuracies(opened(f"{WORLD},follow={follow}", 64, seed))
            tests = [fold_test(right["2D"], right["1D"]), fold_test(right["3D"], right["2D"])]
            sure = [test.mean > 0 and test.p < 0.05 for test in tests]
            held += follow == "true" and all(sure)
            fooled += follow == "false" and sure[1]
            cells = [f"{value.mean():.2%}" for value in right.values()]
            cells += [cell for test in tests for cell in (f"{test.mean:+.2%}", f"{test.p:.2g}")]
            who = "leaders" if follow == "true" else "nobody seen"
            lines.append(f"| {seed} | {who} | {' | '.join(cells)} |")
    many = len(FRESH)
    lines += [
        "",
        f"Where leaders are followed, 3D > 2D > 1D, both significantly (p < 0.05), in {held} of "
        f"{many} worlds; where nobody is, 3D beats 2D significantly in {fooled} of {many}.",
    ]
    return "\n".join(lines) + "\n"


def accuracies(trace: Trace) -> dict[str, FloatArray]:
    """The share of days right of each page, by what is known."""
    material = prepare(trace, IN_WORLDS)
    setup, pages = material.setup, range(len(material.pages))
    views = [Views(material, page) for page in pages]
    said = {
        "1D": [change_frequency(material.changed[page], setup) - 0.5 for page in pages],
        "2D": [view.said(view.target, setup) for view in views],
        "3D": [view.voted(MAIN, IN_WORLDS.k, setup) for view in views],
    }
    return {name: measure(np.array(rows), material.truth).accuracy for name, rows in said.items()}


def filtered() -> str:
    """How many pages of each trace pass the filter."""
    lines = [
        "## Pages that pass the paper's filter",
        "",
        "Their behaviour flips on 30 % of the days or more, of all days of the trace.",
        "",
        "| trace | pages | significant changes (chi-squared) | any change |",
        "|---|---|---|---|",
    ]
    for path in sorted(path.parent for path in TRACES.glob("*/versions.parquet")):
        trace = open_trace(path)
        version = versions_by_day(trace, days_of(trace))
        many = [
            f"{len(passing_pages(trace, version, Protocol(detector=detector))[0]):,}"
            for detector in ("chi-squared", "digest")
        ]
        lines.append(f"| {path.name} | {len(trace):,} | {' | '.join(many)} |")
    return "\n".join(lines) + "\n"


def kept(name: str, made: Callable[[], str]) -> str:
    """What a first run made, whose times are the true ones."""
    file = KEPT / f"{name}.txt"
    if not file.exists():
        file.write_text(made())
    return file.read_text()


def tell(*news: object) -> None:
    print(*news, flush=True)  # noqa: T201


def parts() -> Iterator[str]:
    """The page, part by part."""
    yield HEAD
    yield kept("filter", filtered)
    for run in RUNS:
        tell(run.name)
        yield section(run)
        if run.name == "many":
            yield kept("seeds", seeds)
    yield TAIL


def main() -> None:
    if not TRACES.is_dir():
        sys.exit(f"No traces in {TRACES}; docs/papers/radinsky.md stays as it is.")
    KEPT.mkdir(exist_ok=True)
    (HERE / "radinsky.md").write_text("\n".join(parts()))


if __name__ == "__main__":
    main()
