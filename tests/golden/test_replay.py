"""The numbers of a bundled trace, to four decimals; a plain replay page by page gives the same."""

from pathlib import Path

import pytest

from recrawl.lab.compare import compare
from recrawl.lab.traces import open_trace

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def found():
    return compare([open_trace(HERE / "small")], ["tx", "poisson"], ["4%"], ties="id")


@pytest.mark.parametrize(
    ("policy", "change_ratio", "freshness", "new_links"),
    [
        ("oldest", 0.1063, 0.9537, 0.2443),
        ("tx", 0.0144, 0.8637, 0.0230),
        ("poisson", 0.1063, 0.9494, 0.2299),
    ],
)
def test_classic_policies(found, policy, change_ratio, freshness, new_links):
    [run] = [run for run in found.runs if run["policy"] == policy]
    assert round(run["change_ratio"], 4) == change_ratio
    assert round(run["freshness"], 4) == freshness
    assert round(run["new_links_per_fetch"], 4) == new_links


def test_the_clairvoyant(found):
    assert round(found.bounds["small"]["4%"]["change_ratio"], 4) == 0.1609
