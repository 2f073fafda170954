"""Which pages now, so that searchers notice?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.policies.objectives import freshness

if TYPE_CHECKING:
    from recrawl.model import FloatArray

PRIOR_DAYS = 56.0  #: what the mean rate of all pages counts for, beside a page's own
PRIOR_CHANGES = 2.0  #: and what visibility counts for, beside the gains of a page's own changes


def worth(gain: FloatArray, changes: FloatArray, visibility: FloatArray) -> FloatArray:
    """Gain a change, by page: its own so far, shrunk towards what changes of such pages bring.

    That is the part of a page's visibility which a change brings on the mean. So a page that was
    never seen to gain, but that is often looked at, is worth a visit.
    """
    seen = float((visibility * changes).sum())
    part = max(float(gain.sum()), 0.0) / seen if seen > 0 else 1.0
    each = (gain + PRIOR_CHANGES * part * visibility) / (changes + PRIOR_CHANGES)
    return np.maximum(each, 0.0)


def shrunk_rate(changes: FloatArray, days: FloatArray) -> FloatArray:
    """Changes a day by page, shrunk towards the mean of all pages; > 0."""
    mean = (float(changes.sum()) + 0.5) / (float(days.sum()) + 0.5)
    return np.asarray((changes + PRIOR_DAYS * mean) / (days + PRIOR_DAYS))


def index(each: FloatArray, rate: FloatArray, days: FloatArray) -> FloatArray:
    """Gain a change × the freshness index: worth of a visit so long after the last."""
    return each * freshness(rate, days)
