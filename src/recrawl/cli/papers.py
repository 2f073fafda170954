"""Commands that run the experiments of papers again."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from recrawl import units
from recrawl.cli.common import Every, bar, say, span
from recrawl.cli.evolve import Preset

Mode = StrEnum("Mode", ["strict", "paper"])

paper = typer.Typer(help="Run the experiments of papers again.", no_args_is_help=True)


@paper.command()
def santos(
    source: Annotated[str, typer.Argument(metavar="WORLD|BITS", help="brdc, or bit strings.")],
    folds: Annotated[int, typer.Option(min=2, help="Parts of the pages.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each fold.")] = 5,
    preset: Annotated[Preset, typer.Option(help="How to breed.")] = Preset.thesis,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Keeps what is done; run again, it goes on.")
    ] = Path("santos"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A small one, in a minute.")] = False,
) -> None:
    """GP4C (Santos 2013): Tables 4.2 to 4.4 beside the thesis's own numbers."""
    import time

    from recrawl.evolve import presets
    from recrawl.lab.papers.santos import Protocol, changes_from
    from recrawl.lab.papers.santos import santos as run
    from recrawl.lab.papers.santos_tables import tables

    numbers = tuple(111 * (i + 1) for i in range(seeds))
    protocol = Protocol.quick() if quick else Protocol(folds, numbers, presets.preset(preset.value))
    with bar("evolving") as told:
        found = run(
            changes_from(source, quick=quick),
            folder,
            protocol,
            clock=time.perf_counter,
            progress=told,
        )
    text = tables(found)
    say(text)
    if report:
        report.write_text(text, encoding="utf-8")


