"""What does a part owe? The public contract: a part is whatever passes these checks.

`check_policy(MyPolicy())` raises AssertionError naming the part and the rule it breaks.
A kind's rules are the functions `check_*` of `recrawl.checks.<kind>`, each taking the part; those
of `recrawl.checks.every` hold for all kinds. A rule, or a file of rules, is found by being there.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from recrawl.checks import store
from recrawl.checks.sample import build_pages, sample_pages
from recrawl.registry import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


def yield_checks(kind: str) -> Iterator[Callable[[Any], None]]:
    """The rules for parts of a kind, those of every kind first."""
    own = f"{__name__}.{kind}"
    for module in (f"{__name__}.every", own):
        if find_spec(module) is not None:
            names = vars(import_module(module))
            yield from (rule for name, rule in names.items() if name.startswith("check_"))


def check(part: Any, kind: str | None = None) -> None:
    """Hold a part, an object or its class, to every rule of its kind.

    The kind follows from the methods of the part unless it is given.
    """
    kind = kind or kind_of(part if isinstance(part, type) else type(part))
    made = part() if isinstance(part, type) else part
    for rule in yield_checks(kind):
        rule(made)


def check_policy(policy: Policy) -> None:
    """Hold a policy to its contract."""
    check(policy, "policy")


def check_rate(rate: Rate) -> None:
    """Hold a rate to its contract."""
    check(rate, "rate")


def check_detector(detector: Detector) -> None:
    """Hold a detector of change to its contract."""
    check(detector, "detector")


def check_reader(reader: Reader) -> None:
    """Hold a reader to its contract."""
    check(reader, "reader")


def check_store(new: Callable[[], Any]) -> None:
    """Hold a history to its contract; `new` makes an empty one each time."""
    for name, rule in vars(store).items():
        if name.startswith("check_"):
            rule(new)
