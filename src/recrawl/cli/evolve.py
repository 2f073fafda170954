"""The command that learns a score function from a crawl's own past."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads annotations
from typing import TYPE_CHECKING, Annotated

import typer

import recrawl
from recrawl.cli.common import BudgetText, Every, Explore, Window, err, out, progress_bar, say

if TYPE_CHECKING:
    from recrawl.evolve.fitness_cache import ScoredTree
    from recrawl.lab.learn import EvolutionResult

Preset = StrEnum("Preset", ["modern", "thesis"])
Select = StrEnum("Select", ["simple", "best", "sum", "avg"])


def evolve(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Folder or file.")],
    output: Annotated[Path, typer.Option("--out", "-o", help="Policy file to write, JSON.")],
    preset: Annotated[Preset, typer.Option(help="How formulas are bred.")] = Preset.modern,
    terminals: Annotated[
        str, typer.Option(help="Some of n,X,t,cho,nad,sad,aad,gad,rate, and columns such as bytes.")
    ] = "n,X,t",
    fitness: Annotated[
        str,
        typer.Option(
            help="change-ratio, ndcg, freshness, new-links, or change-ratio=0.7,freshness=0.3."
        ),
    ] = "change-ratio",
    select: Annotated[
        Select, typer.Option(help="How to choose among the best formulas.")
    ] = Select.simple,
    budget: BudgetText = "5%",
    every: Every = "1d",
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles that visit all pages.")] = 2,
    explore: Explore = "0%",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the trees, the split and the ties.")
    ] = 0,
    window: Window = None,
    *,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Seek both change ratio and freshness, and show the front."),
    ] = False,
) -> None:
    """Learn a score function from a trace; `--policy FILE` uses it."""
    with progress_bar("evolving") as bar:
        learned = recrawl.evolve(
            trace,
            preset=preset.value,
            terminals=terminals,
            fitness=fitness,
            pareto=pareto,
            select=select.value,
            budget=budget,
            every=every,
            warm_up=warm_up,
            explore=explore,
            seed=seed,
            window=window,
            progress=lambda done, of, leader: bar(done, of, _leader(leader)),
        )
    learned.save(output)
    _show(learned)
    say(f"The policy is {output}.", err)


def _show(learned: EvolutionResult) -> None:
    from rich.table import Table

    from recrawl.evolve.text import latex, write

    say(write(learned.formula.expression))
    say(latex(learned.formula.expression))
    table = Table("", *learned.scores, box=None, pad_edge=False)
    for name, scores in (("this formula", learned.scores), ("t * X", learned.known)):
        table.add_row(name, *(f"{score:.4f}" for score in scores.values()))
    out.print(table)
    if learned.front:
        table = Table("change ratio", "freshness", "formula", box=None, pad_edge=False)
        for formula, ratio, fresh in learned.front:
            table.add_row(f"{ratio:.4f}", f"{fresh:.4f}", formula)
        out.print(table)


def _leader(tree: ScoredTree) -> str:
    from recrawl.evolve.text import write

    return f"{tree.fitness:.4f}  {write(tree.simple)}"
