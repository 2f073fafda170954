"""Every registered part keeps every rule of its kind; both lists are found, not kept by hand."""

import pytest

from recrawl import registry
from recrawl.checks import yield_checks

CASES = [
    pytest.param(part, rule, id=f"{kind}-{name}-{rule.__name__.removeprefix('check_')}")
    for kind in registry.FOLDERS
    for name, part in registry.parts(kind).items()
    for rule in yield_checks(kind)
]


@pytest.mark.parametrize(("part", "rule"), CASES)
def test_contract(part, rule):
    rule(part())
