"""Pages that others follow: when a leader changes, pages on its topic change days later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from recrawl.errors import BadInput
from recrawl.lab.worlds.groups import members
from recrawl.lab.worlds.times import mixed_rates, poisson
from recrawl.lab.worlds.web import lay_out
from recrawl.lab.worlds.words import Topical
from recrawl.lab.worlds.world import World, above_0, counts, generator, shares, world_of

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray

MIN_DELAY_DAYS, MAX_DELAY_DAYS = 1.0, 3.0  #: from a leader's change to its followers'


@dataclass(frozen=True)
class LeaderLinks(Topical):
    """Text on the topic; every page of a topic links to its leader, whether it follows or not."""

    leader: IntArray  #: of each page; its own number for a leader
    urls: list[str]

    def links(self, page: IntArray, version: IntArray) -> list[list[str]]:  # noqa: ARG002
        lead = self.leader[page]
        rows = zip(lead.tolist(), (lead != page).tolist(), strict=True)
        return [[self.urls[to]] if other else [] for to, other in rows]


@dataclass(kw_only=True)
class Leaders:
    """Each leader has `followers` on any site; each follows a change with probability `heed`.

    With `follow` false they follow leaders that are not in the world: the rates are the same, but
    related pages predict nothing, so a method that gains from them is wrong. A change is followed
    by another about a day later with probability `again`, and so on. A text has each word of its
    version `repeats` times; with 5, a chi-squared test calls nearly every change significant.
    """

    name: ClassVar[str] = "leaders"

    follow: bool = True
    followers: int = 4
    heed: float = 0.9
    shape: float = 1.0
    mean: float = 0.1
    again: float = 0.0
    repeats: int = 1

    def make(self, *, pages: int = 1_000, days: int = 90, seed: int = 0) -> World:
        if not isinstance(self.follow, bool):
            raise BadInput(f"follow must be true or false. Got {self.follow!r}; try false.")
        counts(followers=self.followers, repeats=self.repeats)
        above_0(shape=self.shape, mean=self.mean)
        shares(heed=self.heed, again=self.again)
        if self.again >= 1:
            raise BadInput(f"again must be below 1: a story ends. Got {self.again}; try 0.5.")
        random = generator(pages=pages, days=days, seed=seed)
        urls = lay_out(pages, random).urls
        topic, leader = _roles(pages, self.followers, random)
        rate = mixed_rates(int(topic.max()) + 1, self.shape, self.mean, random)[topic]
        leads = leader == np.arange(pages)
        changed = self._changes(rate, leader, leads, days, random)
        content = LeaderLinks(seed, topic, leader, urls, repeats=self.repeats)
        rate = np.where(leads, rate, rate * self.heed) / (1 - self.again)
        return world_of(
            self,
            urls,
            changed,
            days=days,
            seed=seed,
            content=content,
            rate=rate,
            topic=topic,
            leader=leader,
        )

    def _changes(
        self,
        rate: FloatArray,
        leader: IntArray,
        leads: BoolArray,
        days: int,
        random: np.random.Generator,
    ) -> tuple[IntArray, FloatArray]:
        # A follower's own draw is used as its hidden leader's. Draws begin before the window, so
        # that its first days are like the others.
        page, at = poisson(rate, days, random, begin=-MAX_DELAY_DAYS)
        if self.again:
            page, at = _stories(page, at, self.again, random)
        if self.follow:
            row, follower = _followed(page, leader, leads)
        else:
            row = np.flatnonzero(~leads[page])
            follower = page[row]
        kept = random.random(len(row)) < self.heed
        later = at[row] + random.uniform(MIN_DELAY_DAYS, MAX_DELAY_DAYS, len(row))
        own = leads[page]
        return (
            np.concatenate([page[own], follower[kept]]),
            np.concatenate([at[own], later[kept]]),
        )


def _roles(pages: int, followers: int, random: np.random.Generator) -> tuple[IntArray, IntArray]:
    """The topic and the leader of each page, scattered over the sites."""
    topics = max(1, pages // (followers + 1))
    place = random.permutation(pages)
    topic = place % topics
    return topic, np.argsort(place)[:topics][topic]


def _stories(
    page: IntArray, at: FloatArray, again: float, random: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Each change and those that continue its story, half a day to a day and a half apart."""
    times = random.geometric(1 - again, len(page))
    story = np.repeat(np.arange(len(page)), times)
    gap = random.uniform(0.5, 1.5, len(story))
    gap[np.cumsum(times) - times] = 0.0
    passed = np.cumsum(gap)
    passed -= np.repeat(passed[np.cumsum(times) - times], times)
    return page[story], at[story] + passed


def _followed(page: IntArray, leader: IntArray, leads: BoolArray) -> tuple[IntArray, IntArray]:
    """The row of each change of a leader, paired with each of its followers."""
    followers = np.flatnonzero(~leads)
    followers = followers[np.argsort(leader[followers], kind="stable")]
    edge = np.searchsorted(leader[followers], np.arange(len(leader) + 1))
    rows = np.flatnonzero(leads[page])
    row, member = members(edge, page[rows])
    return rows[row], followers[member]
