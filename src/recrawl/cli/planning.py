"""Commands that say what to fetch, and why."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

import recrawl
from recrawl import urls
from recrawl.adapters.files import FORMATS, lines
from recrawl.cli.common import (
    BudgetText,
    Bytes,
    Discover,
    Duration,
    Every,
    Explore,
    HostCap,
    HostDelay,
    Now,
    Objective,
    PolicyName,
    Queries,
    Rules,
    Seed,
    StorePath,
    TieRule,
    Ties,
    budget_of,
    clock,
    err,
    out,
    policy_name,
    say,
    show,
)
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from recrawl.planner import Plan

Format = StrEnum("Format", ["table", *FORMATS])  # type: ignore[misc]


def plan(
    store: StorePath,
    budget: BudgetText = "5%",
    policy: PolicyName = None,
    objective: Objective = None,
    queries: Queries = None,
    host_cap: HostCap = None,
    host_delay: HostDelay = "0s",
    every: Every = "1d",
    size: Bytes = None,
    duration: Duration = None,
    explore: Explore = "0%",
    discover: Discover = None,
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
        budget_of(budget, host_cap, host_delay, every, size, duration, explore, discover),
        now=clock(now),
        policy=policy_name(policy, objective, queries),
        rules=recrawl.load_rules(rules) if rules else (),
        ties=ties.value,
        seed=seed,
    )
    if not len(chosen):
        say(f"Nothing planned: the budget of {budget}, caps, rules or back-off leave no page.", err)
    shape = format.value if format else ("table" if out.is_terminal else "jsonl")
    if shape == "table":
        _show(chosen)
    else:
        for line in lines(chosen, shape):
            sys.stdout.write(line + "\n")
        sys.stdout.flush()


def explain(
    store: StorePath,
    url: Annotated[str, typer.Argument(metavar="URL")],
    budget: BudgetText = "5%",
    policy: PolicyName = None,
    objective: Objective = None,
    queries: Queries = None,
    host_cap: HostCap = None,
    host_delay: HostDelay = "0s",
    every: Every = "1d",
    size: Bytes = None,
    duration: Duration = None,
    explore: Explore = "0%",
    discover: Discover = None,
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
        budget_of(budget, host_cap, host_delay, every, size, duration, explore, discover),
        now=clock(now),
        policy=policy_name(policy, objective, queries),
        rules=recrawl.load_rules(rules) if rules else (),
        ties=ties.value,
        seed=seed,
    )
    likely = f"90 % between {told.rate_low:.2g} and {told.rate_high:.2g}"
    say(f"page         {told.url}")
    say(f"history      {told.history}")
    say(f"rate         {told.rate:.3g} changes a day ({likely})")
    say(f"a visit now  shows a change with probability {told.p_change:.2f}")
    for said in told.signals:
        say(f"signal       {said}")
    for reason in told.reasons:
        say(f"because      {reason}")
    say(f"score        {told.score:.4g}, rank {told.rank:,} of {told.of:,}")
    say(f"in the plan  {told.verdict}")


def _show(chosen: Plan, top: int = 20) -> None:
    rows = [
        (str(record["rank"]), f"{record['p_change']:.2f}", record["reason"], record["url"])
        for record in chosen.head(top).records()
    ]
    show("rank", "p(change)", "reason", "page", rows=rows)
    if len(chosen) > top:
        out.print(f"… and {len(chosen) - top:,} more; --format jsonl or urls prints them all.")
