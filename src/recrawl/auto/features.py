"""What is known about each page at any time? Columns, kept up to date visit by visit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from recrawl.auto import copies, page_history
from recrawl.auto.base_rate import base_rates
from recrawl.auto.copies import CopyFeatures
from recrawl.auto.group_days import GroupDays, day_of
from recrawl.auto.neighbourhood import Neighbourhood
from recrawl.auto.page_history import PageHistory
from recrawl.auto.stamps import Stamps, is_inside
from recrawl.errors import BadInput
from recrawl.history.intervals import EVENTS, visits_since
from recrawl.model import DAY
from recrawl.neighbours.nearest import nearest
from recrawl.neighbours.url_groups import LEVELS, group_names, number_groups

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from recrawl.history.intervals import PastVisits
    from recrawl.model import FloatArray, IntArray, KeyArray, Pages, Time

N_NEIGHBOURS = 10
MAX_COPY_LAG_DAYS = 3  #: for visits longer before the first copy, its features are not used
MIN_BELIEF = 0.5  #: in a stamp, from which on it says when a change happened
DATED_DAYS = 0.01  #: length of the interval in which a dated change happened
MAX_EXACT_PAIRS = 2_500_000_000  #: of texts to compare; beyond that the nearest are approximate
GROUP_COLUMNS = tuple(f"days of {level}" for level in LEVELS)
NEIGHBOUR_COLUMNS = ("like pages since", "like pages' rate")
#: The columns; those that change within a day come first.
NAMES = (*GROUP_COLUMNS, *NEIGHBOUR_COLUMNS, *page_history.NAMES, *copies.NAMES)
N_MOVING = len(GROUP_COLUMNS) + 1
#: The columns that depend on the content of the copy.
CONTENT = slice(len(NAMES) - len(copies.NAMES), len(NAMES) - len(copies.URL_NAMES))
UNTRAINED = "days of directory"  #: the column that alone is used before a model is trained


@dataclass(frozen=True)
class Examples:
    """Visits of one day, and what was known before them."""

    visits: PastVisits
    columns: NDArray[np.float32]  #: a row for each of NAMES, one column per visit
    offset: FloatArray  #: log(rate × days)


class FeatureState:
    """The features of all pages of a history, for one kind of event; see `intervals.EVENTS`."""

    def __init__(self, event: str = "change") -> None:
        if event not in EVENTS:
            raise BadInput(f"event must be one of {', '.join(EVENTS)}. Got {event!r}.")
        self.event = event
        self._reset(np.empty(0, np.uint64), np.empty(0))

    def _reset(self, key: KeyArray, first: FloatArray) -> None:
        """Start tracking pages with an empty history; `first` is the day tracking starts."""
        n_pages = len(key)
        self.key = key
        self.history = PageHistory.empty(first)
        self.recent = np.zeros(n_pages, np.uint64)  #: outcomes in `history`, the newest in bit 0
        self.group_name = np.zeros((len(LEVELS), n_pages), np.uint64)
        self.group_days = GroupDays(np.zeros((len(LEVELS), 0), np.int32), np.empty(0, np.uint64))
        self.stamps = Stamps.empty(n_pages)
        self.copies = CopyFeatures(n_pages)
        self.neighbours = Neighbourhood.empty(n_pages, N_NEIGHBOURS)
        self.rate = self.group_rate = np.zeros(n_pages)  #: hits a day
        self.copy_day = np.zeros(n_pages)  #: the day of our copy, or when the page was first seen
        self.columns = np.zeros((len(NAMES), n_pages), np.float32)

    def update(self, pages: Pages, now: Time) -> list[Examples] | None:
        """Add new visits, day by day, and return them with what was known before each.

        None: visits arrived late, or this is an earlier day; the state has to be built again.
        """
        today = int(day_of(now))
        if len(self.key) and today < self.group_days.today:
            return None
        has_new_pages = not np.array_equal(self.key, pages.key)
        if has_new_pages and not self._add_pages(pages, today):
            return None
        self._track_from_first_visit(pages)
        if self.event == "change":
            self.stamps.read_first(pages)
        new = visits_since(pages, self.history.n_visits, self.event)
        if self._is_late(pages, new):
            return None
        self.history.n_visits = pages.n_compared.astype(np.int64)
        self.recent = pages.recent.copy()
        examples = []
        for day, visits in _by_day(new):
            self.group_days.start_day(day)
            examples.append(self._add_visits(visits))
        is_new_day = self.group_days.start_day(today)
        self._refresh(pages, now / DAY, np.unique(new.page), every_page=has_new_pages or is_new_day)
        return examples

    def _track_from_first_visit(self, pages: Pages) -> None:
        """Start the tracking of pages not compared yet at their first visit, once they have one."""
        uncompared = self.history.n_visits == 0
        if uncompared.any():
            first = _first_day(pages)[uncompared]
            self.history.first[uncompared] = self.history.last[uncompared] = first

    def _has_other_outcomes(self, pages: Pages) -> bool:
        """Whether the outcomes already added are not those of these pages."""
        n_new = pages.n_compared - self.history.n_visits
        shift = np.clip(n_new, 0, 63).astype(np.uint64)
        kept = self.recent & (np.uint64(2**64 - 1) >> shift)  # as many as still fit
        is_other = (n_new < 64) & (pages.recent >> shift != kept)
        return bool((n_new < 0).any() or is_other.any())

    def _is_late(self, pages: Pages, new: PastVisits) -> bool:
        """Whether a visit lies before visits already added, or those are different now."""
        known = self.history.n_visits[new.page] > 0
        before = known & (new.at / DAY <= self.history.last[new.page])
        # Visits to other pages may be a day late: crawlers report when they are done.
        before |= day_of(new.at) < self.group_days.today - 1
        return bool(before.any()) or self._has_other_outcomes(pages)

    def _add_pages(self, pages: Pages, today: int) -> bool:
        """Make room for new pages; False if a known page is gone."""
        new_row = pages.rows_of(self.key)
        if (new_row < 0).any():
            return False
        old = vars(self).copy()
        self._reset(pages.key.copy(), _first_day(pages))
        for name in ("history", "stamps", "copies", "neighbours"):
            getattr(self, name).take_over(old[name], new_row)
        self.recent[new_row] = old["recent"]
        self.group_name[:, new_row] = old["group_name"]
        added = np.setdiff1d(np.arange(len(pages)), new_row)
        self.group_name[:, added] = group_names(pages.take(added).urls())
        self.group_days = old["group_days"].regrouped(*number_groups(self.group_name), new_row)
        self.group_days.add_totals(self.history.events, self.history.days)
        if not len(new_row):
            self.group_days.today = min(int(self.history.first.min(initial=today)), today)
        # The content before the first visit here is not known: take our copy for it.
        self._find_neighbours(self.copies.read_first(pages, today))
        self.rate, self.group_rate = self._rates(np.arange(len(self.key)))
        return True

    def _rates(self, page: IntArray) -> tuple[FloatArray, FloatArray]:
        group_days, history = self.group_days, self.history
        events, days = self.stamps.first_events(page)
        events, days = events + history.events[page], days + history.days[page]
        return base_rates(group_days.group[:, page], group_days.totals, events, days)

    def _add_visits(self, new: PastVisits) -> Examples:
        """Add the visits of one day."""
        page, end = new.page, new.at / DAY
        begin = end - new.days
        columns, rate = self._columns(page, begin, end), self.rate[page]
        early = end < self.copies.first_day[page] - MAX_COPY_LAG_DAYS
        if early.any():  # our copy is of later, and has grown with every change since
            content = self.copies.features[: -len(copies.URL_NAMES)]
            columns[CONTENT, early] = content.mean(axis=1)[:, None]
        due = np.maximum(rate * new.days, 1e-9)
        # The Poisson mean given at least one event: a hit after a long time is several.
        events = np.where(new.hit, due / -np.expm1(-due), 0.0)
        days, since, until = new.days, begin, end
        if self.event == "change":
            age = np.maximum(new.age, 0.0)
            # Where the stamp says when: one event since then, and nothing is known of before.
            belief = np.where(new.hit & is_inside(new.days, new.age), self.stamps.belief[page], 0.0)
            events += belief * (1.0 - events)
            days = days + belief * (np.nan_to_num(age) - days)
            is_dated = belief > MIN_BELIEF
            until = np.where(is_dated, end - age, end)
            since = np.where(is_dated, np.maximum(until - DATED_DAYS, begin), begin)
            self.stamps.add_visits(page, new.days, new.age, new.hit)
        self.group_days.add_visits(page, (begin, end), (since, until), rate, events, days)
        self.history.add_visits(page, end, days, new.size, events, (since, until))
        self.rate[page], self.group_rate[page] = self._rates(page)
        return Examples(new, columns, np.log(due))

    def _refresh(self, pages: Pages, now: float, visited: IntArray, *, every_page: bool) -> None:
        """Bring the columns up to a time: of every page, or else of the pages visited since.

        The columns that change within a day are brought up to date in any case.
        """
        every = np.arange(len(self.key))
        has_copy = ~np.isnan(pages.last_visit)
        self.copy_day = np.where(has_copy, pages.last_visit, pages.first_seen) / DAY
        if every_page:
            self._find_neighbours(self.copies.read_changed(pages))
            self.stamps.judge_hosts(self.group_days.group)
            self.rate, self.group_rate = self._rates(every)
            visited = every
        at = np.full(len(every), now)
        self.columns[:, visited] = self._columns(visited, self.copy_day[visited], at[visited])
        if not every_page:
            self.columns[:N_MOVING] = self._moving(every, self.copy_day, at)

    def _columns(self, page: IntArray, since: FloatArray, now: FloatArray) -> NDArray[np.float32]:
        """What is known about a visit to each page now, given the day of our copy."""
        columns = np.empty((len(NAMES), len(page)), np.float32)
        columns[:N_MOVING] = self._moving(page, since, now)
        columns[N_MOVING] = self.neighbours.rates(self.history, self.rate, self.group_rate, page)
        begin = N_MOVING + 1
        end = begin + len(page_history.NAMES)
        columns[begin:end] = self.history.columns(page, now, self.rate[page])
        columns[end:] = self.copies.features[:, page]
        return columns

    def _moving(self, page: IntArray, since: FloatArray, now: FloatArray) -> NDArray[np.float32]:
        """The columns that change within a day."""
        columns = np.empty((N_MOVING, len(page)), np.float32)
        columns[:-1] = self.group_days.log_multiplier(page, since, now)
        columns[-1] = self.neighbours.evidence(self.history, self.rate, page, since, now)
        return columns

    def _find_neighbours(self, moved: IntArray) -> None:
        """Find the neighbours of pages whose text vectors changed."""
        if not len(moved):
            return
        vectors = self.copies.texts.vector
        n_known = int(vectors.any(axis=1).sum())
        exact = n_known if len(moved) * n_known <= MAX_EXACT_PAIRS else 0
        self.neighbours.replace(moved, nearest(vectors, N_NEIGHBOURS, rows=moved, exact=exact))


def _by_day(visits: PastVisits) -> Iterator[tuple[int, PastVisits]]:
    """The days, oldest first, and the visits of each; `visits` are oldest first."""
    day = day_of(visits.at)
    first = np.flatnonzero(np.diff(day, prepend=day[:1] - 1))
    for begin, end in zip(first, [*first[1:], len(visits)], strict=False):
        yield int(day[begin]), visits.take(slice(begin, end))


def _first_day(pages: Pages) -> FloatArray:
    """The day of the first visit to each page, or when it was first seen."""
    return np.where(np.isnan(pages.first_visit), pages.first_seen, pages.first_visit) / DAY
