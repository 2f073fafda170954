"""`recrawl paper dang`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from recrawl import units
from recrawl.cli.common import progress_bar, say

Mode = StrEnum("Mode", ["strict", "paper"])
Ngboost = StrEnum("Ngboost", ["quick", "paper"])


def dang(
    trace: Annotated[Path, typer.Argument(help="A trace with texts and links.")],
    history: Annotated[int, typer.Option(min=0, max=8, help="Intervals looked back at.")] = 8,
    mode: Annotated[
        Mode,
        typer.Option(help="strict, or paper: the target leaks into the features as it did there."),
    ] = Mode.strict,
    ngboost: Annotated[
        Ngboost,
        typer.Option(help="quick, or paper: its 500 steps on all features, twenty times as long."),
    ] = Ngboost.quick,
    every: Annotated[str, typer.Option(help="Time between crawls.")] = "7d",
    window: Annotated[str | None, typer.Option(help="A..B, instead of the trace's own.")] = None,
    trusted: Annotated[
        Path | None, typer.Option(help="URLs that TrustRank begins at, one a line.")
    ] = None,
    folder: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="Keeps what is done, and the figures; run again, it goes on."
        ),
    ] = Path("dang"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
) -> None:
    """Look back, look around (Dang et al. 2021): its tables and figures, on a trace."""
    from recrawl.lab.traces import open_trace
    from recrawl.papers.dang.data import study
    from recrawl.papers.dang.experiment import dang as run
    from recrawl.papers.dang.figures import figures
    from recrawl.papers.dang.models import PAPER_NGBOOST
    from recrawl.papers.dang.tables import ModeResults, tables

    with progress_bar("learning") as progress:
        data = study(
            open_trace(trace, window=units.window(window)),
            every=units.duration(every),
            history=history,
            strict=mode is Mode.strict,
            trusted=trusted.read_text("utf-8").split() if trusted else None,
        )
        settings = PAPER_NGBOOST if ngboost is Ngboost.paper else None
        results = run(data, folder, history=history, ngboost=settings, progress=progress)
    for name, svg in figures(data, results).items():
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")
    text = tables([ModeResults(data, results)])
    say(text)
    if report:
        report.write_text(text, encoding="utf-8")
