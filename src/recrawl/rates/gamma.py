"""How often does a page change, if pages of one host are alike, and how sure is that?"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.rates.bounds import bounded

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Pages


def gamma_quantiles(shape: FloatArray, days: FloatArray, q: tuple[float, ...]) -> FloatArray:
    """Quantiles of Gamma(shape, days), one row per page, one column per quantile."""
    from scipy.special import gammaincinv  # slow to import, and a plan needs no quantiles

    return bounded(gammaincinv(shape[:, None], np.array(q)) / days[:, None])


class Gamma:
    """Posterior mean of a Gamma prior pooled over the host, and the host's over all pages.

    With s = `shape`, each level has the prior Gamma(s, s / rate of the level above):
    all pages r = (ΣX + ½) / (Σexposure + ½), host r_h = (X_h + s) / (exposure_h + s/r),
    page (X + s) / (exposure + s/r_h). With s = ½ and r_h = 1 that is the smoothed rate.
    """

    name: ClassVar[str] = "gamma"

    def __init__(self, *, shape: float = 0.5) -> None:
        self.shape = shape

    def rate(self, pages: Pages) -> FloatArray:
        shape, days = self._posterior(pages)
        return bounded(shape / days)

    def quantiles(self, pages: Pages, q: tuple[float, ...] = (0.05, 0.95)) -> FloatArray:
        """Quantiles of each page's rate: one row per page, one column per quantile."""
        return gamma_quantiles(*self._posterior(pages), q)

    def _posterior(self, pages: Pages) -> tuple[FloatArray, FloatArray]:
        changes, days = pages.n_changes.sum(), pages.exposure.sum()
        overall = (changes + 0.5) / (days + 0.5)
        of_host = (pages.over_host(pages.n_changes) + self.shape) / (
            pages.over_host(pages.exposure) + self.shape / overall
        )
        days_of_page: FloatArray = pages.exposure + self.shape / of_host
        return np.asarray(pages.n_changes + self.shape), days_of_page
