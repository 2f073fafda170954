"""`recrawl paper santos`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from recrawl.cli.common import progress_bar, say
from recrawl.cli.evolve import Preset  # noqa: TC001  # typer reads annotations
from recrawl.errors import BadInput
from recrawl.files import check_output


def santos(
    source: Annotated[str, typer.Argument(metavar="WORLD|BITS", help="brdc, or bit strings.")],
    folds: Annotated[
        int | None, typer.Option(min=2, help="Parts of the pages.", show_default="5")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each fold.", show_default="5")
    ] = None,
    preset: Annotated[
        Preset | None, typer.Option(help="How to breed.", show_default="thesis")
    ] = None,
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

    given = {"--folds": folds, "--seeds": seeds, "--preset": preset}
    named = [option for option, value in given.items() if value is not None]
    if quick and named:
        raise BadInput(f"--quick must be without {named[0]}: it sets it. Leave out one of them.")
    if report:
        check_output(report, "--report")
    if folder.is_file():
        raise BadInput(f"--out must be a folder, to keep results in. {folder} is a file.")
    numbers = tuple(111 * (i + 1) for i in range(seeds or 5))
    breeding = presets.preset(preset.value if preset else "thesis")
    protocol = ThesisProtocol.quick() if quick else ThesisProtocol(folds or 5, numbers, breeding)
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
