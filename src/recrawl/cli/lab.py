"""Commands of the lab: replays, and worlds to replay on."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import recrawl
from recrawl import registry, units
from recrawl.cli.common import (
    Every,
    HostCap,
    Queries,
    TieRule,
    Ties,
    err,
    out,
    progress_bar,
    pursuing,
    say,
    span,
)

if TYPE_CHECKING:
    from recrawl.lab.compare import Comparison

JsonFile = Annotated[
    str | None, typer.Option("--json", help="Write all numbers here; - is standard output.")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="Write an HTML page with charts here.")
]
Cohort = StrEnum("Cohort", ["alive", "all"])
Discovery = StrEnum("Discovery", ["links", "oracle"])


def replay(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Folders or files.")],
    policy: Annotated[list[str], typer.Option(help="May be given several times.")] = [],  # noqa: B006
    objective: Annotated[
        list[str], typer.Option(help="The policy for it, beside those named; see `recrawl plan`.")
    ] = [],  # noqa: B006
    queries: Queries = None,
    budget: Annotated[list[str], typer.Option(help="May be given several times.")] = [  # noqa: B006
        "2%"
    ],
    every: Every = "1d",
    parts: Annotated[int, typer.Option(min=1, help="Spend a cycle's budget in so many.")] = 1,
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles that visit all pages.")] = 2,
    cohort: Annotated[
        Cohort, typer.Option(help="Pages there throughout, or all, with births and deaths.")
    ] = Cohort.alive,
    discover: Annotated[
        Discovery, typer.Option(help="Pages of cohort all are found by links, or at their birth.")
    ] = Discovery.links,
    detector: Annotated[str, typer.Option(help="What a change is; `recrawl parts detector`.")] = (
        "digest"
    ),
    host_cap: HostCap = None,
    ties: TieRule = Ties.hash,
    seeds: Annotated[int, typer.Option(min=1, help="Mean over so many orders of ties.")] = 1,
    failures: Annotated[str, typer.Option(help="Share of the visits that fails.")] = "0%",
    not_modified: Annotated[str, typer.Option(help="Share of the pages that answers 304.")] = "0%",
    window: Annotated[str | None, typer.Option(help="A..B, where the trace does not say.")] = None,
    weights: Annotated[
        Path | None, typer.Option(help="CSV of url, weight: for the weighted metrics.")
    ] = None,
    json_file: JsonFile = None,
    keep: Annotated[
        Path | None, typer.Option(help="Keep the raw runs in this folder, as Parquet.")
    ] = None,
    report: ReportFile = None,
) -> None:
    """Say what policies would have found on traces, beside oldest-first and the limit."""
    from recrawl.lab.compare import compare_files, with_baseline
    from recrawl.lab.traces import read_weights

    policy = [
        *policy,
        *(pursuing(each, queries if "search" in each else None) for each in objective),
    ] or [recrawl.DEFAULT_POLICY]
    runs = len(traces) * len(set(budget)) * len(with_baseline(policy))
    with progress_bar("reading", runs) as done:
        found = compare_files(
            traces,
            policy,
            budget,
            opening={"window": span(window), "cohort": cohort.value, "detector": detector},
            progress=done,
            seeds=seeds,
            keep_in=keep,
            host_cap=host_cap,
            weights=read_weights(weights) if weights else None,
            every=units.duration(every),
            warm_up=warm_up,
            parts=parts,
            ties=ties.value,
            discover=discover.value,
            failures=units.share(failures),
            not_modified=units.share(not_modified),
        )
    _tell(found, json_file, report)


def judge(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="What was really there.")],
    stores: Annotated[
        list[Path], typer.Argument(metavar="STORE...", help="Crawls of it; the first is the base.")
    ],
    every: Every = "1d",
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles that do not count.")] = 0,
    window: Annotated[str | None, typer.Option(help="A..B, where the trace does not say.")] = None,
    json_file: JsonFile = None,
    report: ReportFile = None,
) -> None:
    """Say how good crawls of a living web were, against its truth."""
    from recrawl.lab.crawled import judge as judged
    from recrawl.lab.traces import open_trace

    truth = open_trace(trace, window=span(window), cohort="all")
    _tell(judged(truth, stores, every=units.duration(every), warm_up=warm_up), json_file, report)


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
    write(registry.make("world", name).make(**given, seed=seed), folder)


def _tell(found: Comparison, json_file: str | None, report: Path | None) -> None:
    """All that was found, in the forms asked for."""
    if json_file:
        text = json.dumps({"runs": found.runs, "bounds": found.bounds}, indent=1)
        (sys.stdout.write if json_file == "-" else Path(json_file).write_text)(text + "\n")
    if json_file != "-":
        _ranking(found)
    if report:
        from recrawl.lab.report import write_report

        write_report(found, report)
        say(f"The report is {report}.", err)


def _ranking(found: Comparison) -> None:
    """Runs by change ratio, the limit above them; with the way from oldest-first to it."""
    names = ("change ratio", "of the way", "freshness", "age, days", "new links", "policy")
    for (trace, budget), runs in groupby(found.runs, lambda r: (r["trace"], r["budget"])):
        bound = found.bounds[trace][budget]
        rows = list(runs)
        say(f"\n{trace}: {budget} of {rows[0]['pages']:,} pages, {rows[0]['cycles']} cycles")
        if any(row["known"] < 1 for row in rows):
            sure = min(row["known"] for row in rows)
            say(f"At least {sure:.0%} of the answers are known; others take a page as last seen.")
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