@paper.command()
def dang(
    trace: Annotated[Path, typer.Argument(help="A trace with texts and links.")],
    history: Annotated[int, typer.Option(min=0, max=8, help="Intervals looked back at.")] = 8,
    mode: Annotated[
        Mode, typer.Option(help="strict, or paper: what is to be told leaks as it did there.")
    ] = Mode.strict,
    every: Annotated[str, typer.Option(help="Time between crawls.")] = "7d",
    window: Annotated[str | None, typer.Option(help="A..B, instead of the trace's own.")] = None,
    trusted: Annotated[
        Path | None, typer.Option(help="URLs that TrustRank begins at, one a line.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Keeps what is done; run again, it goes on.")
    ] = Path("dang"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
) -> None:
    """Look back, look around (Dang et al. 2021): its tables and figures, on a trace."""
    from recrawl.lab.papers.dang import dang as run
    from recrawl.lab.papers.dang_data import study
    from recrawl.lab.papers.dang_tables import curves, tables
    from recrawl.lab.traces import open_trace

    with bar("learning") as told:
        data = study(
            open_trace(trace, window=span(window)),
            every=units.duration(every),
            history=history,
            strict=mode is Mode.strict,
            trusted=trusted.read_text("utf-8").split() if trusted else None,
        )
        found = run(data, folder, history=history, progress=told)
    for kind, drawn in curves(found).items():
        (folder / f"figure-15-{kind}.svg").write_text(drawn, encoding="utf-8")
    text = tables(data, found)
    say(text)
    if report:
        report.write_text(text, encoding="utf-8")


@paper.command()
def pandey(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A folder or file.")],
    queries: Annotated[
        str, typer.Option(help="File of query and frequency; `titles` makes one of the pages.")
    ],
    every: Every = "7d",
    scoring: Annotated[str, typer.Option(help="tfidf, bm25, inlinks or pagerank.")] = "tfidf",
    budget: Annotated[
        list[str], typer.Option(help="Share of the pages a cycle; may be given several times.")
    ] = [],  # noqa: B006
    most: Annotated[int | None, typer.Option(min=1, help="Only the queries asked most.")] = None,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Keeps what is done; run again, it goes on.")
    ] = Path("pandey"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
    *,
    knee: Annotated[
        bool, typer.Option("--knee", help="Only queries relevant to the pages.")
    ] = False,
    split: Annotated[
        bool, typer.Option("--split", help="Only first half fits, second tests; not the paper's.")
    ] = False,
) -> None:
    """User-centric crawling (Pandey & Olston 2005): refreshes needed for good search."""
    from recrawl.content.queries import read_workload
    from recrawl.lab.papers import pandey as experiment
    from recrawl.lab.papers.pandey_figures import figures
    from recrawl.lab.papers.pandey_past import past_of, titles
    from recrawl.lab.papers.pandey_tables import tables
    from recrawl.lab.traces import open_trace

    opened = open_trace(trace)
    asked = titles(opened) if queries == "titles" else read_workload(queries)
    past = past_of(opened, asked, every=units.duration(every), by=scoring, most=most, knee=knee)
    with bar("refreshing") as told:
        runs = experiment.pandey(
            past,
            opened.urls,
            folder,
            modes=("split",) if split else experiment.MODES,
            budgets=tuple(map(units.share, budget)) or experiment.BUDGETS,
            progress=told,
        )
    name = f"{opened.name}, {Path(queries).stem}"
    text = tables(name, past, runs)
    say(text)
    for file in figures(f"{opened.name}-{Path(queries).stem}", past, runs, folder):
        say(f"Drawn: {file}")
    if report:
        report.write_text(text, encoding="utf-8")


@paper.command()
def radinsky(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="With texts.")],
    pages: Annotated[int, typer.Option(help="Most pages, drawn from those that pass.")] = 300,
    alpha: Annotated[float, typer.Option(help="Least share of days a page must flip on.")] = 0.3,
    n: Annotated[int, typer.Option("--n", help="Days to learn from.")] = 50,
    k: Annotated[int, typer.Option("--k", help="Experts of a page.")] = 20,
    days: Annotated[int, typer.Option(help="Days to foretell, the last of the trace.")] = 60,
    window: Annotated[int, typer.Option("--l", help="Days that features look back.")] = 1,
    ahead: Annotated[int, typer.Option("--sigma", help="Days ahead.")] = 1,
    detector: Annotated[str, typer.Option(help="What counts as a change.")] = "chi-squared",
    words: Annotated[int, typer.Option(help="Size of the vocabulary.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Draws pages and bootstraps.")] = 0,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Keeps what is done; run again, it goes on.")
    ] = Path("radinsky"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
    *,
    figures: Annotated[
        bool, typer.Option("--figures", help="Figures 6 to 8 too, as tables and as SVG in --out.")
    ] = False,
) -> None:
    """Experts (Radinsky & Bennett 2013): Tables 1 to 3 beside the paper's own numbers."""
    import time

    from recrawl.lab.papers.radinsky import radinsky as run
    from recrawl.lab.papers.radinsky_crawl import crawled
    from recrawl.lab.papers.radinsky_data import Protocol
    from recrawl.lab.papers.radinsky_tables import drawn, tables
    from recrawl.lab.traces import open_trace

    protocol = Protocol(
        pages=pages,
        alpha=alpha,
        n=n,
        k=k,
        days=days,
        window=window,
        ahead=ahead,
        detector=detector,
        words=words,
        figures=figures,
        seed=seed,
    )
    begin, opened = time.perf_counter(), open_trace(trace)
    with bar("foretelling") as told:
        found = run(opened, folder, protocol, progress=told)
    text = tables(found)
    took = f"Tables took {time.perf_counter() - begin:.0f} s."
    if figures:
        with bar("crawling") as told:
            fresh = crawled(opened, folder, progress=told)
        text += "\n" + fresh.table()
        for name, figure in drawn(found, fresh).items():
            (folder / f"{name}.svg").write_text(figure, encoding="utf-8")
    say(text)
    say(took)
    if report:
        report.write_text(text, encoding="utf-8")
