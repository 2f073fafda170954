"""The loop: plan, fetch, record, learn. Written once; worlds differ by their engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recrawl.planner import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from recrawl.model import Budget, Time
    from recrawl.planner import Plan, Rule
    from recrawl.protocols import Engine, Policy, Recorder


@dataclass(frozen=True)
class Cycle:
    """One turn of the loop: what was planned, and what came back."""

    now: Time
    plan: Plan
    visits: pa.Table


def turn(
    history: Recorder,
    policy: Policy,
    engine: Engine,
    budget: Budget,
    *,
    now: Time,
    rules: Sequence[Rule] = (),
    ties: str = "hash",
    seed: int = 0,
) -> Cycle:
    """Plan what to fetch now, have it fetched, and record what it showed.

    The policy learns from it at the beginning of the next turn.
    """
    chosen = plan(history, budget, now=now, policy=policy, rules=rules, ties=ties, seed=seed)
    visits = engine.fetch(chosen)
    history.append(visits, now=now)
    return Cycle(now, chosen, visits)
