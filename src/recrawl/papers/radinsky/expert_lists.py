"""The pages chosen as experts of a few targets, as in the examples of §9.1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from recrawl.papers.radinsky.experiment import MAIN
from recrawl.papers.radinsky.tables import measure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recrawl.model import FloatArray, IntArray
    from recrawl.papers.radinsky.experiment import Predictions

SHOWN = 3  #: experts of each target by each selection method, of highest weight
LABELS: Final = {
    "graph": "graph distance",
    "content": "content similarity",
    "correlation": "cross-correlation",
    "warping": "DTW",
}


def expert_lists(result: Predictions, n_targets: int) -> str:
    """Experts of the targets that gain most from them, then of those that lose most; Markdown."""
    accuracy = {key: measure(result.decisions[key], result.truth).accuracy for key in ("2D", MAIN)}
    gain = accuracy[MAIN] - accuracy["2D"]
    lines = [
        "### Experts chosen (§9.1)",
        "",
        "Targets that gain most from their experts, then those that lose most: accuracy of 2D and",
        f"3D; by each selection method the share of the target's own vote, and the {SHOWN} experts",
        "of highest weight.",
        "",
    ]
    for target in _extremes(gain, n_targets):
        scores = (
            f"{name} {accuracy[key][target]:.0%}" for name, key in (("2D", "2D"), ("3D", MAIN))
        )
        lines.append(f"- `{result.urls[result.target[target]]}`: {', '.join(scores)}")
        lines += _chosen(result, target)
    return "\n".join(lines) + "\n"


def _extremes(gain: FloatArray, n_targets: int) -> IntArray:
    """Targets with the highest gain, then those with the lowest; each at most once."""
    order = np.argsort(-gain, kind="stable")  # a target without a known day comes last
    order = order[: int(np.isfinite(gain).sum())]
    n_targets = min(n_targets, len(order))
    n_best = (n_targets + 1) // 2
    return np.concatenate([order[:n_best], order[len(order) - (n_targets - n_best) :]])


def _chosen(result: Predictions, target: int) -> Iterator[str]:
    for method, label in LABELS.items():
        near = result.related[method]
        k = result.protocol.k
        row, weight = near.row[target, :k], near.weight[target, :k]
        experts = [
            f"`{result.urls[page]}` {value:.2f}"
            for page, value in zip(row[row >= 0][:SHOWN], weight[row >= 0][:SHOWN], strict=True)
        ]
        own_share = 1 / (1 + weight.sum())
        yield f"  - {label}: itself {own_share:.0%}; {', '.join(experts) or 'no other'}"
