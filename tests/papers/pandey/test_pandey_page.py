"""What the page says first is counted from the results."""

from __future__ import annotations

from recrawl.papers.pandey.experiment import RefreshRun
from recrawl.papers.pandey.page import verdict


def runs(ahead, share):
    """A budget at which what ships is so far ahead of staleness, in parts of the way."""
    ways = {"user-centric": 0.5 + ahead, "user-centric frozen": 0.4, "index exact": 0.5, "raw": 0.1}
    return [
        RefreshRun("split", policy, share, 1, None, way, 0.0)
        for policy, way in (ways | {"staleness": 0.5}).items()
    ]


def test_the_verdict_counts_cells():
    results = {
        "cloudflare_docs, general queries": [*runs(0.1, 0.01), *runs(-0.1, 0.04), *runs(-0.3, 0.6)],
        "k8s, titles queries": runs(0.0, 0.01),
        "k8s, general queries, scored by inlinks": runs(-0.2, 0.01),  # not counted
        "mdn, titles queries": [*runs(-0.25, 0.01), *runs(-0.019, 0.6)],
        "ota_contrib, general queries": runs(0.1, 0.6),
    }
    text = verdict(results)
    assert "at least as good as best-τ staleness in 2 of 3 cells of cloudflare_docs and k8s" in text
    assert "; 0 of 3 if it learns nothing while tested, 3 of 3 with exact gains, 0 of 3 for" in text
    assert "more than 0.02 of the way in 1 of 3 cells (all budgets): mdn, titles queries." in text
    assert "At worst it is 0.250 behind (mdn, titles queries, 1.00%)." in text
