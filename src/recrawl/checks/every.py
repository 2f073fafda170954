"""The contract of every part: a name, default arguments, and copies without loss."""

from __future__ import annotations

import inspect
import pickle
from typing import Any


def require(part: Any, rule: str, *, met: bool) -> None:
    """Raise AssertionError with the part and the rule, unless the rule is met."""
    assert met, f"{type(part).__name__} ({getattr(part, 'name', 'no name')!r}): {rule}"


def arguments(part: Any) -> dict[str, Any]:
    """The arguments that the part was built with and has kept."""
    names = inspect.signature(type(part)).parameters
    return {name: getattr(part, name) for name in names if hasattr(part, name)}


def copies(part: Any) -> list[Any]:
    """The part built again from its arguments, and the part pickled and loaded."""
    return [type(part)(**arguments(part)), pickle.loads(pickle.dumps(part))]  # noqa: S301 our own


def check_has_a_name(part: Any) -> None:
    named = isinstance(vars(type(part)).get("name"), str)
    require(part, "the class itself has a `name`, by which it is found", met=named)


def check_arguments_have_defaults(part: Any) -> None:
    expected = inspect.signature(type(part)).parameters.values()
    bare = [p.name for p in expected if p.default is inspect.Parameter.empty]
    require(part, f"every argument has a default; these have none: {bare}", met=not bare)


def check_constructor_only_stores(part: Any) -> None:
    fresh = type(part)()
    expected = inspect.signature(type(part)).parameters
    stored = {name: p.default for name, p in expected.items()}
    rule = "the constructor stores its arguments under their own names, unaltered, and nothing else"
    require(part, rule, met=vars(fresh) == stored)


def check_pickles(part: Any) -> None:
    rule = "it can be pickled with everything it has learned"
    try:
        loaded = copies(part)[1]
    except (AttributeError, TypeError, pickle.PicklingError) as refused:
        require(part, f"{rule}; {refused}", met=False)
    else:
        require(part, rule, met=repr(vars(loaded)) == repr(vars(part)))
