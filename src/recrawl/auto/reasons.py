"""Why is a visit to this page worth more, or less, than its rate says? In words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl import units
from recrawl.auto import copies, page_history
from recrawl.auto.features import (
    GROUP_COLUMNS,
    MIN_BELIEF,
    NAMES,
    NEIGHBOUR_COLUMNS,
    UNTRAINED,
)
from recrawl.neighbours.url_groups import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.auto.features import FeatureState
    from recrawl.auto.model import HitModel
    from recrawl.model import IntArray, Pages

MAX_REASONS = 3
MIN_LOG_FACTOR = 0.05  #: below which a factor is no reason
NEIGHBOURS = "the pages most like it"
#: Columns that are one reason together.
FAMILIES = (GROUP_COLUMNS, *((n,) for n in NEIGHBOUR_COLUMNS), page_history.NAMES, copies.NAMES)


def reasons(model: HitModel, pages: Pages, row: int) -> list[str]:
    """The page's own past, then the strongest of the other reasons."""
    at = int(model.rows(pages.take(np.array([row])))[0])
    if at < 0:
        return ["new here: nothing but the mean of all pages is known"]
    factor = dict(zip(FAMILIES, _log_factors(model, at, FAMILIES), strict=True))
    alone = dict(zip(NAMES, _log_factors(model, at, [(name,) for name in NAMES]), strict=True))
    is_change = model.state.event == "change"
    texts = [_past_changes(pages, row) if is_change else _past_links(model.state, at)]
    texts += _stamped(model.state, at)
    for family in sorted(FAMILIES, key=lambda family: -abs(factor[family])):
        if abs(factor[family]) >= MIN_LOG_FACTOR:
            strongest = max(family, key=lambda name: alone[name] * np.sign(factor[family]))
            texts.append(f"{_words(model.state, strongest, at)}: × {np.exp(factor[family]):.2g}")
    return texts[:MAX_REASONS]


def _log_factors(model: HitModel, at: int, families: Sequence[Sequence[str]]) -> list[float]:
    """Log of the factor by which each family of columns moves the prediction from its mean."""
    linear = model.learner.linear
    if linear is None:
        return [float(model.log_ratio[at]) * (UNTRAINED in family) for family in families]
    columns = np.repeat(model.state.columns[:, [at]], len(families) + 1, axis=1)
    for place, family in enumerate(families):
        rows = [NAMES.index(name) for name in family]
        columns[rows, place] = linear.mean[rows]
    log_ratio = np.asarray(model.learner.log_ratio(columns))
    return list(log_ratio[-1] - log_ratio[:-1])


def _past_changes(pages: Pages, row: int) -> str:
    n, changes = int(pages.n_compared[row]), int(pages.n_changes[row])
    if not n:
        return "never compared; explored"
    if not changes:
        return f"never seen to change in {units.count(n, 'visit')}; explored"
    last = min(n, 9)
    changed = int(pages.recent[row] & np.uint64(2**last - 1)).bit_count()
    return f"changed in {changed} of the last {units.count(last, 'visit')}"


def _stamped(state: FeatureState, at: int) -> list[str]:
    """What Last-Modified said at the first visit, and how far it is believed; empty: nothing."""
    age, belief = state.stamps.first_age[at], state.stamps.belief[at]
    if not np.isfinite(age) or belief < MIN_BELIEF:
        return []
    quiet = units.show_days(float(age))
    return [f"last modified {quiet} before our first visit, by its server ({belief:.0%} believed)"]


def _past_links(state: FeatureState, at: int) -> str:
    n, hits = int(state.history.n_visits[at]), int(state.history.n_hits[at])
    if not n:
        return "never compared; explored"
    if not hits:
        return f"never seen to show new links in {units.count(n, 'visit')}; explored"
    return f"showed new links in {hits} of {units.count(n, 'visit')}"


def _words(state: FeatureState, name: str, at: int) -> str:
    if name in GROUP_COLUMNS:
        level = GROUP_COLUMNS.index(name)
        group = state.group_days.group[level]
        same = (group == group[at]) & (group >= 0) & (np.arange(len(group)) != at)
        called = f"its {LEVELS[level]}" if level else LEVELS[level]
        return _since_our_visit(state, np.flatnonzero(same), at, called)
    if name in NEIGHBOUR_COLUMNS:
        if name.endswith("rate"):
            return f"how often {NEIGHBOURS} {'change' if state.event == 'change' else 'do'}"
        near = state.neighbours.row[at]
        return _since_our_visit(state, near[near >= 0], at, NEIGHBOURS)
    if name in page_history.NAMES:
        return "how lately it changed" if state.event == "change" else "how lately it did"
    return "what our copy and its URL look like"


def _since_our_visit(state: FeatureState, others: IntArray, at: int, called: str) -> str:
    """What visits to other pages have shown since our visit to this one."""
    since, history = state.copy_day[at], state.history
    visited = others[(history.last[others] > since) & (history.days[others] > 0)]
    if not len(visited):
        return f"nothing seen of {called} since our visit"
    hits = int((history.last_hit[visited] > since).sum())
    what = "changed" if state.event == "change" else "showed new links"
    return f"since our visit {hits} of {units.count(len(visited), 'page')} seen of {called} {what}"
