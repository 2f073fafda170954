"""The contract of each kind of part, as checks that a part must pass.

`check_policy(MyPolicy())` raises AssertionError, which names the part and the rule it breaks.
The rules of a kind are the functions `check_*` in the module of that name, in their order there;
each takes the part. The rules in `every` hold for all kinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recrawl.checks import detector, every, policy, rate, reader, store, world
from recrawl.checks.sample import build_pages, sample_pages
from recrawl.registry import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import ModuleType

    from recrawl.protocols import Detector, Policy, Rate, Reader

__all__ = [
    "build_pages",
    "check",
    "check_detector",
    "check_policy",
    "check_rate",
    "check_reader",
    "check_store",
    "sample_pages",
    "yield_checks",
]


_RULES = {"policy": policy, "rate": rate, "detector": detector, "reader": reader, "world": world}


def yield_checks(kind: str) -> Iterator[Callable[[Any], None]]:
    """The rules for parts of a kind, those of every kind first."""
    yield from _rules(every)
    if kind in _RULES:
        yield from _rules(_RULES[kind])


def _rules(module: ModuleType) -> list[Callable[[Any], None]]:
    return [rule for name, rule in vars(module).items() if name.startswith("check_")]


def check(part: Any, kind: str | None = None) -> None:
    """Check a part, an object or its class, against every rule of its kind.

    The kind follows from the methods of the part unless it is given.
    """
    kind = kind or kind_of(part if isinstance(part, type) else type(part))
    made = part() if isinstance(part, type) else part
    for rule in yield_checks(kind):
        rule(made)


def check_policy(part: Policy) -> None:
    """Check a policy against its contract."""
    check(part, "policy")


def check_rate(part: Rate) -> None:
    """Check a rate against its contract."""
    check(part, "rate")


def check_detector(part: Detector) -> None:
    """Check a change detector against its contract."""
    check(part, "detector")


def check_reader(part: Reader) -> None:
    """Check a reader against its contract."""
    check(part, "reader")


def check_store(new: Callable[[], Any]) -> None:
    """Check a history against its contract; `new` makes an empty one each time."""
    for rule in _rules(store):
        rule(new)
