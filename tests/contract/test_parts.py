"""Every registered part keeps every rule of its kind; both lists are found, not kept by hand."""

from itertools import count

import pytest

from recrawl import registry
from recrawl.checks import store, yield_checks
from recrawl.errors import MissingExtra
from recrawl.history import Store

CASES = [
    pytest.param(part, rule, id=f"{kind}-{name}-{rule.__name__.removeprefix('check_')}")
    for kind in registry.GROUPS
    for name, part in registry.parts(kind).items()
    for rule in yield_checks(kind)
]


@pytest.mark.parametrize(("part", "rule"), CASES)
def test_contract(part, rule):
    try:
        rule(part())
    except MissingExtra as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("rule", [r for n, r in vars(store).items() if n.startswith("check_")])
def test_store_contract(rule, tmp_path):
    number = count()

    def new():
        return Store.open(tmp_path / str(next(number)), create=True)

    rule(new)
