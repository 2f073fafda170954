"""What does a rate owe? A finite rate above 0 for any page there is, from the columns alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.checks.every import require, twins
from recrawl.checks.sample import altered, sample_pages, shuffled

if TYPE_CHECKING:
    from recrawl.protocols import Rate


def check_is_a_rate_a_page(rate: Rate) -> None:
    for pages in (sample_pages(), sample_pages().take(np.arange(0))):
        found = rate.rate(pages)
        right = found.shape == (len(pages),) and found.dtype == np.float64
        require(rate, "it returns a float64 a page", met=right)


def check_is_finite_and_above_0(rate: Rate) -> None:
    found = rate.rate(sample_pages())
    right = bool((np.isfinite(found) & (found > 0.0)).all())
    require(rate, "it is finite and above 0, also for pages never visited", met=right)


def check_copes_with_pages_never_visited(rate: Rate) -> None:
    pages = sample_pages()
    found = rate.rate(pages.take(np.isnan(pages.first_visit)))
    right = bool((np.isfinite(found) & (found > 0.0)).all())
    require(rate, "it is finite and above 0 when no page was ever visited", met=right)


def check_ignores_the_order_of_rows(rate: Rate) -> None:
    pages = sample_pages()
    order, other = shuffled(pages)
    same = np.allclose(rate.rate(other), rate.rate(pages)[order], rtol=1e-9, atol=0.0)
    require(rate, "rows in another order get the same rates", met=same)


def check_repeats(rate: Rate) -> None:
    pages = sample_pages()
    found = rate.rate(pages)
    same = all(np.array_equal(found, twin.rate(pages)) for twin in (rate, *twins(rate)))
    require(rate, "asked again, or built again, it answers the same", met=same)


def check_leaves_its_input_alone(rate: Rate) -> None:
    pages = sample_pages()
    rate.rate(pages)
    require(rate, "it does not write to the columns", met=not altered(pages, sample_pages()))


def check_sees_no_later_visit(rate: Rate) -> None:
    found = [rate.rate(sample_pages(future=future)) for future in (None, 1, 2)]
    same = all(np.array_equal(found[0], other) for other in found)
    require(rate, "visits later than the columns do not matter", met=same)
