"""The command that learns a score function from a crawl's own past."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads annotations
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from recrawl import units
from recrawl.cli.common import BudgetText, Every, Explore, bar, err, out, say, span

if TYPE_CHECKING:
    from recrawl.evolve.judge import Tree
    from recrawl.lab.learn import Learned

Preset = StrEnum("Preset", ["modern", "thesis"])
Select = StrEnum("Select", ["simple", "best", "sum", "avg"])


def evolve(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Folder or file.")],
    output: Annotated[Path, typer.Option("--out", "-o", help="Policy file to write: JSON.")],
    preset: Annotated[Preset, typer.Option(help="How to breed.")] = Preset.modern,
    terminals: Annotated[
        str, typer.Option(help="Of n,X,t,cho,nad,sad,aad,gad,rate, and columns such as bytes.")
    ] = "n,X,t",
    fitness: Annotated[
        str,
        typer.Option(
            help="change-ratio, ndcg, freshness, new-links, or change-ratio=0.7,freshness=0.3."
        ),
    ] = "change-ratio",
    select: Annotated[Select, typer.Option(help="How to choose among the best.")] = Select.simple,
    budget: BudgetText = "5%",
    every: Every = "1d",
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles that visit all pages.")] = 2,
    explore: Explore = "0%",
    seed: Annotated[int, typer.Option(min=0, help="Draws the trees, the parts and the ties.")] = 0,
    window: Annotated[str | None, typer.Option(help="A..B, where the trace does not say.")] = None,
    *,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Seek change ratio and freshness, and show the front.")
    ] = False,
) -> None:
    """Learn a score function from a trace, for `--policy FILE` wherever a policy is named."""
    from recrawl.evolve.file import save
    from recrawl.lab.learn import learn
    from recrawl.lab.traces import open_trace

    with bar("evolving") as told:
        found = learn(
            open_trace(trace, window=span(window)),
            preset_name=preset.value,
            terminals=[name.strip() for name in terminals.split(",") if name.strip()],
            measure=fitness,
            pareto=pareto,
            select=select.value,
            budget=budget,
            every=units.duration(every),
            warm_up=warm_up,
            explore=units.share(explore),
            seed=seed,
            progress=lambda done, of, leader: told(done, of, _leader(leader)),
        )
    save(found.formula, output)
    _show(found)
    say(f"The policy is {output}.", err)


def _show(found: Learned) -> None:
    from recrawl.evolve.text import latex, write

    say(write(found.formula.expression))
    say(latex(found.formula.expression))
    table = Table("", *found.scores, box=None, pad_edge=False)
    for name, scores in (("this formula", found.scores), ("t * X", found.known)):
        table.add_row(name, *(f"{score:.4f}" for score in scores.values()))
    out.print(table)
    if found.front:
        table = Table("change ratio", "freshness", "formula", box=None, pad_edge=False)
        for formula, ratio, fresh in found.front:
            table.add_row(f"{ratio:.4f}", f"{fresh:.4f}", formula)
        out.print(table)


def _leader(tree: Tree) -> str:
    from recrawl.evolve.text import write

    return f"{tree.fitness:.4f}  {write(tree.simple)}"
