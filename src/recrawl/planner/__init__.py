"""Budget, host caps, exploration, rules: scores → plan; and why."""

from recrawl.planner.explain import Explanation, explain
from recrawl.planner.plan import DEFAULT_POLICY, Plan, plan
from recrawl.planner.rules import Rule, load_rules

__all__ = ["DEFAULT_POLICY", "Explanation", "Plan", "Rule", "explain", "load_rules", "plan"]
