"""Budget, host caps, exploration, rules: scores → plan; and why."""

from recrawl.planner.explain import Explanation, explain
from recrawl.planner.plan import Plan, PlanOptions, plan
from recrawl.planner.policy import DEFAULT_POLICY, find_policy, policy_for
from recrawl.planner.rules import Rule, load_rules

__all__ = [
    "DEFAULT_POLICY",
    "Explanation",
    "Plan",
    "PlanOptions",
    "Rule",
    "explain",
    "find_policy",
    "load_rules",
    "plan",
    "policy_for",
]
