"""The command that learns a score function from a crawl's own past."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path  # noqa: TC003  # typer reads annotations
from typing import TYPE_CHECKING, Annotated

import typer

import recrawl
from recrawl.cli.common import (
    BudgetText,
    Every,
    Explore,
    Impute,
    Window,
    err,
    out,
    progress_bar,
    say,
)
from recrawl.files import check_output

if TYPE_CHECKING:
    from recrawl.evolve.fitness_cache import ScoredTree
    from recrawl.lab.learn import EvolutionResult

Preset = StrEnum("Preset", ["modern", "thesis"])
Select = StrEnum("Select", ["simple", "best", "sum", "avg"])
Split = StrEnum("Split", ["pages", "time"])


def evolve(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="Folder, file or store.")],
    output: Annotated[Path, typer.Option("--out", "-o", help="Policy file to write, JSON.")],
    preset: Annotated[Preset, typer.Option(help="How formulas are bred.")] = Preset.modern,
    terminals: Annotated[
        str, typer.Option(help="Some of n,X,t,cho,nad,sad,aad,gad,rate, and columns such as bytes.")
    ] = "n,X,t",
    fitness: Annotated[
        str | None,
        typer.Option(
            help="change-ratio, ncg, ndcg, freshness, new-links, or some: ncg=0.7,freshness=0.3.",
            show_default="change-ratio",
        ),
    ] = None,
    select: Annotated[
        Select | None,
        typer.Option(help="How to choose among the best formulas.", show_default="simple"),
    ] = None,
    split: Annotated[
        Split, typer.Option(help="Train, validate and test on other pages, or also other times.")
    ] = Split.pages,
    budget: BudgetText = "5%",
    every: Every = "1d",
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles that visit all pages.")] = 2,
    explore: Explore = "0%",
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of the trees, the split and the ties.")
    ] = 0,
    seeds: Annotated[
        int, typer.Option(min=1, help="Breed this many times: with --seed, --seed + 1, ….")
    ] = 1,
    window: Window = None,
    *,
    pareto: Annotated[
        bool,
        typer.Option("--pareto", help="Seek both change ratio and freshness, and show the front."),
    ] = False,
    impute: Impute = False,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Write the policy even if t * X or t is better than it."),
    ] = False,
) -> None:
    """Learn a score function from a trace; `--policy FILE` uses it."""
    check_output(output, "--out")
    with progress_bar("evolving") as bar:
        learned = recrawl.evolve(
            trace,
            preset=preset.value,
            terminals=terminals,
            fitness=fitness,
            pareto=pareto,
            select=select.value if select else None,
            split=split.value,
            budget=budget,
            every=every,
            warm_up=warm_up,
            explore=explore,
            seed=seed,
            seeds=seeds,
            window=window,
            impute=impute,
            progress=lambda done, of, leader: bar(done, of, _leader(leader)),
        )
    _show(learned)
    if learned.loses and not anyway:
        say(
            "On the test pages this formula loses to one that needs no learning, so no policy was "
            "written. Give a longer trace or more --seeds, or --anyway to write it all the same.",
            err,
        )
        raise typer.Exit(1)
    learned.save(output)
    if learned.observed < 1:
        say(
            f"The truth is known for {learned.observed:.1%} of the pages and cycles; elsewhere a "
            "page counts as it was last seen.",
            err,
        )
    say(f"The policy is {output}.", err)


def _show(learned: EvolutionResult) -> None:
    from rich.table import Table

    from recrawl.evolve.text import latex, write

    say(write(learned.formula.expression))
    say(latex(learned.formula.expression))
    table = Table("", *learned.scores, box=None, pad_edge=False)
    for name, scores in (
        ("this formula", learned.scores),
        ("t * X", learned.known),
        ("t", learned.oldest),
    ):
        table.add_row(name, *(f"{score:.4f}" for score in scores.values()))
    out.print(table)
    if len(learned.by_seed) > 1:
        table = Table(*learned.by_seed[0], box=None, pad_edge=False)
        for row in learned.by_seed:
            cells = (f"{v:.4f}" if isinstance(v, float) else str(v) for v in row.values())
            table.add_row(*cells)
        out.print(table)
    if learned.front:
        table = Table("change ratio", "freshness", "formula", box=None, pad_edge=False)
        for formula, ratio, fresh in learned.front:
            table.add_row(f"{ratio:.4f}", f"{fresh:.4f}", formula)
        out.print(table)


def _leader(tree: ScoredTree) -> str:
    from recrawl.evolve.text import write

    return f"{tree.fitness:.4f}  {write(tree.simple)}"
