"""The command `recrawl paper radinsky`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recrawl.cli.common import progress_bar, say


def radinsky(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="A trace with texts.")],
    pages: Annotated[int, typer.Option(help="Targets at most, drawn from those that pass.")] = 300,
    alpha: Annotated[float, typer.Option(help="Filter: flips on this share of days.")] = 0.3,
    n: Annotated[int, typer.Option("--n", help="Training days.")] = 50,
    k: Annotated[int, typer.Option("--k", help="Experts per page.")] = 20,
    days: Annotated[int, typer.Option(help="Days to predict, the last of the trace.")] = 60,
    window: Annotated[int, typer.Option("--l", help="Window of features, in days.")] = 1,
    ahead: Annotated[int, typer.Option("--sigma", help="Days ahead that are predicted.")] = 1,
    detector: Annotated[str, typer.Option(help="What counts as a change.")] = "chi-squared",
    words: Annotated[int, typer.Option(help="Size of the vocabulary.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Seed of the random draws.")] = 0,
    experts: Annotated[int, typer.Option(help="List the experts of this many targets.")] = 0,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for results; an interrupted run continues.")
    ] = Path("radinsky"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here, as Markdown.")] = None,
    *,
    figures: Annotated[
        bool, typer.Option("--figures", help="Figures 6 to 8 too, as tables and as SVG in --out.")
    ] = False,
) -> None:
    """Experts (Radinsky & Bennett 2013): Tables 1 to 3 beside the paper's numbers."""
    import time

    from recrawl.lab.traces import open_trace
    from recrawl.papers.radinsky.crawl import replay_policies
    from recrawl.papers.radinsky.data import PredictionProtocol
    from recrawl.papers.radinsky.experiment import predict_changes
    from recrawl.papers.radinsky.expert_lists import expert_lists
    from recrawl.papers.radinsky.tables import draw_figures, tables

    protocol = PredictionProtocol(
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
    with progress_bar("predicting") as progress:
        predictions = predict_changes(opened, folder, protocol, progress=progress)
    text = tables(predictions)
    if experts:
        text += "\n" + expert_lists(predictions, experts)
    took = f"Tables took {time.perf_counter() - begin:.0f} s."
    if figures:
        with progress_bar("crawling") as progress:
            freshness = replay_policies(opened, folder, protocol, progress=progress)
        text += "\n" + freshness.table()
        for name, figure in draw_figures(predictions, freshness).items():
            (folder / f"{name}.svg").write_text(figure, encoding="utf-8")
    say(text)
    say(took)
    if report:
        report.write_text(text, encoding="utf-8")
