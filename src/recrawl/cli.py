"""The command line: each command is one library call in the same words."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import StrEnum
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

import recrawl
from recrawl import registry, units, urls
from recrawl.adapters.files import FORMATS, lines
from recrawl.errors import BadInput, RecrawlError
from recrawl.ingest import recognise
from recrawl.policies.objectives import INDICES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from recrawl.lab.compare import Comparison
    from recrawl.model import Budget
    from recrawl.planner import Plan

SOME_REJECTED = 3  #: exit status of an ingest that kept everything but some malformed records

app = typer.Typer(
    help="Decide which web pages to fetch again, and when.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
WIDE = 10_000  #: columns of what has no edge
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False)

Kind = StrEnum("Kind", list(registry.FOLDERS))  # type: ignore[misc]
Format = StrEnum("Format", ["table", *FORMATS])  # type: ignore[misc]
Ties = StrEnum("Ties", ["hash", "id"])

StorePath = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the crawl's history.")]
PolicyName = Annotated[str | None, typer.Option("--policy", help="See `recrawl parts policy`.")]
Objective = Annotated[
    str | None,
    typer.Option(help="change-ratio, freshness, age or harmonic, instead of a policy."),
]
BudgetText = Annotated[str, typer.Option(help="Fetches (1000), or a share of the pages (5%).")]
Now = Annotated[str | None, typer.Option(help="As of this time (ISO 8601, UTC) instead of now.")]
Rules = Annotated[Path | None, typer.Option(help="TOML file with per-pattern rules.")]
HostCap = Annotated[int | None, typer.Option(min=0, max=2**62, help="Most fetches of one host.")]
HostDelay = Annotated[str, typer.Option(help="Least time between fetches of a host.")]
Every = Annotated[str, typer.Option(help="Length of a cycle.")]
Bytes = Annotated[str | None, typer.Option("--bytes", help="Most to download: 20MB.")]
Duration = Annotated[str | None, typer.Option("--time", help="Most time to fetch: 1h.")]
Explore = Annotated[str, typer.Option(help="Share for the longest unseen pages.")]
TieRule = Annotated[Ties, typer.Option(help="Of equal scores: hash, or lowest id.")]
Seed = Annotated[int, typer.Option(help="Draws the order of ties, and a random policy.")]


@app.callback(invoke_without_command=True)
def _root(
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        out.print(recrawl.__version__)
        raise typer.Exit


@app.command()
def ingest(
    store: StorePath,
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="`-` is standard input.")],
    format: Annotated[  # noqa: A002
        str | None, typer.Option(help="Reader to use instead of sniffing; see `parts reader`.")
    ] = None,
    rejects: Annotated[
        Path | None, typer.Option(help="Write malformed records here, as JSON lines with reasons.")
    ] = None,
    detector: Annotated[
        str | None,
        typer.Option(help="What counts as a change, for a new store: digest, simhash:bits=5…"),
    ] = None,
) -> None:
    """Add the visits of crawl files to a store, which is created if need be."""
    if rejects and any(
        Path(name).exists() and rejects.samefile(name) for name in files if rejects.exists()
    ):
        raise BadInput(f"--rejects must not be one of the files to read. Got {str(rejects)!r}.")
    recognise(files, format)
    with (
        recrawl.open(store, create=True, detector=detector) as opened,
        rejects.open("w", encoding="utf-8") if rejects else nullcontext() as sink,
        _bar() as bar,
    ):
        report = recrawl.ingest(
            opened, files, now=_clock(None), format=format, rejects=sink, progress=bar
        )
    _say(
        f"{units.count(report.added, 'visit')} added, {report.known:,} already known, "
        f"{units.count(report.pages, 'new page')}, {report.flips:,} gone or back, "
        f"{report.rejected:,} rejected.",
        err,
    )
    if report.rejected:
        examples = [line for file in report.files for line in file.examples]
        for line in examples[:3] if rejects is None else ():
            _say(f"rejected {line}", err)
        if rejects is None and report.rejected > len(examples[:3]):
            _say("Run again with --rejects FILE to see them all; nothing is added twice.", err)
        raise typer.Exit(SOME_REJECTED)


@app.command()
def plan(
    store: StorePath,
    budget: BudgetText = "5%",
    policy: PolicyName = None,
    objective: Objective = None,
    host_cap: HostCap = None,
    host_delay: HostDelay = "0s",
    every: Every = "1d",
    size: Bytes = None,
    duration: Duration = None,
    explore: Explore = "0%",
    rules: Rules = None,
    ties: TieRule = Ties.hash,
    seed: Seed = 0,
    now: Now = None,
    format: Annotated[  # noqa: A002
        Format | None, typer.Option(help="Default: table on a terminal, jsonl in a pipe.")
    ] = None,
) -> None:
    """Say which pages to fetch next, best first, and why."""
    chosen = recrawl.plan(
        recrawl.open(store),
        _budget(budget, host_cap, host_delay, every, size, duration, explore),
        now=_clock(now),
        policy=_policy(policy, objective),
        rules=recrawl.load_rules(rules) if rules else (),
        ties=ties.value,
        seed=seed,
    )
    if not len(chosen):
        _say(
            f"Nothing planned: the budget of {budget}, caps, rules or back-off leave no page.", err
        )
    shape = format.value if format else ("table" if out.is_terminal else "jsonl")
    if shape == "table":
        _show(chosen)
    else:
        for line in lines(chosen, shape):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()


@app.command()
def explain(
    store: StorePath,
    url: Annotated[str, typer.Argument(metavar="URL")],
    budget: BudgetText = "5%",
    policy: PolicyName = None,
    objective: Objective = None,
    host_cap: HostCap = None,
    host_delay: HostDelay = "0s",
    every: Every = "1d",
    size: Bytes = None,
    duration: Duration = None,
    explore: Explore = "0%",
    rules: Rules = None,
    ties: TieRule = Ties.hash,
    seed: Seed = 0,
    now: Now = None,
) -> None:
    """Say what is known of a page, how it ranks, and what would have it picked."""
    opened = recrawl.open(store)
    page = opened.page_id(urls.canonical(url))
    if page is None:
        raise BadInput(f"URL must be a page of the store. Got {url!r}, which it has never seen.")
    told = recrawl.explain(
        opened,
        page,
        _budget(budget, host_cap, host_delay, every, size, duration, explore),
        now=_clock(now),
        policy=_policy(policy, objective),
        rules=recrawl.load_rules(rules) if rules else (),
        ties=ties.value,
        seed=seed,
    )
    likely = f"90 % between {told.rate_low:.2g} and {told.rate_high:.2g}"
    _say(f"page         {told.url}")
    _say(f"history      {told.history}")
    _say(f"rate         {told.rate:.3g} changes a day ({likely})")
    _say(f"a visit now  shows a change with probability {told.p_change:.2f}")
    _say(f"score        {told.score:.4g}, rank {told.rank:,} of {told.of:,}")
    _say(f"in the plan  {told.verdict}")


@app.command()
def info(store: StorePath) -> None:
    """Say what a store holds."""
    held = recrawl.open(store).summary()
    span = "none"
    if held.first_visit is not None and held.last_visit is not None:
        span = f"{units.show_time(held.first_visit)} to {units.show_time(held.last_visit)}"
    _say(f"pages    {held.pages:,} on {units.count(held.hosts, 'host')}")
    _say(f"visits   {held.visits:,}, {span}")
    _say(f"changes  {held.changes:,} (detector: {held.detector})")
    _say(f"failing  {units.count(held.failing, 'page')}")


@app.command()
def parts(kind: Annotated[Kind | None, typer.Argument()] = None) -> None:
    """List the policies, rates, detectors, readers and worlds there are."""
    table = Table("kind", "name", "answers", box=None)
    for each in [kind.value] if kind else list(registry.FOLDERS):
        for name, part in registry.parts(each).items():
            doc = part.__doc__ or sys.modules[part.__module__].__doc__ or ""
            table.add_row(each, name, doc.strip().splitlines()[0])
    out.print(table)


@app.command()
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
        _say(f"The report is {report}.", err)


@app.command()
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


def main() -> None:
    """Run the command line."""
    try:
        app()
    except RecrawlError as error:
        _say(f"recrawl: {error}", err)
        sys.exit(1)
    except BrokenPipeError:  # the reader of our output went away, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a disk or a path that will not do
        _say(f"recrawl: {error.filename or 'output'}: {error.strerror}.", err)
        sys.exit(1)


def _say(text: str, where: Console = out) -> None:
    """Print data as it is: no markup, no wrapping."""
    where.print(text, markup=False, soft_wrap=True)


def _show(chosen: Plan, top: int = 20) -> None:
    table = Table("rank", "p(change)", "reason", "page", box=None, pad_edge=False)
    for record in chosen.head(top).records():
        cells = (str(record["rank"]), f"{record['p_change']:.2f}", record["reason"], record["url"])
        table.add_row(*map(Text, cells))
    out.print(table, width=WIDE, crop=False, soft_wrap=True)  # a URL cut in two is of no use
    if len(chosen) > top:
        out.print(f"… and {len(chosen) - top:,} more; --format jsonl or urls prints them all.")


def _ranking(found: Comparison) -> None:
    """Runs by change ratio, the limit above them; with the way from oldest-first to it."""
    names = ("change ratio", "of the way", "freshness", "age, days", "new links", "policy")
    for (trace, budget), runs in groupby(found.runs, lambda r: (r["trace"], r["budget"])):
        bound = found.bounds[trace][budget]
        rows = list(runs)
        _say(f"\n{trace}: {budget} of {rows[0]['pages']:,} pages, {rows[0]['cycles']} cycles")
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


def _policy(policy: str | None, objective: str | None) -> str:
    if policy and objective:
        raise BadInput(
            f"Give --policy or --objective, not both. Got {policy!r} and {objective!r}; "
            "an objective is pursued by the policy of the same name."
        )
    if objective is not None and objective not in INDICES:
        raise registry.unknown("objective", objective, INDICES)
    return policy or objective or recrawl.DEFAULT_POLICY


def _budget(
    budget: str,
    host_cap: int | None,
    host_delay: str,
    every: str,
    size: str | None,
    duration: str | None,
    explore: str,
) -> Budget:
    return replace(
        units.budget(budget),
        host_cap=host_cap,
        host_delay=units.duration(host_delay),
        every=units.duration(every),
        bytes=units.size(size) if size else None,
        seconds=units.duration(duration) if duration else None,
        explore=units.share(explore),
    )


def _clock(now: str | None) -> float:
    return units.time(now) if now else time.time()  # noqa: TID251  # the one place with a clock


@contextmanager
def _bar() -> Iterator[Callable[[int, int | None], None] | None]:
    """A progress bar on a terminal, none in a pipe."""
    if not err.is_terminal:
        yield None
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("reading", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
