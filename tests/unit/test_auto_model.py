"""Features and models behind `auto`: kernels against plain versions, models against known truths."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from support import add_undated, add_undated_past

from recrawl.auto import copies, hazard, trees
from recrawl.auto.base_rate import base_rates
from recrawl.auto.features import NAMES
from recrawl.auto.group_days import DAYS_KEPT, PRIOR_CHANGES, GroupDays
from recrawl.auto.learner import Learner
from recrawl.auto.neighbourhood import DAILY_DECAY, PRIOR_HITS, Neighbourhood
from recrawl.auto.page_history import MAX_STREAK, PageHistory
from recrawl.history.intervals import PastVisits
from recrawl.neighbours.url_groups import ALONE, group_names, number_groups

URLS = [
    "https://a.org/",
    "https://a.org/x",
    "https://a.org/x/1",
    "https://a.org/x/2/",
    "https://a.org/x/y/3?q=/z",
    "https://b.org/x/4",
]


def test_groups_by_url():
    group, called = number_groups(group_names(URLS))
    everything, host, section, directory, pattern = group
    assert len(set(everything)) == 1
    assert host[:5].tolist() == [host[0]] * 5
    assert host[5] == ALONE
    assert section[0] == section[1] != ALONE  # the host's own
    assert section[2] == section[3] == section[4] != section[0]
    assert directory[2] == directory[3] != ALONE
    assert directory[4] == ALONE
    assert pattern[2] == pattern[3] != ALONE
    assert pattern[5] == ALONE
    assert len(called) == group.max() + 1 == len(set(called.tolist()))


def test_a_directory_may_have_an_empty_name_in_its_path():
    urls = [f"https://web.example/2020/https://a.org/{page}" for page in "xy"]
    *_, directory, _pattern = number_groups(group_names(urls))[0]
    assert directory[0] == directory[1] != ALONE


class PlainDays:
    """What `GroupDays` does, day by day in dictionaries, for one group."""

    def __init__(self):
        self.shown, self.due = {}, {}

    def multiplier(self, day):
        return (PRIOR_CHANGES + self.shown.get(day, 0.0)) / (PRIOR_CHANGES + self.due.get(day, 0.0))

    def parts(self, begin, end, today):
        days = range(int(np.floor(begin)), min(int(np.floor(end)), today) + 1)
        return {day: max(min(end, day + 1) - max(begin, day), 0.0) for day in days}

    def shared(self, hits, today):
        found = {}
        for begin, end, rate in hits:
            weight = {d: p * self.multiplier(d) for d, p in self.parts(begin, end, today).items()}
            total = sum(weight.values())
            events = rate * total / -np.expm1(-rate * total)
            for day, part in weight.items():
                found[day] = found.get(day, 0.0) + events * part / total
        return found

    def since(self, begin, now, today):
        parts = self.parts(begin, now, today)
        return np.log(sum(p * self.multiplier(d) for d, p in parts.items()) / (now - begin))


def test_days_of_a_group_are_those_of_a_plain_version():
    random = np.random.default_rng(0)
    fast, plain = GroupDays(np.zeros((1, 9), np.int32), np.zeros(1, np.uint64)), PlainDays()
    old = []
    for day in range(1, 30):
        fast.start_day(day)
        plain.shown = plain.shared(old, day)
        settled, today = dict(plain.shown), []
        for _ in range(3):
            page = random.integers(0, 9, 4)
            end = day + random.random(4)
            begin, rate = end - random.exponential(5, 4).clip(0, day), random.gamma(1, 0.1, 4)
            hit = random.random(4) < 0.4
            add_undated(fast, page, begin, end, rate, hit * 1.0)
            for one in zip(begin, end, rate, hit, strict=True):
                for d, part in plain.parts(*one[:2], day).items():
                    plain.due[d] = plain.due.get(d, 0.0) + one[2] * part
                today += [one[:3]] if one[3] else []
            new = plain.shared(today, day)
            plain.shown = {d: settled.get(d, 0.0) + new.get(d, 0.0) for d in {*settled, *new}}
        old += today
        asked = random.uniform(0, day, 5)
        found = fast.log_multiplier(np.zeros(5, np.int64), asked, np.full(5, day + 0.9))
        assert np.allclose(found[0], [plain.since(b, day + 0.9, day) for b in asked], atol=1e-4)


def test_a_release_day_stands_out_and_is_forgotten():
    days = GroupDays(np.zeros((1, 100), np.int32), np.zeros(1, np.uint64))
    page = np.arange(50)
    for day in range(1, 10):
        days.start_day(day)
        add_undated(
            days,
            page,
            np.full(50, day + 0.0),
            np.full(50, day + 1.0),
            np.full(50, 0.1),
            (day == 5) + np.zeros(50),
        )

    def ask(begin, end):
        return float(days.log_multiplier(np.array([99]), np.array([begin]), np.array([end]))[0, 0])

    assert ask(5.0, 6.0) > 2.0
    assert ask(7.0, 9.0) < -1.0
    days.start_day(9 + 2 * DAYS_KEPT)
    assert ask(5.0, 6.0) == 0.0


def test_regrouped_days_keep_what_their_groups_showed():
    days = GroupDays(*number_groups(group_names(URLS[2:4])))
    two = np.arange(2)
    add_undated(days, two, np.zeros(2), np.ones(2), np.full(2, 0.1), np.ones(2))
    more = days.regrouped(*number_groups(group_names(URLS)), np.array([2, 3]))
    before = days.log_multiplier(two, np.zeros(2), np.ones(2))
    assert np.allclose(more.log_multiplier(np.array([2, 3]), np.zeros(2), np.ones(2)), before)
    assert more.log_multiplier(np.array([5]), np.zeros(1), np.ones(1))[1:].tolist() == [[0.0]] * 4
    assert more.old_hits.shape == (4, 0)
    assert more.new_hits[0].tolist() == [2, 3]


def test_evidence_of_neighbours_is_that_of_a_plain_version():
    random = np.random.default_rng(1)
    n = 30
    own = PageHistory.empty(np.zeros(n))
    own.last, own.hit_days = random.uniform(0, 10, n), random.exponential(3, n)
    own.last_hit = np.where(random.random(n) < 0.5, np.nan, own.last - random.exponential(1, n))
    rate, weight = random.gamma(1, 0.2, n), random.random((n, 3)).astype(np.float32)
    row = random.integers(0, n, (n, 3)).astype(np.int32)
    row[::4, 1:] = -1
    since, now = random.uniform(0, 10, n), np.full(n, 10.0)
    found = Neighbourhood(row, weight).evidence(own, rate, np.arange(n), since, now)
    for i in range(n):
        hits = due = PRIOR_HITS
        for j, w in zip(row[i], weight[i], strict=True):
            if j >= 0 and own.last[j] > since[i]:
                due += w * DAILY_DECAY ** (10 - own.last[j]) * rate[j] * (own.last[j] - since[i])
                if own.last_hit[j] > since[i]:
                    part = min(1.0, (own.last_hit[j] - since[i]) / own.hit_days[j])
                    hits += w * DAILY_DECAY ** (10 - own.last_hit[j]) * part
        assert found[i] == pytest.approx(np.log(hits / due))


def test_rates_are_drawn_to_those_of_the_smallest_group():
    group, called = number_groups(group_names(URLS))
    sums = np.zeros((2, len(called)))
    events, days = np.array([0, 0, 3.0, 0, 0, 0]), np.full(6, 10.0)
    for level in group:
        for page, g in enumerate(level):
            if g >= 0:
                sums[:, g] += events[page], days[page]
    found, mean = base_rates(group, sums, events, days)
    overall = (3 + 1) / (60 + 100)
    host = (3 + 2) / (50 + 2 / overall)
    section = (3 + 2) / (30 + 2 / host)
    directory = (3 + 2) / (20 + 2 / section)
    assert mean[[2, 5]].tolist() == pytest.approx([directory, overall])
    assert found[[2, 3]].tolist() == pytest.approx(
        [3.5 / (10 + 0.5 / directory), 0.5 / (10 + 0.5 / directory)]
    )
    assert found[2] > found[3] > found[0] > 0


@pytest.mark.slow
def test_own_past():
    own = PageHistory.empty(np.array([0.0, 0.0]))
    shown = np.array([1.0, 0.0, 3.0, 3.0])
    add_undated_past(
        own,
        np.zeros(4, np.int64),
        np.array([1.0, 2.0, 4.0, 9.0]),
        np.array([1.0, 1, 2, 5]),
        shown,
        shown > 0,
    )
    assert (own.n_hits[0], own.days[0], own.last[0], own.last_hit[0], own.streak[0]) == (
        3,
        9,
        9,
        9,
        2,
    )
    assert own.log_size[0] == pytest.approx(2 * np.log(3))
    assert own.fast[0] == pytest.approx(np.exp(-8 / 5) + np.exp(-1) + 1)
    since, streak, *_ = own.columns(np.arange(2), np.array([10.0, 10.0]), np.array([0.1, 0.1]))
    assert since.tolist() == pytest.approx([np.log1p(1), np.log1p(40)])
    assert streak.tolist() == [
        2,
        0,
    ]
    add_undated_past(
        own, np.ones(9, np.int64), np.arange(9.0) + 1, np.ones(9), np.zeros(9), np.zeros(9)
    )
    assert own.streak[1] == -MAX_STREAK


def test_what_a_copy_looks_like():
    texts = pa.array(["Updated 2024-05-01\nnew: May 3, 1999", None], pa.large_string())
    found = np.expm1(
        copies.features(texts, np.array([4, 0]), ["https://a.org/b/c1", "https://a.org/"])
    )
    said = dict(zip(copies.NAMES, found.T[0].round(), strict=True))
    assert said == {
        "length": 35, "links": 4, "lines": 1, "digits": 13, "years": 2, "dates": 2,
        "words of change": 2, "depth": 4, "digits in the URL": 1, "length of the URL": 18,
    }  # fmt: skip
    assert found.T[1][:7].tolist() == [0] * 7


def visits(n=20_000, seed=0):
    """Visits of known truth: columns, offset, log of s, hits."""
    random = np.random.default_rng(seed)
    columns = random.normal(size=(6, n)).astype(np.float32)
    columns[5] = 1.0
    offset = np.log(random.gamma(1.0, 0.2, n) + 1e-4)
    log_s = offset + 0.5 * columns[0] + 1.2 * (columns[1] > 0.5) * (columns[2] > 0) - 0.2
    return columns, offset, log_s, random.random(n) < -np.expm1(-np.exp(log_s))


def test_the_linear_model_finds_the_weights():
    columns, offset, _, hit = visits()
    found = hazard.fit(columns, offset, hit, ridge=1.0)
    assert found.weight[0] == pytest.approx(0.5, abs=0.05)
    assert np.abs(found.weight[3:]).max() < 0.05
    standard = (columns - found.mean[:, None]) / found.scale[:, None]
    summed = (
        found.weight @ np.clip(standard, -hazard.MAX_DEVIATIONS, hazard.MAX_DEVIATIONS)
        + found.intercept
    )
    assert found.log_ratio(columns) == pytest.approx(summed, abs=1e-4)
    strong = hazard.fit(columns, offset, hit, ridge=1e9)
    assert np.abs(strong.log_ratio(columns) - strong.intercept).max() < 1e-3


def test_its_slope_is_that_of_the_loss():
    log_s, hit = np.array([-3.0, -0.5, 0.3, 2.0]), np.array([True, True, False, False])
    slope, _ = hazard.derivatives(log_s, hit)
    step = (hazard.log_loss(log_s + 1e-6, hit) - hazard.log_loss(log_s - 1e-6, hit)) / 2e-6
    assert slope == pytest.approx(-step, abs=1e-6)


def test_trees_find_what_a_linear_model_cannot_and_repeat():
    columns, offset, log_s, hit = visits()
    boosted, linear = trees.fit(columns, offset, hit), hazard.fit(columns, offset, hit)
    columns, offset, log_s, hit = visits(seed=1)
    loss = lambda ratio: hazard.log_loss(offset + ratio, hit).mean()  # noqa: E731
    truth, plain = loss(log_s - offset), loss(0.0 * offset)
    assert truth < loss(boosted.log_ratio(columns)) < loss(linear.log_ratio(columns)) < plain
    again = trees.fit(*(x for i, x in enumerate(visits()) if i != 2))
    assert np.array_equal(again.leaf, boosted.leaf)
    assert np.array_equal(again.above, boosted.above)


@pytest.mark.parametrize("model", [hazard, trees])
def test_shuffled_outcomes_teach_next_to_nothing(model):
    columns, offset, *_ = visits()
    hit = np.random.default_rng(5).random(len(offset)) < -np.expm1(-np.exp(offset))
    found = model.fit(columns, offset, hit).log_ratio(columns)
    assert np.abs(found).mean() < 0.05


def examples(columns, offset, hit):
    n = len(hit)
    seen = PastVisits(np.arange(n), np.ones(n), np.ones(n), hit * 1.0, np.full(n, np.nan))
    return SimpleNamespace(visits=seen, columns=columns, offset=offset)


@pytest.mark.slow
def test_a_model_that_foretells_worse_is_not_believed():
    random = np.random.default_rng(0)
    columns = random.normal(size=(len(NAMES), 4000)).astype(np.float32)
    offset = np.full(4000, -2.0)
    hit = random.random(4000) < -np.expm1(-np.exp(offset + columns[0]))
    learner = Learner()
    learner.add(examples(columns, offset, hit))
    learner.train()
    assert learner.version == 1
    before = learner.log_ratio(columns)
    # a day of the opposite, then one as ever: what was learned from that day misleads
    odd = random.random(4000) < -np.expm1(-np.exp(offset - columns[0]))
    learner.add(examples(columns, offset, odd))
    learner.add(examples(columns[:, :1500], offset[:1500], hit[:1500]))
    learner.train()
    assert learner.version == 1
    assert np.array_equal(learner.log_ratio(columns), before)
    for _ in range(6):
        learner.add(examples(columns, offset, odd))
    learner.train()
    assert learner.version == 2
    assert learner.log_ratio(columns)[columns[0] > 2].mean() < 0
