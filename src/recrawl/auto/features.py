"""What is known of each page at any time? Kept up to date visit by visit, in columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto import copy
from recrawl.auto import page_history as own
from recrawl.auto.group_days import GroupDays, day_of
from recrawl.auto.neighbourhood import Neighbourhood
from recrawl.auto.page_history import PageHistory
from recrawl.auto.prior import rates
from recrawl.errors import BadInput
from recrawl.history.intervals import EVENTS, visits_since
from recrawl.model import DAY
from recrawl.neighbours.nearest import nearest
from recrawl.neighbours.url_groups import LEVELS, group_names, number_groups
from recrawl.neighbours.vectors import TextSpace, TextVectors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from recrawl.history.intervals import Visits
    from recrawl.model import FloatArray, IntArray, KeyArray, Pages, Time

NEAR = 10  #: neighbours of a page
DIMS, CHARACTERS = 48, 2_500  #: of the vectors of texts, and how much of a text they read
AT_ONCE = 20_000  #: texts in memory
LATELY = 3  #: days for which our copy is taken for what it was then
SAME = 0.95  #: cosine above which a text is as it was, and its neighbours too
PAIRS = 2_500_000_000  #: of texts that are compared one by one; beyond that the nearest are guessed
DAYS = tuple(f"days of {level}" for level in LEVELS)
LIKE = ("like pages since", "like pages' rate")
#: The columns: those that move within a day first.
NAMES = (*DAYS, *LIKE, *own.NAMES, *copy.NAMES)
MOVING = len(DAYS) + 1
SAID = slice(len(NAMES) - len(copy.NAMES), len(NAMES) - len(copy.OF_URL))  #: those of the copy
START = "days of directory"  #: what alone is believed before anything was learned


@dataclass(frozen=True)
class Examples:
    """Visits, and what was known before them."""

    visits: Visits
    columns: NDArray[np.float32]  #: a row for each of NAMES, a column a visit
    offset: FloatArray  #: log(rate × days)


class FeatureState:
    """The pages of a history, for one kind of event; see `intervals.EVENTS`."""

    def __init__(self, event: str = "change") -> None:
        if event not in EVENTS:
            raise BadInput(f"event must be one of {', '.join(EVENTS)}. Got {event!r}.")
        self.event = event
        self._begin(np.empty(0, np.uint64), np.empty(0))

    def _begin(self, key: KeyArray, first: FloatArray) -> None:
        """Pages of which nothing is known, watched since a day each."""
        size = len(key)
        self.key = key
        self.own = PageHistory.begin(first)
        self.copied = np.full(size, -1, np.int64)  #: which copy was read: changes before it
        self.read = np.full(size, -np.inf)  #: the day when a copy was first read
        self.recent = np.zeros(size, np.uint64)  #: outcomes that were folded, the newest in bit 0
        self.spoken = np.zeros(size, np.bool_)  #: whether its text is known
        self.looked = np.full(size, -np.inf)  #: the visit that was the last when it was read
        self.name = np.zeros((len(LEVELS), size), np.uint64)
        self.about = np.zeros((len(copy.NAMES), size), np.float32)
        space = TextSpace(dims=DIMS, characters=CHARACTERS)
        self.texts = TextVectors(n_pages=size, space=space, same=SAME)
        self.like = Neighbourhood.none(size, NEAR)
        self.day = GroupDays(np.zeros((len(LEVELS), 0), np.int32), np.empty(0, np.uint64))
        self.rate = self.mean = self.since = np.zeros(size)
        self.columns = np.zeros((len(NAMES), size), np.float32)

    def learn(self, pages: Pages, now: Time) -> list[Examples] | None:
        """Take up what is new, day by day. None: visits came late, and all has to begin anew."""
        today = int(day_of(now))
        if len(self.key) and today < self.day.today:  # what was learned is of a later day
            return None
        grown = not np.array_equal(self.key, pages.key)
        if grown and not self._grow(pages, today):
            return None
        self._begin_watch(pages)
        new = visits_since(pages, self.own.folded, self.event)
        if self._is_late(pages, new):
            return None
        self.own.folded, self.recent = pages.n_compared.astype(np.int64), pages.recent.copy()
        told = []
        for day, visits in _by_day(new):
            self.day.turn(day)
            told.append(self._fold(visits))
        turned = self.day.turn(today)
        self._look(pages, now / DAY, np.unique(new.page), whole=grown or turned)
        return told

    def _begin_watch(self, pages: Pages) -> None:
        """Pages not compared yet are watched from their first visit on, not since heard of."""
        none = self.own.folded == 0
        if none.any():
            self.own.first[none] = self.own.last[none] = _since(pages)[none]

    def _is_other(self, pages: Pages) -> bool:
        """Whether the outcomes that were folded are not those of these pages."""
        more = pages.n_compared - self.own.folded
        by = np.clip(more, 0, 63).astype(np.uint64)
        kept = self.recent & (np.uint64(2**64 - 1) >> by)  # as many as are still there
        return bool((more < 0).any() or ((more < 64) & (pages.recent >> by != kept)).any())

    def _is_late(self, pages: Pages, new: Visits) -> bool:
        """Whether visits were recorded that lie before those already known, or others than they."""
        known = self.own.folded[new.page] > 0
        before = new.at / DAY <= self.own.last[new.page]
        # of other pages too, but for those of a day: crawlers report when they are done
        before = (known & before) | (day_of(new.at) < self.day.today - 1)
        return bool(before.any()) or self._is_other(pages)

    def _grow(self, pages: Pages, today: int) -> bool:
        """Make room for new pages; False if old ones went."""
        old = self.__dict__.copy()
        place = pages.rows_of(old["key"])
        if (place < 0).any():
            return False
        self._begin(pages.key.copy(), _since(pages))
        for name in ("own", "like"):
            getattr(self, name).put(old[name], place)
        for name in ("copied", "read", "recent", "spoken", "looked"):
            getattr(self, name)[place] = old[name]
        for name in ("name", "about"):
            getattr(self, name)[:, place] = old[name]
        old_row = np.full(len(pages), -1)
        old_row[place] = np.arange(len(place))
        self.texts = old["texts"]
        self.texts.reindex(old_row)
        new = np.flatnonzero(old_row < 0)
        self.name[:, new] = group_names(pages.take(new).urls())
        self.day = old["day"].regrouped(*number_groups(self.name), place)
        self.day.sum_up(self.own.events, self.own.days)
        if not len(place):
            self.day.today = min(int(self.own.first.min(initial=today)), today)
        # What stood on a page before its first visit here is not known: let it be our copy.
        unread = np.flatnonzero(~np.isnan(pages.last_visit) & (self.copied < 0))
        self._read(pages, unread)
        self.read[unread] = today
        self.rate, self.mean = self._rates(np.arange(len(self.key)))
        return True

    def _rates(self, page: IntArray) -> tuple[FloatArray, FloatArray]:
        return rates(self.day.group, self.day.sums, self.own.events, self.own.days, page)

    def _fold(self, new: Visits) -> Examples:
        """Visits of one day."""
        page, end = new.page, new.at / DAY
        begin = end - new.days
        columns, rate = self._columns(page, begin, end), self.rate[page]
        before = end < self.read[page] - LATELY
        if before.any():  # our copy is not what it was then, and grew with every change since
            columns[SAID, before] = self.about[: -len(copy.OF_URL)].mean(axis=1)[:, None]
        due = np.maximum(rate * new.days, 1e-9)
        # a hit when many changes were due stands for as many; Poisson, given that it is not 0
        events = np.where(new.hit, due / -np.expm1(-due), 0.0)
        self.day.add(page, begin, end, rate, events)
        self.own.add(page, end, new.days, new.size, events)
        self.rate[page], self.mean[page] = self._rates(page)
        return Examples(new, columns, np.log(due))

    def _look(self, pages: Pages, now: float, touched: IntArray, *, whole: bool) -> None:
        """Bring the columns up to a time: all of them, or those that move within a day."""
        every = np.arange(len(self.key))
        self.since = np.where(np.isnan(pages.last_visit), pages.first_seen, pages.last_visit) / DAY
        if whole:
            outgrown = self.texts.is_outgrown(int(self.spoken.sum()))
            visited = np.flatnonzero(~np.isnan(pages.last_visit))
            self._read(pages, visited if outgrown else self._unread(pages), relearn=outgrown)
            self.rate, self.mean = self._rates(every)
            touched = every
        at = np.full(len(every), now)
        self.columns[:, touched] = self._columns(touched, self.since[touched], at[touched])
        if not whole:
            self.columns[:MOVING] = self._moving(every, self.since, at)

    def _columns(self, page: IntArray, since: FloatArray, now: FloatArray) -> NDArray[np.float32]:
        """What is known of visits to these pages, our copies being of a time."""
        found = np.empty((len(NAMES), len(page)), np.float32)
        found[:MOVING] = self._moving(page, since, now)
        found[MOVING] = self.like.rates(self.own, self.rate, self.mean, page)
        begin = MOVING + 1
        found[begin : begin + len(own.NAMES)] = self.own.columns(page, now, self.rate[page])
        found[begin + len(own.NAMES) :] = self.about[:, page]
        return found

    def _moving(self, page: IntArray, since: FloatArray, now: FloatArray) -> NDArray[np.float32]:
        found = np.empty((MOVING, len(page)), np.float32)
        found[: len(DAYS)] = self.day.since(page, since, now)
        found[len(DAYS)] = self.like.evidence(self.own, self.rate, page, since, now)
        return found

    def _unread(self, pages: Pages) -> IntArray:
        """The copies that changed since they were read."""
        other = self.copied != np.where(np.isnan(pages.last_visit), -1, pages.n_changes)
        unheard = ~self.spoken & (pages.last_visit > self.looked)
        return np.flatnonzero(other | unheard)

    def _read(self, pages: Pages, rows: IntArray, *, relearn: bool = False) -> None:
        """Look at copies: their texts and links."""
        if not len(rows):
            return
        if relearn or not self.texts.n_learned:
            self.texts.learn(pages, rows)
        moved = []
        for begin in range(0, len(rows), AT_ONCE):
            part = rows[begin : begin + AT_ONCE]
            some = pages.take(part)
            texts = some.texts(copy.READ)
            self.about[:, part] = copy.columns(texts, some.n_links(), some.urls())
            self.spoken[part] = texts.is_valid().to_numpy(zero_copy_only=False)
            moved.append(self.texts.update(part, texts))
        self._find_like(np.concatenate(moved))
        self.copied[rows], self.looked[rows] = pages.n_changes[rows], pages.last_visit[rows]

    def _find_like(self, moved: IntArray) -> None:
        if not len(moved):
            return
        known = int(self.texts.vector.any(axis=1).sum())
        exact = known if len(moved) * known <= PAIRS else 0
        self.like.set(moved, nearest(self.texts.vector, NEAR, rows=moved, exact=exact))
        self.like.offer(moved)


def _by_day(visits: Visits) -> Iterator[tuple[int, Visits]]:
    """The days, oldest first, and the visits of each; `visits` are oldest first."""
    day = day_of(visits.at)
    first = np.flatnonzero(np.diff(day, prepend=day[:1] - 1))
    for begin, end in zip(first, [*first[1:], len(visits)], strict=False):
        yield int(day[begin]), visits.take(slice(begin, end))


def _since(pages: Pages) -> FloatArray:
    """The day since when each page is watched: its first visit, or when it was first heard of."""
    return np.where(np.isnan(pages.first_visit), pages.first_seen, pages.first_visit) / DAY
