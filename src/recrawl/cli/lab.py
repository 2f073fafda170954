"""Commands of the lab: replays, and worlds to replay on."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import recrawl
from recrawl import registry, units
from recrawl.cli.common import Every, TieRule, Ties, err, out, say

if TYPE_CHECKING:
    from recrawl.lab.compare import Comparison


def replay(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Folders or files.")],
    policy: Annotated[list[str], typer.Option(help="May be given several times.")] = [  # noqa: B006
        recrawl.DEFAULT_POLICY
    ],
    budget: Annotated[list[str], typer.Option(help="May be given several times.")] = [  # noqa: B006
        "2%"
    ],
    every: Every = "1d",
    parts: Annotated[int, typer.Option(min=1, help="Spend a cycle's budget in so many.")] = 1,
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles that visit all pages.")] = 2,
    ties: TieRule = Ties.hash,
    seeds: Annotated[int, typer.Option(min=1, help="Mean over so many orders of ties.")] = 1,
    failures: Annotated[str, typer.Option(help="Share of the visits that fails.")] = "0%",
    not_modified: Annotated[str, typer.Option(help="Share of the pages that answers 304.")] = "0%",
    window: Annotated[str | None, typer.Option(help="A..B, where the trace does not say.")] = None,
    json_file: Annotated[
        str | None, typer.Option("--json", help="Write all numbers here; - is standard output.")
    ] = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the raw runs in this folder, as Parquet.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Write an HTML page with charts here.")
    ] = None,
) -> None:
    """Say what policies would have found on traces, beside oldest-first and the limit."""
    from recrawl.lab.bits import is_bits, read_bits
    from recrawl.lab.compare import compare
    from recrawl.lab.trace import read_trace

    span = [units.time(part) for part in window.split("..", 1)] if window else None
    alive = []
    for path in traces:
        if is_bits(path):
            alive.append(read_bits(path))
        else:
            whole = read_trace(path, (span[0], span[1]) if span else None)
            alive.append(whole.take(whole.alive()))
    with err.status("") if err.is_terminal else nullcontext() as status:
        found = compare(
            alive,
            policy,
            budget,
            seeds=seeds,
            keep_in=keep,
            every=units.duration(every),
            warm_up=warm_up,
            parts=parts,
            ties=ties.value,
            failures=units.share(failures),
            not_modified=units.share(not_modified),
            progress=status.update if status else None,
        )
    if json_file:
        text = json.dumps({"runs": found.runs, "bounds": found.bounds}, indent=1)
        (sys.stdout.write if json_file == "-" else Path(json_file).write_text)(text + "\n")
    if json_file != "-":
        _ranking(found)
    if report:
        from recrawl.lab.report import write_report

        write_report(found, report)
        say(f"The report is {report}.", err)


def world(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See `recrawl parts world`.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="Empty or new.")],
    pages: Annotated[int | None, typer.Option(min=1)] = None,
    days: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Make a trace of a web whose truth is known."""
    from recrawl.lab.worlds import write

    sizes = {"pages": pages, "days": days}
    given = {key: value for key, value in sizes.items() if value is not None}
    write(registry.build("world", name).make(**given, seed=seed), folder)


def _ranking(found: Comparison) -> None:
    """Runs by change ratio, the limit above them; with the way from oldest-first to it."""
    names = ("change ratio", "of the way", "freshness", "age, days", "new links", "policy")
    for (trace, budget), runs in groupby(found.runs, lambda r: (r["trace"], r["budget"])):
        bound = found.bounds[trace][budget]
        rows = list(runs)
        say(f"\n{trace}: {budget} of {rows[0]['pages']:,} pages, {rows[0]['cycles']} cycles")
        table = Table(*names, box=None, pad_edge=False)
        limits = (
            f"{bound['change_ratio']:.4f}",
            "100 %",
            "",
            "",
            f"{bound['new_links_per_fetch']:.3f}",
        )
        table.add_row(*limits, "(the clairvoyant)")
        for run in sorted(rows, key=lambda run: -run["change_ratio"]):
            captured = found.captured(run)
            table.add_row(
                f"{run['change_ratio']:.4f}",
                "" if captured is None else f"{captured:.0%}",
                f"{run['freshness']:.4f}",
                f"{run['age_days']:.2f}",
                f"{run['new_links_per_fetch']:.3f}",
                run["policy"],
            )
        out.print(table)
