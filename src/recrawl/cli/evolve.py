"""Commands that learn a score function: from a crawl's own past, and as the paper did."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from recrawl import units
from recrawl.cli.common import BudgetText, Every, Explore, err, out, say, span

if TYPE_CHECKING:
    from collections.abc import Iterator

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

    with _bar("evolving") as bar:
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
            progress=None if bar is None else bar.tell,
        )
    save(found.formula, output)
    _show(found)
    say(f"The policy is {output}.", err)


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
    with _bar("evolving") as bar:
        found = run(
            changes_from(source, quick=quick),
            folder,
            protocol,
            clock=time.perf_counter,
            progress=None if bar is None else bar.say,
        )
    text = tables(found)
    say(text)
    if report:
        report.write_text(text, encoding="utf-8")


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


@contextmanager
def _bar(what: str) -> Iterator[Bar | None]:
    """A bar on a terminal, with the best formula so far."""
    if not err.is_terminal:
        yield None
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TextColumn("{task.fields[best]}", markup=False), console=err) as bar:
        yield Bar(bar, bar.add_task(what, best=""))


@dataclass(frozen=True)
class Bar:
    """How far it is, and how good the best formula so far."""

    bar: Progress
    task: TaskID

    def say(self, done: int, of: int, best: str) -> None:
        shown = best if len(best) < 70 else best[:69] + "…"
        self.bar.update(self.task, completed=done, total=of, best=shown)

    def tell(self, done: int, of: int, leader: Tree) -> None:
        from recrawl.evolve.text import write

        self.say(done, of, f"{leader.fitness:.4f}  {write(leader.simple)}")
