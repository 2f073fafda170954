"""What is known of new links before a visit? The past of a page, and of the pages around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from recrawl.features.shown import MANY, Shown, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recrawl.model import Column, FloatArray, IntArray, Neighbours, Pages, Time

RECENT = 40_000  #: visits that are learned from

#: Kept of each page: visits with new links, days watched, sum of the logarithms of how many there
#: were, last visit, last with new links, how many these were, such visits fading, and all links.
EVENTS, DAYS, LOGS, LAST, EVENT, NEW, SOON, LATE, LINKS = range(9)
#: Kept of all pages: the first three, and of the last days what was found, and was to be expected.
FOUND, EXPECTED, AT = range(3, 6)
FADING, FADING_LATE, FADING_ALL = 10.0, 40.0, 2.0  #: days until 1/e is left

#: The columns. Those of "url" and "text" speak of the pages around a page: how often they showed
#: new links, how many, whether more often than expected since our visit, and how many then.
OWN = ("days", "rate", "events", "watched", "size", "new", "since", "soon", "late", "links")
AROUND = ("rate", "size", "pulse", "new")
NAMES = (*OWN, *(f"{kind}_{what}" for kind in ("url", "text") for what in AROUND), "everywhere")


@dataclass
class LinkPast:
    """Follows the visits of a history in the order of time.

    What is told of a visit was known before it, and before any other of the same plan: what a
    policy learns from is then what it will see.
    """

    never_seen: bool = False
    around_: Sequence[IntArray] = ()  #: page ids of neighbours by page id, -1 none: URL, text
    weight_: Sequence[FloatArray] = ()
    state_: FloatArray = field(default_factory=lambda: np.zeros((0, 9)))
    corpus_: FloatArray = field(default_factory=lambda: np.zeros(6))
    followed_: int = 0  #: visits
    until_: Time = -np.inf
    rows_: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)

    def surround(self, pages: Pages, by_url: Neighbours, by_text: Neighbours) -> None:
        """Say which pages stand around which."""
        ids = pages.page_id.astype(np.int64)
        near = [np.where(n.row >= 0, ids[n.row], -1) for n in (by_url, by_text)]
        self.around_ = [_by_id(pages, rows, -1) for rows in near]
        self.weight_ = [_by_id(pages, n.weight, 0.0) for n in (by_url, by_text)]

    def follow(self, pages: Pages) -> None:
        """Take in the visits made since; all of them anew if older ones came to be known."""
        visits = shown(pages, never_seen=self.never_seen)
        known = visits.at <= self.until_
        begins = not self.followed_ or int(known.sum()) != self.followed_
        if begins:
            known[:] = False
            self.state_, self.corpus_, self.rows_ = np.zeros((0, 9)), np.zeros(6), []
        self._grow(pages)
        rows = np.flatnonzero(~known)
        rows = rows[np.argsort(visits.at[rows], kind="stable")]
        if len(rows):
            self._sweep(pages, visits, rows, one_plan=not begins)
            self.until_ = float(visits.at[rows[-1]])
        self.followed_ = len(visits.at)
        last = np.where(np.isnan(pages.last_visit), pages.first_seen, pages.last_visit)
        self.state_[pages.page_id, LAST] = last  # also that of visits whose links are not known

    def _sweep(self, pages: Pages, visits: Shown, rows: IntArray, *, one_plan: bool) -> None:
        at, new = visits.at[rows], visits.new[rows]
        # what is new since the last call is of one plan; of older visits only equal times are
        begins = np.flatnonzero(np.diff(at)) + 1 if not one_plan else rows[:0]
        skipped = max(len(rows) - RECENT, 0)
        told = np.zeros((len(rows) - skipped, len(NAMES)))
        page = pages.page_id[visits.page[rows]].astype(np.int64)
        seen = np.column_stack([at, visits.days[rows], new, visits.held[rows]])
        ends = np.append(begins, len(rows))
        _sweep(page, seen, ends, skipped, self._kept(), told)
        self.rows_.append((told, new[skipped:]))

    def _grow(self, pages: Pages) -> None:
        """Make room for new pages; they are watched from their first visit on."""
        size = int(pages.page_id.max(initial=-1)) + 1
        more = np.zeros((max(size - len(self.state_), 0), 9))
        more[:, EVENT], more[:, LINKS] = -np.inf, MANY
        new = pages.page_id >= len(self.state_)
        first = np.where(np.isnan(pages.first_visit), pages.first_seen, pages.first_visit)
        self.state_ = np.concatenate([self.state_, more])
        self.state_[pages.page_id[new], LAST] = first[new]
        self.around_ = [_longer(ids, size, -1) for ids in self.around_]
        self.weight_ = [_longer(weight, size, 0.0) for weight in self.weight_]

    def told(self) -> tuple[FloatArray, FloatArray]:
        """Of the latest visits what was known before each, and the new links it showed."""
        rows = [(np.zeros((0, len(NAMES))), np.zeros(0)), *self.rows_]
        columns, new = (np.concatenate(part)[-RECENT:] for part in zip(*rows, strict=True))
        self.rows_ = [(columns, new)]
        return columns, new

    def columns(self, pages: Pages, now: Time) -> FloatArray:
        """What is known of each page now: a row a page, a column a name."""
        self._grow(pages)
        out = np.zeros((len(pages), len(NAMES)))
        page = pages.page_id.astype(np.int64)
        _columns(page, now, self._kept(), out)
        return out

    def _kept(self) -> tuple[Column, ...]:
        return (self.state_, self.corpus_, *self.around_, *self.weight_)


def _by_id(pages: Pages, rows: Column, fill: float) -> Column:
    size = int(pages.page_id.max(initial=-1)) + 1
    table = np.full((size, rows.shape[1]), fill, rows.dtype)
    table[pages.page_id] = rows
    return table


def _longer(table: Column, size: int, fill: float) -> Column:
    more = np.full((max(size - len(table), 0), table.shape[1]), fill, table.dtype)
    return np.concatenate([table, more])


@njit(cache=True)
def _sweep(page, seen, ends, skipped, kept, told):  # type: ignore[no-untyped-def]
    begin = 0
    for end in ends:
        for visit in range(max(begin, skipped), end):
            _column(page[visit], seen[visit, 0], kept, told[visit - skipped])
        for visit in range(begin, end):
            _take_in(page[visit], seen[visit], kept[0], kept[1])
        begin = end


@njit(cache=True)
def _columns(page, now, kept, out):  # type: ignore[no-untyped-def]
    for i in range(len(page)):
        _column(page[i], now, kept, out[i])


@njit(cache=True)
def _rate(own, corpus):  # type: ignore[no-untyped-def]
    """Visits with new links a day, half a one of the common rate being given."""
    common = (corpus[EVENTS] + 0.5) / (corpus[DAYS] + 0.5)
    return (own[EVENTS] + 0.5) / (own[DAYS] + 0.5 / common)


@njit(cache=True)
def _take_in(page, visit, state, corpus):  # type: ignore[no-untyped-def]
    at, days, new, links = visit
    own = state[page]
    faded = max(at - corpus[AT], 0.0) / 86400.0
    corpus[FOUND] *= np.exp(-faded / FADING_ALL)
    corpus[EXPECTED] *= np.exp(-faded / FADING_ALL)
    corpus[EXPECTED] += days * _rate(own, corpus)
    corpus[AT] = at
    passed = max(at - own[LAST], 0.0) / 86400.0
    own[SOON] *= np.exp(-passed / FADING)
    own[LATE] *= np.exp(-passed / FADING_LATE)
    own[DAYS] += days
    corpus[DAYS] += days
    if new > 0:
        own[EVENTS] += 1.0
        own[LOGS] += np.log(new)
        own[SOON] += 1.0
        own[LATE] += 1.0
        own[EVENT], own[NEW] = at, new
        corpus[EVENTS] += 1.0
        corpus[LOGS] += np.log(new)
        corpus[FOUND] += 1.0
    own[LAST] = at
    if links == links:
        own[LINKS] = links


@njit(cache=True)
def _column(page, now, kept, out):  # type: ignore[no-untyped-def]
    state, corpus, by_url, by_text, url_weight, text_weight = kept
    own = state[page]
    days = max(now - own[LAST], 0.0) / 86400.0
    usual = corpus[LOGS] / max(corpus[EVENTS], 1.0)
    since = (now - own[EVENT]) / 86400.0 if own[EVENTS] > 0 else own[DAYS] + days + 30.0
    out[0] = np.log(days + 1e-3)
    out[1] = np.log(_rate(own, corpus))
    out[2] = np.log1p(own[EVENTS])
    out[3] = np.log1p(own[DAYS])
    out[4] = (own[LOGS] + usual) / (own[EVENTS] + 1.0)
    out[5] = np.log1p(own[NEW])
    out[6] = np.log1p(since)
    out[7] = np.log(own[SOON] * np.exp(-days / FADING) + 0.05)
    out[8] = np.log(own[LATE] * np.exp(-days / FADING_LATE) + 0.05)
    out[9] = np.log1p(own[LINKS])
    _around(own, by_url[page], url_weight[page], state, corpus, usual, out[10:14])
    _around(own, by_text[page], text_weight[page], state, corpus, usual, out[14:18])
    out[18] = np.log((corpus[FOUND] + 0.3) / (corpus[EXPECTED] + 0.3))


@njit(cache=True)
def _around(own, others, weights, state, corpus, usual, out):  # type: ignore[no-untyped-def]
    events, days, logs, hits, expected, most = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for rank in range(len(others)):
        if others[rank] < 0 or weights[rank] <= 0:
            continue
        other, weight = state[others[rank]], weights[rank]
        events += weight * other[EVENTS]
        days += weight * other[DAYS]
        logs += weight * other[LOGS]
        if other[EVENT] > own[LAST] + 0.5:  # a visit of the same second is of the same plan
            hits += weight
            most = max(most, np.log1p(other[NEW]))
        later = (other[LAST] - own[LAST]) / 86400.0
        if later > 0:
            expected += weight * later * _rate(other, corpus)
    common = (corpus[EVENTS] + 0.5) / (corpus[DAYS] + 0.5)
    out[0] = np.log((events + 0.5) / (days + 0.5 / common))
    out[1] = (logs + usual) / (events + 1.0)
    out[2] = np.log((hits + 0.3) / (expected + 0.3))
    out[3] = most
