"""Why is a visit to this page worth more, or less, than its rate says? In words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from recrawl import units
from recrawl.features import copy
from recrawl.features.groups import LEVELS
from recrawl.forecast.watch import AROUND, DAYS, NAMES

if TYPE_CHECKING:
    from recrawl.forecast.online import Online
    from recrawl.forecast.watch import Watch
    from recrawl.model import IntArray, Pages

MOST = 3  #: reasons given
LEAST = 0.05  #: log of a factor below which it is no reason
_SINCE = {"like": "the pages most like it", "linked": "the pages it links to"}


def reasons(online: Online, pages: Pages, row: int) -> list[str]:
    """The strongest, the first of them the page's own past."""
    watch = online.watch
    at = int(online.rows(pages.take(np.array([row])))[0])
    if at < 0:
        return ["new here: nothing but the mean of all pages is known"]
    factors = _factors(online, at)
    said = [_own(pages, row)]
    for name in sorted(factors, key=lambda name: -abs(factors[name])):
        words = _words(watch, name, at)
        if abs(factors[name]) >= LEAST and words and words not in said:
            said.append(f"{words}: × {np.exp(factors[name]):.2g}")
    return said[:MOST]


def _factors(online: Online, at: int) -> dict[str, float]:
    """By column what it adds to the logarithm of what is expected."""
    if online.learner.linear is None:
        name = "days of directory"
        return {name: float(online.watch.columns[NAMES.index(name), at])}
    parts = online.learner.linear.parts(online.watch.columns[:, at : at + 1])[:, 0]
    found = dict(zip(NAMES, parts.tolist(), strict=True))
    about = sum(found.pop(name) for name in copy.NAMES)
    return found | {"copy": about}


def _own(pages: Pages, row: int) -> str:
    n, hits = int(pages.n_compared[row]), int(pages.n_changes[row])
    if not n:
        return "never compared; explored"
    if not hits:
        return f"never seen to change in {units.count(n, 'visit')}; explored"
    last = min(n, 9)
    changed = int(pages.recent[row] & np.uint64(2**last - 1)).bit_count()
    return f"changed in {changed} of the last {units.count(last, 'visit')}"


def _words(watch: Watch, name: str, at: int) -> str:
    if name in DAYS:
        level = LEVELS[DAYS.index(name)]
        group = watch.day.group[DAYS.index(name)]
        mates = np.flatnonzero((group == group[at]) & (np.arange(len(group)) != at))
        return _shown(watch, mates, at, level if level == LEVELS[0] else f"its {level}")
    if name in AROUND:
        kind, _, what = name.partition(" ")
        near = watch.like if kind == "like" else watch.linked
        mates = near.row[at][near.row[at] >= 0]
        if what.endswith("since"):
            return _shown(watch, mates, at, _SINCE[kind])
        return f"how often {_SINCE[kind]} change"
    return {"copy": "what our copy says, its length and its URL"}.get(name, "how lately it changed")


def _shown(watch: Watch, mates: IntArray, at: int, called: str) -> str:
    """What visits to other pages have shown since ours."""
    since = watch.since[at]
    visited = mates[watch.own.last[mates] > since]
    hits = int((watch.own.last_hit[visited] > since).sum())
    if not len(visited):
        return f"nothing seen of {called} since our visit"
    what = "showed new links" if watch.event == "links" else "changed"
    return f"since our visit {hits} of {units.count(len(visited), 'page')} seen of {called} {what}"
