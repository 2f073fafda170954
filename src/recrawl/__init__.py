"""Decide which web pages to fetch again, and when.

>>> import recrawl
>>> sorted(recrawl.parts("policy"))[:3]
['aad-code', 'aad-text', 'age']
"""

from importlib.metadata import version

from recrawl.errors import RecrawlError
from recrawl.history import Store
from recrawl.ingest import ingest
from recrawl.model import VISITS, Budget, Pages
from recrawl.planner import DEFAULT_POLICY, Plan, Rule, explain, load_rules, plan
from recrawl.registry import make, parts

__version__ = version("recrawl")

open = Store.open  # noqa: A001  # recrawl.open(path), like open(path)

__all__ = [
    "DEFAULT_POLICY",
    "VISITS",
    "Budget",
    "Pages",
    "Plan",
    "RecrawlError",
    "Rule",
    "Store",
    "explain",
    "ingest",
    "load_rules",
    "make",
    "open",
    "parts",
    "plan",
]
