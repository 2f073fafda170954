"""What the commands share: consoles, options, and words turned into values."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

import recrawl
from recrawl import registry, units
from recrawl.errors import BadInput
from recrawl.policies.objectives import INDICES

if TYPE_CHECKING:
    from recrawl.model import Budget

WIDE = 10_000  #: columns of what has no edge
out = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
err = Console(stderr=True, highlight=False)

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


def say(text: str, where: Console = out) -> None:
    """Print data as it is: no markup, no wrapping."""
    where.print(text, markup=False, soft_wrap=True)


def policy_name(policy: str | None, objective: str | None) -> str:
    if policy and objective:
        raise BadInput(
            f"Give --policy or --objective, not both. Got {policy!r} and {objective!r}; "
            "an objective is pursued by the policy of the same name."
        )
    if objective is not None and objective not in INDICES:
        raise registry.unknown("objective", objective, INDICES)
    return policy or objective or recrawl.DEFAULT_POLICY


def budget_of(
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


def clock(now: str | None) -> float:
    return units.time(now) if now else time.time()  # noqa: TID251  # the one place with a clock
