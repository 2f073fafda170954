"""What does a policy owe? The same finite scores for the same pages, from the past alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.checks.every import require, twins
from recrawl.checks.sample import NOW, SampleHistory, altered, sample_pages, shuffled

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages
    from recrawl.protocols import Policy


def _taught(policy: Policy, pages: Pages) -> FloatArray:
    """Its scores after it saw the pages. A copy learns, so that checks do not teach each other."""
    pupil: Policy = twins(policy)[1]
    pupil.learn(SampleHistory(pages), pages, NOW)
    return pupil.score(pages, NOW)


def check_is_a_score_a_page(policy: Policy) -> None:
    for pages in (sample_pages(), sample_pages().take(np.arange(0))):
        found = policy.score(pages, NOW)
        right = found.shape == (len(pages),) and found.dtype == np.float64
        require(policy, "it returns a float64 a page", met=right)


def check_is_finite(policy: Policy) -> None:
    pages = sample_pages()
    right = _finite(policy.score(pages, NOW))
    require(policy, "scores are finite before it learned", met=right)
    right = _finite(_taught(policy, pages))
    require(policy, "scores are finite after it learned", met=right)


def check_copes_with_pages_never_visited(policy: Policy) -> None:
    pages = sample_pages()
    found = policy.score(pages.take(np.isnan(pages.first_visit)), NOW)
    require(policy, "scores are finite when no page was ever visited", met=_finite(found))


def check_ignores_the_order_of_rows(policy: Policy) -> None:
    pages = sample_pages()
    order, other = shuffled(pages)
    same = np.allclose(policy.score(other, NOW), policy.score(pages, NOW)[order], rtol=1e-9, atol=0)
    require(policy, "rows in another order get the same scores", met=same)


def check_repeats(policy: Policy) -> None:
    pages = sample_pages()
    found = policy.score(pages, NOW)
    same = all(np.array_equal(found, p.score(pages, NOW)) for p in (policy, twins(policy)[1]))
    require(policy, "asked again, it answers the same", met=same)
    one, other = (_taught(twins(policy)[0], pages) for _ in range(2))
    require(policy, "two built and taught alike answer alike", met=np.array_equal(one, other))


def check_leaves_its_input_alone(policy: Policy) -> None:
    pages = sample_pages()
    _taught(policy, pages)
    require(policy, "it does not write to the columns", met=not altered(pages, sample_pages()))


def check_sees_no_later_visit(policy: Policy) -> None:
    found = [_taught(policy, sample_pages(future=future)) for future in (None, 1, 2)]
    same = all(np.array_equal(found[0], other) for other in found)
    require(policy, "visits later than `now` do not matter", met=same)


def _finite(found: FloatArray) -> bool:
    return bool(np.isfinite(found).all())
