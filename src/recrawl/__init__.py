"""Decide which web pages to fetch again, and when.

Each command is one function of the same name; modules are imported when a name is first used.

>>> import recrawl
>>> sorted(recrawl.parts("policy"))[:3]
['aad-code', 'aad-text', 'age']
"""

import sys as _sys
from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING as _TYPE_CHECKING

if _TYPE_CHECKING:
    from recrawl.checks import check
    from recrawl.crawl import CycleResult, LiveCrawl, crawl
    from recrawl.errors import (
        BadInput,
        BadUrl,
        MissingExtra,
        RecrawlError,
        StoreBusy,
        StoreError,
        StoreInvalid,
        StoreNotFound,
        UnknownPart,
    )
    from recrawl.history import Store, Summary
    from recrawl.ingest import FileReport, IngestReport, ingest
    from recrawl.lab.commands import evolve, judge, replay, world
    from recrawl.lab.compare import Comparison
    from recrawl.lab.learn import EvolutionResult
    from recrawl.model import VISITS, Budget, Pages
    from recrawl.planner import DEFAULT_POLICY, Explanation, Plan, Rule, explain, load_rules, plan
    from recrawl.registry import FoundPart, make, parts, register
    from recrawl.search.index import SearchResult, search

    open = Store.open  # noqa: A001  # recrawl.open(path), like open(path)
    info = Store.summary

#: Module → the public names in it.
_NAMES = {
    "checks": "check",
    "crawl": "CycleResult LiveCrawl crawl",
    "errors": "BadInput BadUrl MissingExtra RecrawlError StoreBusy StoreError StoreInvalid "
    "StoreNotFound UnknownPart",
    "history": "Store Summary",
    "ingest": "FileReport IngestReport ingest",
    "lab.commands": "evolve judge replay world",
    "lab.compare": "Comparison",
    "lab.learn": "EvolutionResult",
    "model": "VISITS Budget Pages",
    "planner": "DEFAULT_POLICY Explanation Plan Rule explain load_rules plan",
    "registry": "FoundPart make parts register",
    "search.index": "SearchResult search",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}
_METHODS = {"open": "open", "info": "summary"}  #: functions that are methods of Store

__all__ = [
    "DEFAULT_POLICY",
    "VISITS",
    "BadInput",
    "BadUrl",
    "Budget",
    "Comparison",
    "CycleResult",
    "EvolutionResult",
    "Explanation",
    "FileReport",
    "FoundPart",
    "IngestReport",
    "LiveCrawl",
    "MissingExtra",
    "Pages",
    "Plan",
    "RecrawlError",
    "Rule",
    "SearchResult",
    "Store",
    "StoreBusy",
    "StoreError",
    "StoreInvalid",
    "StoreNotFound",
    "Summary",
    "UnknownPart",
    "check",
    "crawl",
    "evolve",
    "explain",
    "info",
    "ingest",
    "judge",
    "load_rules",
    "make",
    "open",
    "parts",
    "plan",
    "register",
    "replay",
    "search",
    "world",
]


class _Door(_ModuleType):
    """Keeps a function where the import system would put the folder of the same name."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, _ModuleType)):
            super().__setattr__(name, value)


def __getattr__(name: str) -> object:
    value: object
    if name == "__version__":
        from importlib.metadata import version

        value = version("recrawl")
    elif name in _METHODS:
        value = getattr(__getattr__("Store"), _METHODS[name])
    elif name in _HOMES:
        value = getattr(_import_module(f"recrawl.{_HOMES[name]}"), name)
    else:
        raise AttributeError(f"module 'recrawl' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", *(name for name in globals() if name[:2] == "__")})


_sys.modules[__name__].__class__ = _Door
