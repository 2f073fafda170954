"""The checks catch parts that break a rule, and say which."""

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from recrawl.checks import check_detector, check_policy, check_rate
from recrawl.policies.stateless import Stateless


class Good(Stateless):
    name: ClassVar[str] = "good"

    def score(self, pages, now):
        return pages.days_since_visit(now)


class Peeks(Good):
    name: ClassVar[str] = "peeks"

    def score(self, pages, now):
        return np.diff(pages.intervals().start).astype(float)


class Writes(Good):
    name: ClassVar[str] = "writes"

    def score(self, pages, now):
        pages.n_changes[:] = 0
        return pages.exposure + 1.0


class CountsRows(Good):
    name: ClassVar[str] = "counts-rows"

    def score(self, pages, now):
        return np.arange(len(pages), dtype=float)


class Undefined(Good):
    name: ClassVar[str] = "undefined"

    def score(self, pages, now):
        return np.full(len(pages), np.nan)


class Remembers(Good):
    name: ClassVar[str] = "remembers"
    calls = 0

    def score(self, pages, now):
        self.calls += 1
        return pages.exposure + self.calls


class Works(Good):
    name: ClassVar[str] = "works"

    def __init__(self, size=1):
        self.size = size + 1


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        (Peeks, "later than"),
        (Writes, "write"),
        (CountsRows, "order"),
        (Undefined, "finite"),
        (Remembers, "same"),
        (Works, "stores"),
    ],
)
def test_a_policy_that_breaks_a_rule_is_named(policy, rule):
    with pytest.raises(AssertionError, match=f"{policy.name}.*{rule}"):
        check_policy(policy())


def test_a_good_policy_passes():
    check_policy(Good())


class Zero:
    name: ClassVar[str] = "zero"

    def rate(self, pages):
        return pages.n_changes / 1.0


def test_a_rate_of_0_fails():
    with pytest.raises(AssertionError, match="above 0"):
        check_rate(Zero())


def test_a_part_that_cannot_be_pickled_fails():
    class Local(Good):
        name: ClassVar[str] = "local"

    with pytest.raises(AssertionError, match="pickled"):
        check_policy(Local())


class ByDigest:
    name: ClassVar[str] = "by-digest"
    needs: ClassVar[tuple[str, ...]] = ("digest",)

    def changed(self, before, after):
        import pyarrow.compute as pc

        return pc.not_equal(before["digest"], after["digest"]).combine_chunks()


class Always(ByDigest):
    name: ClassVar[str] = "always"

    def changed(self, before, after):
        return pa.array([True] * len(before), pa.bool_())


def test_detectors():
    check_detector(ByDigest())
    with pytest.raises(AssertionError, match="itself"):
        check_detector(Always())
