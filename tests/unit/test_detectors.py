"""What counts as a change."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from recrawl.detectors.chi_squared import chi_squared
from recrawl.model import VISITS
from recrawl.page import simhash
from recrawl.protocols import Detector
from recrawl.registry import make, parts

PAGE = " ".join(f"word{i}" for i in range(200))
SIX = ([100, 50, 30, 2, 1, 1], [110, 45, 28, 0, 2, 3])


def visits(column: str, values: list[Any], **more: list[Any]) -> pa.Table:
    rows = {column: values, **more}
    return pa.table(
        {f.name: pa.array(rows.get(f.name, [None] * len(values)), f.type) for f in VISITS}
    )


def changed(detector: Detector, column: str, *pairs: tuple[Any, Any]) -> list[bool | None]:
    before, after = (visits(column, list(side)) for side in zip(*pairs, strict=True))
    differs = detector.changed(before, after)
    assert isinstance(differs, pa.BooleanArray)
    return differs.to_pylist()  # type: ignore[no-any-return]


def test_all_are_registered_and_use_only_the_columns_they_need() -> None:
    names = ["chi-squared", "digest", "links", "relevance", "shingles", "simhash"]
    assert list(parts("detector")) == names
    for name, part in parts("detector").items():
        detector = make("detector", name)
        assert isinstance(detector, Detector)
        rows = visits("url", ["http://a.org/"] * 2).select(part.needs)
        assert detector.changed(rows, rows).to_pylist() == [None, None]
        assert detector.changed(rows[:0], rows[:0]).to_pylist() == []


def test_digest() -> None:
    before = visits("digest", [1, 1, 1, None, 1, 1], digest_of=["text"] * 5 + [None])
    after = visits(
        "digest", [1, 2, 2, 2, None, 1], digest_of=["text"] * 2 + ["bytes"] + ["text"] * 2 + [None]
    )
    differs = make("detector", "digest").changed(before, after)
    assert differs.to_pylist() == [False, True, None, None, None, None]


def test_simhash_counts_bits() -> None:
    pairs = [(0b0000, 0b0111), (0b0000, 0b1111), (2**64 - 1, 2**64 - 8), (None, 1)]
    assert changed(make("detector", "simhash"), "simhash", *pairs) == [False, True, False, None]
    assert changed(make("detector", "simhash", bits=2), "simhash", *pairs)[0] is True


def test_simhash_is_computed_where_it_was_not_recorded() -> None:
    before = visits("text", [PAGE, PAGE, None], simhash=[None, None, None])
    after = visits("text", [None, "no word in common", PAGE], simhash=[simhash(PAGE), None, None])
    differs = make("detector", "simhash").changed(before, after)
    assert differs.to_pylist() == [False, True, None]


def test_shingles() -> None:
    little = PAGE.replace("word100", "other")
    much = PAGE[: len(PAGE) // 2]
    pairs = [(PAGE, PAGE), (PAGE, little), (PAGE, much), ("", ""), ("", PAGE), (None, PAGE)]
    differs = changed(make("detector", "shingles"), "text", *pairs)
    assert differs == [False, False, True, False, True, None]
    rewritten = (PAGE, PAGE.replace("word", "term"))
    assert changed(make("detector", "shingles", tau=1.0), "text", rewritten) == [False]
    assert changed(make("detector", "shingles", tau=1.0, inclusive=True), "text", rewritten) == [
        True
    ]


def test_links() -> None:
    pairs = [(["a", "b"], ["b", "a", "a"]), (["a"], ["a", "b"]), ([], []), ([], ["a"]), (None, [])]
    assert changed(make("detector", "links"), "links", *pairs) == [False, True, False, True, None]


@pytest.mark.parametrize(
    ("rows", "pooled", "statistic", "dof", "p"),
    [
        (([50, 30, 20], [30, 30, 40]), False, 11.666667, 2, 0.002928),
        (SIX, False, 4.0991, 5, 0.5352),
        (SIX, True, 0.8765, 3, 0.8311),
        (([1000, 500, 300, 0], [1000, 500, 300, 20]), False, 19.8901, 3, 0.000179),
        (([1000, 500, 300, 0], [1000, 500, 300, 20]), True, 19.8901, 3, 0.000179),
        (([10, 5, 3], [11, 5, 3]), False, 0.0206, 2, 0.9897),
        (([50, 50, 0], [50, 50, 1]), True, 0.0, 1, 1.0),  # OTHER expects 0.5: dropped
        (([1, 1], [1, 1]), True, 0.0, 0, 1.0),  # nothing but OTHER
        (([0, 0], [0, 0]), False, 0.0, 0, 1.0),
        (([0, 0], [3, 1]), True, float("inf"), 1, 0.0),
    ],
)
def test_chi_squared_known_answers(
    rows: tuple[list[int], list[int]], pooled: bool, statistic: float, dof: int, p: float
) -> None:
    differs = chi_squared(*rows, pooled=pooled)
    assert differs.statistic == pytest.approx(statistic, abs=1e-4)
    assert differs.dof == dof
    assert differs.p == pytest.approx(p, abs=6e-5 if p > 0.001 else 6e-7)


def test_chi_squared_of_texts() -> None:
    text = "a " * 1000 + "b " * 500 + "c " * 300
    pairs = [(text, text + "d " * 20), (text, text + "d"), ("", "a"), ("", ""), (None, "a")]
    expected = [True, False, True, False, None]
    for pooled in (False, True):
        detector = make("detector", "chi-squared", pooled=pooled)
        assert changed(detector, "text", *pairs) == expected
