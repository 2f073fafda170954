"""Which policy is meant? One by name, an object, or the one for an objective."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING

from recrawl import registry
from recrawl.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.protocols import Policy

DEFAULT_POLICY = "auto"  #: because it learns from all there is, and starves no page


def find_policy(
    policy: str | Policy | None = None,
    *,
    objective: str | None = None,
    queries: str | Path | None = None,
    seed: int = 0,
) -> Policy:
    """The policy itself, the one of that name, the one for the objective, or the default.

    One made by name that draws at random draws with `seed`, as the order of ties does.
    """
    if policy and objective:
        raise BadInput(
            f"Give a policy or an objective, not both. Got {policy!r} and {objective!r}; "
            "an objective names the policy that pursues it."
        )
    if queries and not objective:
        raise BadInput(f"queries must go with the objective search. Got {queries} without it.")
    if policy is not None and not isinstance(policy, str):
        return policy
    name = policy or (policy_for(objective, queries) if objective else DEFAULT_POLICY)
    part = registry.part_class("policy", name)
    arguments = {"seed": seed} if "seed" in signature(part).parameters else {}
    made: Policy = registry.make("policy", name, **arguments)
    return made


def policy_for(objective: str, queries: str | Path | None = None) -> str:
    """The policy for an objective, or for several with weights, as `make` takes it.

    >>> policy_for("new-links"), policy_for("age=1,freshness=2")
    ('links', 'auto:objective=age=1+freshness=2')
    """
    from recrawl.policies.auto import POLICY_OF_OBJECTIVE, weights

    wanted = weights(objective)  # raises for an unknown one
    if ("search" in wanted) != (queries is not None):
        raise BadInput(
            "The objective search, alone or with others, needs queries, a file of what people "
            f"search for, and no other objective takes them. Got {objective!r} and {queries}."
        )
    part = POLICY_OF_OBJECTIVE.get(next(iter(wanted))) if len(wanted) == 1 else None
    name = part or f"auto:objective={objective.replace(',', '+')}"
    return f"{name}{',' if ':' in name else ':'}queries={queries}" if queries else name
