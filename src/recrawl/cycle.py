"""The loop: plan, fetch, record, learn. Written once; worlds differ by their engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.planner.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import Budget, Time
    from recrawl.planner import Plan, Rule
    from recrawl.protocols import Engine, Policy, Recorder


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
) -> Plan:
    """Plan what to fetch now, have it fetched, and record what it showed, batch by batch.

    The policy learns from it at the beginning of the next turn. No batch is kept: there may be more
    than fits into memory.
    """
    chosen = plan(history, budget, now=now, policy=policy, rules=rules, ties=ties, seed=seed)
    for batch in engine.fetch(chosen):
        history.append(batch, now=now)
    return chosen
