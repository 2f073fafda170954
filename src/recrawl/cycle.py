"""One cycle of every crawl and replay: plan, fetch, record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recrawl.planner.plan import plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import Budget, Time
    from recrawl.planner import Plan, Rule
    from recrawl.protocols import Engine, Policy, Recorder


def run_cycle(
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
    """Plan what to fetch now, fetch it, and record the visits batch by batch; returns the plan.

    The policy learns from them when the next cycle is planned. Batches are not kept, since
    together they may not fit into memory.
    """
    chosen = plan(history, budget, now=now, policy=policy, rules=rules, ties=ties, seed=seed)
    for batch in engine.fetch(chosen):
        history.append(batch, now=now)
    return chosen
