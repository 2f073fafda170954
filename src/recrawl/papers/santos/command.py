"""`recrawl paper santos`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recrawl.cli.common import progress_bar, say
from recrawl.cli.evolve import Preset


def santos(
    source: Annotated[str, typer.Argument(metavar="WORLD|BITS", help="brdc, or bit strings.")],
    folds: Annotated[int, typer.Option(min=2, help="Parts of the pages.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each fold.")] = 5,
    preset: Annotated[Preset, typer.Option(help="How to breed.")] = Preset.thesis,
    folder: Annotated[
        Path, typer.Option("--out", "-o", help="Keeps results; run again to continue.")
    ] = Path("santos"),
    report: Annotated[Path | None, typer.Option(help="Write the tables here: Markdown.")] = None,
    *,
    quick: Annotated[bool, typer.Option("--quick", help="A small one, in a minute.")] = False,
) -> None:
    """GP4C (Santos 2013): Tables 4.2 to 4.4 beside the thesis's own numbers."""
    import time

    from recrawl.evolve import presets
    from recrawl.papers.santos.experiment import ThesisProtocol, changes_from
    from recrawl.papers.santos.experiment import santos as run
    from recrawl.papers.santos.tables import tables

    numbers = tuple(111 * (i + 1) for i in range(seeds))
    protocol = (
        ThesisProtocol.quick()
        if quick
        else ThesisProtocol(folds, numbers, presets.preset(preset.value))
    )
    with progress_bar("evolving") as bar:
        results = run(
            changes_from(source, quick=quick),
            folder,
            protocol,
            clock=time.perf_counter,
            progress=bar,
        )
    text = tables(results)
    say(text)
    if report:
        report.write_text(text, encoding="utf-8")
