"""How far can a claim of change be believed? As far as earlier claims on its host were right.

Compared visits give two numbers for each kind of signal (sitemap, feed) and host, shrunk towards
those of all hosts: the share of the changes that it reports (recall), and the changes a day that it
claims falsely (noise). With them every claim since the last visit counts, and so does silence: they
turn the time since the visit into an effective time (Busa-Fekete et al. 2025), which is the t of
every policy. See `model.PageSignals`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from recrawl.model import PageSignals, Signals, rows_of
from recrawl.rates.smoothed import smoothed

if TYPE_CHECKING:
    from recrawl.model import FloatArray, IntArray, Pages

MIN_SHARE = 1e-6  #: recall is kept this far from 0 and 1, noise from 0
#: What the mean of all hosts counts as on one host: changes for recall, days for noise.
PRIOR_CHANGES, PRIOR_DAYS = 4.0, 10.0
#: What is believed before any visit: half of a change is reported, half a claim in 10 days false.
FIRST_CHANGES, FIRST_DAYS, HALF = 1.0, 10.0, 0.5


def with_signals(pages: Pages, signals: Signals | None) -> Pages:
    """The pages with what signals say of them."""
    if signals is None:
        return pages
    kinds = tuple(sorted(set(signals.kind.tolist())))
    shape = (len(pages), len(kinds))
    rate = smoothed(pages)
    said, claims, recall = np.full(shape, np.nan), np.zeros(shape), np.zeros(shape)
    noise = np.ones(shape)
    for column, kind in enumerate(kinds):
        mine = signals.kind == kind
        row = rows_of(signals.page_id[mine], pages.page_id)
        of_kind = replace(signals, **{n: c[mine][row >= 0] for n, c in vars(signals).items()})
        row = row[row >= 0]
        said[row, column], claims[row, column] = of_kind.said, of_kind.claims
        recall[row, column], noise[row, column] = trust(of_kind, rate[row], pages.host[row])
    return replace(pages, signals=PageSignals(kinds, said, claims, recall, noise, rate))


def trust(signals: Signals, rate: FloatArray, host: IntArray) -> tuple[FloatArray, FloatArray]:
    """Recall and noise of one kind of signal on each of these hosts; all columns are by page.

    Before an unchanged visit only false claims come. Before a changed one d = Δ·days changes were
    due, and no claim comes with probability e^{−noise·days}·(e^{−recall·d} − e^{−d})/(1 − e^{−d}).
    """
    mean_days = signals.changed_days / np.maximum(signals.changed, 1.0)

    def on_host(column: FloatArray) -> FloatArray:
        return np.bincount(host, column)[host].astype(np.float64)

    overall = (signals.false_claims.sum() + HALF) / (signals.quiet_days.sum() + FIRST_DAYS)
    false_claims = on_host(signals.false_claims) + PRIOR_DAYS * overall
    noise = np.maximum(false_claims / (on_host(signals.quiet_days) + PRIOR_DAYS), MIN_SHARE)
    # The changed visits before which no false claim comes: all of them if nothing is reported.
    silent = signals.changed * np.exp(-noise * mean_days)
    unreported = (signals.missed.sum() + HALF) / (silent.sum() + FIRST_CHANGES)
    missed = on_host(signals.missed) + PRIOR_CHANGES * min(unreported, 1.0)
    share = np.minimum(missed / (on_host(silent) + PRIOR_CHANGES), 1.0)
    changed = np.maximum(on_host(signals.changed), 1.0)
    due = np.maximum(on_host(signals.changed * rate * mean_days) / changed, 1e-6)
    recall = -np.log(np.exp(-due) - share * np.expm1(-due)) / due
    return np.clip(recall, MIN_SHARE, 1.0 - MIN_SHARE), noise
