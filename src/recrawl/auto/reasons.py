"""Why is a visit to this page worth more, or less, than its rate says? In words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl import units
from recrawl.auto import copy
from recrawl.auto import page_history as own
from recrawl.auto.features import DAYS, LIKE, NAMES, START
from recrawl.neighbours.url_groups import LEVELS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.auto.features import FeatureState
    from recrawl.auto.online import Online
    from recrawl.model import IntArray, Pages

MOST = 3  #: reasons given
LEAST = 0.05  #: log of a factor below which it is no reason
ALIKE = "the pages most like it"
#: Columns that are one reason together.
FAMILIES = (DAYS, *((name,) for name in LIKE), own.NAMES, copy.NAMES)


def reasons(online: Online, pages: Pages, row: int) -> list[str]:
    """The strongest, the first of them the page's own past."""
    at = int(online.rows(pages.take(np.array([row])))[0])
    if at < 0:
        return ["new here: nothing but the mean of all pages is known"]
    factor = dict(zip(FAMILIES, _moves(online, at, FAMILIES), strict=True))
    alone = dict(zip(NAMES, _moves(online, at, [(name,) for name in NAMES]), strict=True))
    said = [_past(pages, row) if online.watch.event == "change" else _links(online.watch, at)]
    for family in sorted(FAMILIES, key=lambda family: -abs(factor[family])):
        if abs(factor[family]) >= LEAST:
            strongest = max(family, key=lambda name: alone[name] * np.sign(factor[family]))
            said.append(f"{_words(online.watch, strongest, at)}: × {np.exp(factor[family]):.2g}")
    return said[:MOST]


def _moves(online: Online, at: int, families: Sequence[Sequence[str]]) -> list[float]:
    """How far each moves the logarithm of what is expected from where its mean would leave it."""
    linear = online.learner.linear
    if linear is None:
        return [float(online.log_ratio[at]) * (START in family) for family in families]
    asked = np.repeat(online.watch.columns[:, [at]], len(families) + 1, axis=1)
    for place, family in enumerate(families):
        rows = [NAMES.index(name) for name in family]
        asked[rows, place] = linear.mean[rows]
    found = np.asarray(online.learner.log_ratio(asked))
    return list(found[-1] - found[:-1])


def _past(pages: Pages, row: int) -> str:
    n, changes = int(pages.n_compared[row]), int(pages.n_changes[row])
    if not n:
        return "never compared; explored"
    if not changes:
        return f"never seen to change in {units.count(n, 'visit')}; explored"
    last = min(n, 9)
    changed = int(pages.recent[row] & np.uint64(2**last - 1)).bit_count()
    return f"changed in {changed} of the last {units.count(last, 'visit')}"


def _links(watch: FeatureState, at: int) -> str:
    n, hits = int(watch.own.folded[at]), int(watch.own.count[at])
    if not n:
        return "never compared; explored"
    if not hits:
        return f"never seen to show new links in {units.count(n, 'visit')}; explored"
    return f"showed new links in {hits} of {units.count(n, 'visit')}"


def _words(watch: FeatureState, name: str, at: int) -> str:
    if name in DAYS:
        level = DAYS.index(name)
        group = watch.day.group[level]
        mates = np.flatnonzero((group == group[at]) & (group >= 0) & (np.arange(len(group)) != at))
        return _shown(watch, mates, at, f"its {LEVELS[level]}" if level else LEVELS[level])
    if name in LIKE:
        if name.endswith("rate"):
            return f"how often {ALIKE} {'change' if watch.event == 'change' else 'do'}"
        near = watch.like.row[at]
        return _shown(watch, near[near >= 0], at, ALIKE)
    if name in own.NAMES:
        return "how lately it changed" if watch.event == "change" else "how lately it did"
    return "what our copy and its URL look like"


def _shown(watch: FeatureState, mates: IntArray, at: int, called: str) -> str:
    """What visits to other pages have shown since ours."""
    since = watch.since[at]
    visited = mates[(watch.own.last[mates] > since) & (watch.own.days[mates] > 0)]
    if not len(visited):
        return f"nothing seen of {called} since our visit"
    hits = int((watch.own.last_hit[visited] > since).sum())
    what = "changed" if watch.event == "change" else "showed new links"
    return f"since our visit {hits} of {units.count(len(visited), 'page')} seen of {called} {what}"
