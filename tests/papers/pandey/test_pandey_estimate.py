"""The paper's own estimate of gains: sums over ranks, and moves in lists, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from recrawl.papers.pandey.estimate import even_gain, paper_gains, sum_views
from recrawl.search.curves import fit_curves
from recrawl.search.terms import TermCounts

C = 0.382793  #: 1 / ζ(3/2)


@pytest.mark.parametrize(
    ("first", "last", "exact"),
    [
        (2, 10, 0.995336),
        (10, 100, 0.449160),
        (50, 60, 0.027136),
        (5, 6, 0.157484),
        (5, 5, 0.089443),
    ],
)
def test_sums_of_view_probabilities(first, last, exact):
    """The printed 2(1/√i − 1/√(j − 1)) gives 0 for [5, 6] and a negative sum for [5, 5]."""
    assert sum_views(first, last, 1.5) == pytest.approx(exact, rel=6e-4)
    if last - first < 30:
        assert sum_views(first, last, 1.5) == pytest.approx(exact, abs=6e-7)


#: The list has its knots at the ranks 1, 2, 4 and 8, and its scores fall evenly between them, as
#: the paper assumes. So moves between knots must be exact.
LIST = np.array([8.0, 6.0, 5.0, 4.0, 3.5, 3.0, 2.5, 2.0])


def plain_gain(then, now, after):
    """The gain of a page that moves in LIST from rank `then` to `now`; None is no rank.

    Page by page, as in the definition: answers are ranked by the old or the new copy, valued by the
    new one.
    """
    others = LIST.tolist()
    if then is not None:
        del others[then - 1]

    def useful(rank):
        ranked = [*others[: rank - 1], after, *others[rank - 1 :]] if rank else others
        return sum(score / place**1.5 for place, score in enumerate(ranked, 1))

    return C * (useful(now) - useful(then))


@pytest.mark.parametrize(
    ("before", "after", "then", "now"),
    [
        (8.0, 2.0, 1, 8),  # drops past all
        (8.0, 4.0, 1, 4),
        (0.0, 8.0, None, 1),  # enters at the top
        (3.5, 8.0, 5, 1),
        (8.0, 0.0, 1, None),  # no longer matches
        (4.0, 4.0, 4, 4),
    ],
)
def test_gains_of_moves_in_a_list(before, after, then, now):
    curve = fit_curves(np.zeros(8, np.int64), LIST, 1)[0]
    gain = C * even_gain(before, after, curve, 1.5)
    if before == 3.5:  # rank 5 of the list has its score between two knots of the curve
        curve_rank = np.exp(np.log(8) * (2 + np.log(4 / 3.5) / np.log(2)) / 3)
        assert round(curve_rank) == 5
    assert gain == pytest.approx(plain_gain(then, now, after), abs=2e-5)


@pytest.mark.parametrize(
    ("before", "after", "exact"),
    [(9.0, 3.0, 0.399416), (11.0, 1.0, 2.836907), (1.0, 11.0, 0.730569)],
)
def test_known_answers_of_a_short_list(before, after, exact):
    """A page moves among others with the scores 10, 8, 6, 4, 2: ranks 2 to 5, 1 to 6, 6 to 1.

    The curve has four knots for six scores, so the estimate errs: by a third at most.
    """
    scores = np.array([10, 8, 6, 4, 2, before])
    curve = fit_curves(np.zeros(6, np.int64), scores, 1)[0]
    assert C * even_gain(before, after, curve, 1.5) == pytest.approx(exact, rel=1 / 3)


def test_a_query_counts_as_its_single_terms():
    """Two pages gain or lose a term; each term counts as often as it is asked for."""
    curve = fit_curves(np.zeros(8, np.int64), LIST, 1)[0]
    none = fit_curves(np.empty(0, np.int64), np.empty(0), 1)[0]
    curves = np.stack([curve, none])
    old = TermCounts(np.array([0, 1, 1]), np.array([0]), np.array([1]), np.array([5, 5]))
    new = TermCounts(np.array([0, 1, 1]), np.array([1]), np.array([1]), np.array([5, 5]))
    gain = paper_gains((old, np.array([8.0])), (new, np.array([3.0])), np.array([0.5, 2.0]), curves)
    assert gain[0] == pytest.approx(0.5 * plain_gain(1, None, 0.0) + 2.0 * C * 3.0, abs=2e-5)
    assert gain[1] == 0.0
