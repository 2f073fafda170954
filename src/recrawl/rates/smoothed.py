"""How often does a page change? Its changes over its exposure, plus half a change in half a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.rates.bounds import bounded
from recrawl.rates.gamma import gamma_quantiles

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages


def smoothed(pages: Pages) -> FloatArray:
    """(X + ½) / (exposure + ½): 1 a day without evidence, falling slowly while nothing changes."""
    return bounded((pages.n_changes + 0.5) / (pages.exposure + 0.5))


def quantiles(pages: Pages, q: tuple[float, ...]) -> FloatArray:
    """Quantiles of Gamma(X + ½, exposure + ½): one row per page, one column per quantile."""
    return gamma_quantiles(np.asarray(pages.n_changes + 0.5), pages.exposure + 0.5, q)


class Smoothed:
    """Changes over exposure, smoothed (the rule of Kolobov et al., NeurIPS 2019). The default."""

    name: ClassVar[str] = "smoothed"

    def rate(self, pages: Pages) -> FloatArray:
        return smoothed(pages)
