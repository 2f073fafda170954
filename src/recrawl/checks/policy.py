"""The contract of a policy: equal finite scores for equal pages, from past visits alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.checks.every import copies, require
from recrawl.checks.sample import (
    NOW,
    SampleHistory,
    is_altered,
    sample_pages,
    sample_signals,
    shuffled,
)

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages
    from recrawl.protocols import Policy


def _learned_scores(policy: Policy, pages: Pages) -> FloatArray:
    """Scores after learning from the pages; a copy learns, so that checks stay independent."""
    learner: Policy = copies(policy)[1]
    learner.learn(SampleHistory(pages), pages, NOW)
    return learner.score(pages, NOW)


def check_scores_each_page(policy: Policy) -> None:
    for pages in (sample_pages(), sample_pages().take(np.arange(0))):
        scores = policy.score(pages, NOW)
        right = scores.shape == (len(pages),) and scores.dtype == np.float64
        require(policy, "it returns a float64 for each page", met=right)


def check_is_finite(policy: Policy) -> None:
    pages = sample_pages()
    right = _is_finite(policy.score(pages, NOW))
    require(policy, "scores are finite before it learned", met=right)
    right = _is_finite(_learned_scores(policy, pages))
    require(policy, "scores are finite after it learned", met=right)


def check_accepts_pages_never_visited(policy: Policy) -> None:
    pages = sample_pages()
    scores = policy.score(pages.take(np.isnan(pages.first_visit)), NOW)
    require(policy, "scores are finite when no page was ever visited", met=_is_finite(scores))


def check_accepts_signals(policy: Policy) -> None:
    pages = sample_signals(sample_pages())
    scores = policy.score(pages, NOW)
    right = scores.shape == (len(pages),) and _is_finite(scores)
    require(policy, "scores are finite where signals report on pages", met=right)


def check_ignores_the_order_of_rows(policy: Policy) -> None:
    pages = sample_pages()
    order, other = shuffled(pages)
    same = np.allclose(policy.score(other, NOW), policy.score(pages, NOW)[order], rtol=1e-9, atol=0)
    require(policy, "rows in another order get the same scores", met=same)


def check_repeats(policy: Policy) -> None:
    pages = sample_pages()
    scores = policy.score(pages, NOW)
    same = all(np.array_equal(scores, p.score(pages, NOW)) for p in (policy, copies(policy)[1]))
    require(policy, "asked again, it answers the same", met=same)
    one, other = (_learned_scores(copies(policy)[0], pages) for _ in range(2))
    require(
        policy,
        "two built alike that learn the same answer the same",
        met=np.array_equal(one, other),
    )


def check_does_not_write_to_its_input(policy: Policy) -> None:
    pages = sample_pages()
    _learned_scores(policy, pages)
    require(policy, "it does not write to the columns", met=not is_altered(pages, sample_pages()))


def check_sees_no_later_visit(policy: Policy) -> None:
    scores = [_learned_scores(policy, sample_pages(future=future)) for future in (None, 1, 2)]
    same = all(np.array_equal(scores[0], other) for other in scores)
    require(policy, "visits later than `now` do not matter", met=same)


def _is_finite(scores: FloatArray) -> bool:
    return bool(np.isfinite(scores).all())
