"""Commands that run the experiments of papers again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recrawl.cli.common import bar, say
from recrawl.cli.evolve import Preset

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
    from recrawl.lab.papers.radinsky import Protocol
    from recrawl.lab.papers.radinsky import radinsky as run
    from recrawl.lab.papers.radinsky_crawl import crawled
    from recrawl.lab.papers.radinsky_tables import draw, tables
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
    opened = open_trace(trace)
    with bar("foretelling") as told:
        found = run(opened, folder, protocol, progress=told)
    text = tables(found)
    if figures:
        with bar("crawling") as told:
            fresh = crawled(opened, folder, progress=told)
        text += "\n" + fresh.table()
        draw(found, fresh, folder)
    say(text)
    if report:
        report.write_text(text, encoding="utf-8")
