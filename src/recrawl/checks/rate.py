"""The contract of a rate: finite and above 0 for any page, from the columns alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.checks.every import copies, require
from recrawl.checks.sample import is_altered, sample_pages, shuffled

if TYPE_CHECKING:
    from recrawl.protocols import Rate


def check_rates_each_page(rate: Rate) -> None:
    for pages in (sample_pages(), sample_pages().take(np.arange(0))):
        rates = rate.rate(pages)
        right = rates.shape == (len(pages),) and rates.dtype == np.float64
        require(rate, "it returns a float64 for each page", met=right)


def check_is_finite_and_above_0(rate: Rate) -> None:
    rates = rate.rate(sample_pages())
    right = bool((np.isfinite(rates) & (rates > 0.0)).all())
    require(rate, "it is finite and above 0, also for pages never visited", met=right)


def check_accepts_pages_never_visited(rate: Rate) -> None:
    pages = sample_pages()
    rates = rate.rate(pages.take(np.isnan(pages.first_visit)))
    right = bool((np.isfinite(rates) & (rates > 0.0)).all())
    require(rate, "it is finite and above 0 when no page was ever visited", met=right)


def check_ignores_the_order_of_rows(rate: Rate) -> None:
    pages = sample_pages()
    order, other = shuffled(pages)
    same = np.allclose(rate.rate(other), rate.rate(pages)[order], rtol=1e-9, atol=0.0)
    require(rate, "rows in another order get the same rates", met=same)


def check_repeats(rate: Rate) -> None:
    pages = sample_pages()
    rates = rate.rate(pages)
    same = all(np.array_equal(rates, copy.rate(pages)) for copy in (rate, *copies(rate)))
    require(rate, "asked again, or built again, it answers the same", met=same)


def check_does_not_write_to_its_input(rate: Rate) -> None:
    pages = sample_pages()
    rate.rate(pages)
    require(rate, "it does not write to the columns", met=not is_altered(pages, sample_pages()))


def check_sees_no_later_visit(rate: Rate) -> None:
    rates = [rate.rate(sample_pages(future=future)) for future in (None, 1, 2)]
    same = all(np.array_equal(rates[0], other) for other in rates)
    require(rate, "visits later than the columns do not matter", met=same)
