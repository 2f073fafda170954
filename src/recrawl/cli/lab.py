"""Commands of the lab: replays, and worlds to replay on."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import recrawl
from recrawl.cli.common import (
    Every,
    HostCap,
    Impute,
    TieRule,
    Ties,
    Window,
    err,
    out,
    progress_bar,
    say,
)

if TYPE_CHECKING:
    from rich.table import Table

    from recrawl.lab.compare import Comparison

JsonFile = Annotated[
    str | None, typer.Option("--json", help="File for all numbers; - is standard output.")
]
ReportFile = Annotated[
    Path | None, typer.Option("--report", help="File for an HTML page with charts.")
]
Cohort = StrEnum("Cohort", ["alive", "all"])
Discovery = StrEnum("Discovery", ["links", "oracle"])


def replay(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACE...", help="Folders or files.")],
    policy: Annotated[list[str], typer.Option(help="See `recrawl plan`; may be repeated.")] = [],  # noqa: B006
    objective: Annotated[list[str], typer.Option(help="Its policy too; may be repeated.")] = [],  # noqa: B006
    queries: Annotated[
        Path | None,
        typer.Option(help="File of queries and frequencies, for the quality of answers."),
    ] = None,
    budget: Annotated[list[str], typer.Option(help="May be repeated.")] = [  # noqa: B006
        "2%"
    ],
    every: Every = "1d",
    parts: Annotated[
        int, typer.Option(min=1, help="Spend a cycle's budget in this many parts.")
    ] = 1,
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles, which visit all pages.")] = 2,
    cohort: Annotated[
        Cohort, typer.Option(help="Pages there all the time, or all, with births and deaths.")
    ] = Cohort.alive,
    discover: Annotated[
        Discovery, typer.Option(help="Find new pages by links, or at their birth (cohort all).")
    ] = Discovery.links,
    detector: Annotated[
        str, typer.Option(help="What counts as a change; see `parts detector`.")
    ] = ("digest"),
    host_cap: HostCap = None,
    ties: TieRule = Ties.hash,
    seeds: Annotated[int, typer.Option(min=1, help="Average over this many orders of ties.")] = 1,
    failures: Annotated[str, typer.Option(help="Share of the visits that fail.")] = "0%",
    not_modified: Annotated[str, typer.Option(help="Share of the pages that answer 304.")] = "0%",
    last_modified: Annotated[
        str,
        typer.Option(
            help="Share of the hosts that send a true Last-Modified; 50%:now, :frozen or :random "
            "say what the others send."
        ),
    ] = "0%",
    signals: Annotated[  # noqa: FBT002
        bool, typer.Option(help="Read the claims of the trace's sitemaps and feeds.")
    ] = True,
    window: Window = None,
    weights: Annotated[
        Path | None, typer.Option(help="CSV of url, weight, for the weighted metrics.")
    ] = None,
    json_file: JsonFile = None,
    keep: Annotated[
        Path | None, typer.Option(help="Folder to keep the raw runs in, as Parquet.")
    ] = None,
    report: ReportFile = None,
    *,
    impute: Impute = False,
) -> None:
    """Replay policies on traces, beside oldest-first and the limit."""
    named = policy or ([] if objective else [recrawl.DEFAULT_POLICY])
    runs = len(traces) * len(set(budget)) * (len({"oldest", *named}) + len(objective))
    with progress_bar("reading", runs) as done:
        comparison = recrawl.replay(
            traces,
            policy,
            budget,
            objective=objective,
            queries=queries,
            every=every,
            parts=parts,
            warm_up=warm_up,
            cohort=cohort.value,
            discover=discover.value,
            detector=detector,
            host_cap=host_cap,
            ties=ties.value,
            seeds=seeds,
            failures=failures,
            not_modified=not_modified,
            last_modified=last_modified,
            signals=signals,
            window=window,
            impute=impute,
            weights=weights,
            keep=keep,
            progress=done,
        )
    _print_comparison(comparison, json_file, report)


def judge(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="The truth: folder or file.")],
    stores: Annotated[
        list[Path],
        typer.Argument(metavar="STORE...", help="Crawls of it; the first is the baseline."),
    ],
    every: Every = "1d",
    warm_up: Annotated[int, typer.Option(min=0, help="First cycles, which do not count.")] = 0,
    window: Window = None,
    json_file: JsonFile = None,
    report: ReportFile = None,
) -> None:
    """Measure crawls of a living web against its truth."""
    judged = recrawl.judge(trace, stores, every=every, warm_up=warm_up, window=window)
    _print_comparison(judged, json_file, report)


def world(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See `recrawl parts world`.")],
    folder: Annotated[Path, typer.Option("--out", "-o", help="New or empty folder.")],
    pages: Annotated[int | None, typer.Option(min=1)] = None,
    days: Annotated[int | None, typer.Option(min=1)] = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
) -> None:
    """Make a trace of a web whose truth is known."""
    recrawl.world(name, folder, pages=pages, days=days, seed=seed)


def _print_comparison(comparison: Comparison, json_file: str | None, report: Path | None) -> None:
    """Write the comparison in the forms asked for."""
    if json_file:
        text = json.dumps({"runs": comparison.runs, "bounds": comparison.bounds}, indent=1)
        (sys.stdout.write if json_file == "-" else Path(json_file).write_text)(text + "\n")
    if json_file != "-":
        _print_ranking(comparison)
    if report:
        comparison.write_report(report)
        say(f"The report is {report}.", err)


def _print_ranking(comparison: Comparison) -> None:
    """Print the runs by change ratio, the limit above them."""
    for (trace, budget), runs in groupby(comparison.runs, lambda r: (r["trace"], r["budget"])):
        rows = sorted(runs, key=lambda run: -run["change_ratio"])
        say(f"\n{trace}: {budget} of {rows[0]['pages']:,} pages, {rows[0]['cycles']} cycles")
        if any(row["known"] < 1 for row in rows):
            sure = min(row["known"] for row in rows)
            say(f"At least {sure:.0%} of the answers are known; others take a page as last seen.")
        out.print(_ranking(comparison, rows, comparison.bounds[trace][budget]))


def _ranking(comparison: Comparison, rows: list[dict[str, Any]], bound: dict[str, float]) -> Table:
    from rich.table import Table

    from recrawl.lab.answers import QUALITIES

    measured = [name for name in QUALITIES if name in rows[0]]
    names = ("change ratio", "of the way", "freshness", "age, days", "new links")
    symbols = [QUALITIES[name] for name in measured]
    table = Table(*names, *symbols, "policy", box=None, pad_edge=False)
    limits = (
        f"{bound['change_ratio']:.4f}",
        "100 %",
        "",
        "",
        f"{bound['new_links_per_fetch']:.3f}",
    )
    table.add_row(*limits, *([""] * len(measured)), "(the clairvoyant)")
    if measured:
        never = [f"{bound[f'{name}_never']:.5f}" for name in measured]
        table.add_row(*([""] * len(names)), *(["1.00000"] * len(measured)), "(always fresh)")
        table.add_row(*([""] * len(names)), *never, "(never refreshed)")
    for run in rows:
        captured = comparison.captured(run)
        table.add_row(
            f"{run['change_ratio']:.4f}",
            "" if captured is None else f"{captured:.0%}",
            f"{run['freshness']:.4f}",
            f"{run['age_days']:.2f}",
            f"{run['new_links_per_fetch']:.3f}",
            *(f"{run[name]:.5f}" for name in measured),
            run["policy"],
        )
    return table
