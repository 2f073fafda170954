"""Will a page change on the next day? One gradient boosting for all pages, instead of one each.

It knows the features of a page, how often it changed in the last `n` days, and of the features of
its experts the weighted mean. What is not known stays unknown: the trees can tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl.papers.radinsky.algorithms import Setting, frequency
from recrawl.papers.radinsky.boosting import boosting
from recrawl.papers.radinsky.features import own, shared

if TYPE_CHECKING:
    from recrawl.model import FloatArray, Neighbours
    from recrawl.papers.radinsky.features import Page

EVERY = 10  #: days after which it is taught anew


def pooled(pages: list[Page], related: Neighbours, setting: Setting) -> FloatArray:
    """What is said of each page on each day: the chance of a change, less a half."""
    table = _table(pages, related, setting)  # pages × days × features
    label = np.array([page.changed for page in pages])
    out = np.zeros((len(pages), len(setting.days)))
    for at in range(0, len(setting.days), EVERY):
        first, asked = int(setting.days[at]), setting.days[at : at + EVERY]
        past = np.arange(max(first - setting.n + 1, 0), first - setting.ahead + 1)
        truth = label[:, past + setting.ahead]
        known = np.isfinite(truth)
        model = boosting(table[:, past][known], truth[known] > 0)
        rows = table[:, asked].reshape(-1, table.shape[2])
        out[:, at : at + EVERY] = model(rows).reshape(len(pages), -1) - 0.5
    return out


def _table(pages: list[Page], related: Neighbours, setting: Setting) -> FloatArray:
    days = len(pages[0].changed)
    every = Setting(np.arange(days), setting.n, setting.window, setting.ahead)
    mine = [own(page, window=setting.window, ahead=setting.ahead) for page in pages]
    rows = []
    for number, page in enumerate(pages):
        often = frequency(page.changed, every)[:, None]
        experts = [
            np.column_stack([mine[e], shared(page, pages[e], window=setting.window)])
            for e in related.row[number][related.row[number] >= 0]
        ]
        weight = related.weight[number][related.row[number] >= 0]
        wide = mine[0].shape[1] + 3 * setting.window + 1
        rows.append(np.column_stack([mine[number], often, _mean(experts, weight, (days, wide))]))
    return np.array(rows)


def _mean(experts: list[FloatArray], weight: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """The mean over experts of what is known; NaN where nothing is."""
    if not experts:
        return np.full(shape, np.nan)
    values = np.array(experts)
    known = np.isfinite(values) * weight[:, None, None]
    total = known.sum(axis=0)
    sums = (np.nan_to_num(values) * known).sum(axis=0)
    mean: FloatArray = np.divide(sums, total, out=np.full(shape, np.nan), where=total > 0)
    return mean
