"""`recrawl paper pandey`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recrawl import units
from recrawl.cli.common import Every, progress_bar, say


def pandey(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A folder or file.")],
    queries: Annotated[
        str, typer.Option(help="File of query and frequency; `titles`: those of the pages.")
    ],
    every: Every = "7d",
    scoring: Annotated[str, typer.Option(help="tfidf, bm25, inlinks or pagerank.")] = "tfidf",
    budget: Annotated[
        list[str], typer.Option(help="Share of the pages a cycle; may be given several times.")
    ] = [],  # noqa: B006
    most: Annotated[int | None, typer.Option(min=1, help="Only the queries asked most.")] = None,
    window: Annotated[
        int | None, typer.Option(min=1, help="Raw priority: only the last refreshes of a page.")
    ] = None,
    half_life: Annotated[
        float | None, typer.Option(help="Raw priority: refreshes after which one counts half.")
    ] = None,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Keeps results; run again to continue.")
    ] = Path("pandey"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
    *,
    knee: Annotated[
        bool, typer.Option("--knee", help="Only queries relevant to the pages.")
    ] = False,
    changed: Annotated[
        bool, typer.Option("--changed", help="Only pages that change at least once.")
    ] = False,
    split: Annotated[
        bool, typer.Option("--split", help="Only fit on the first half and test on the second.")
    ] = False,
) -> None:
    """User-centric crawling (Pandey & Olston 2005): refreshes needed for good search."""
    from recrawl.lab.traces import open_trace
    from recrawl.papers.pandey import experiment
    from recrawl.papers.pandey.data import prepare_study, title_workload
    from recrawl.papers.pandey.figures import figures
    from recrawl.papers.pandey.tables import tables
    from recrawl.search.queries import read_workload

    opened = open_trace(trace)
    workload = title_workload(opened) if queries == "titles" else read_workload(queries)
    study = prepare_study(
        opened,
        workload,
        every=units.duration(every),
        by=scoring,
        most=most,
        knee=knee,
        changed=changed,
    )
    with progress_bar("refreshing") as progress:
        runs = experiment.pandey(
            study,
            folder,
            modes=("split",) if split else experiment.MODES,
            budgets=tuple(map(units.share, budget)) or experiment.BUDGETS,
            window=window,
            half_life=half_life,
            progress=progress,
        )
    name = f"{opened.name}, {Path(queries).stem}"
    text = tables(name, study, runs)
    say(text)
    for file in figures(f"{opened.name}-{Path(queries).stem}", study, runs, folder):
        say(f"Drawn: {file}")
    if report:
        report.write_text(text, encoding="utf-8")
