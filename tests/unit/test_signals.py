"""Signals: how claims are kept and how they fare, effective time, GREEDY-NCIS and its two limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammainc

from recrawl import registry
from recrawl.checks import sample_pages
from recrawl.checks.sample import NOW
from recrawl.history.memory import MemoryHistory
from recrawl.history.memory_signals import SUMS
from recrawl.history.signals_table import CLAIMS_KEPT
from recrawl.model import DAY, PageSignals, Signals
from recrawl.page.responses import Response, to_visits
from recrawl.planner import explain, plan
from recrawl.planner.signals import trust, with_signals
from recrawl.policies.indices import INDICES
from recrawl.policies.noisy_signals import MAX_CLAIMS, crawl_value, noisy_freshness
from recrawl.rates.smoothed import smoothed

MIDNIGHT = 1_699_920_000.0  # 2023-11-14T00:00Z
A = "https://a.example.org/"
COLUMNS = ("said", "claims", *SUMS)


def claims(*rows):
    """Claims of (url, kind, day of the change, day of the reading)."""
    url, kind, said, seen = zip(*rows, strict=True)

    def column(days):
        micros = [round((MIDNIGHT + day * DAY) * 1e6) for day in days]
        return pa.array(micros, pa.int64()).cast(pa.timestamp("us"))

    return pa.table({"url": url, "kind": kind, "said": column(said), "seen": column(seen)})


def bodies(url, *versions):
    """Visits at midnight of days 0, 1, …; None: no visit on that day."""
    return to_visits(
        Response(url, MIDNIGHT + day * DAY, 200, {}, body)
        for day, body in enumerate(versions)
        if body is not None
    )


FOUR_DAYS = (b"1", b"2", b"3", b"3", b"3")
#: A sitemap claims the first change, misses the second, and claims one that is none. The last claim
#: is read after the last visit, of a change before it.
CLAIMED = [
    (A, "sitemap", -1, 0.1),
    (A, "sitemap", 0.5, 0.9),
    (A, "sitemap", 2.5, 2.9),
    (A, "sitemap", 3.5, 4.5),
]


def test_claims_are_compared_with_what_visits_found(store):
    store.append(bodies(A, *FOUR_DAYS))
    store.append(bodies(A + "unnamed", *FOUR_DAYS))
    table = claims(*CLAIMED, ("https://nowhere.example/", "sitemap", 2.5, 2.9))
    assert store.signals() is None
    assert store.claim(table) == 4
    assert store.claim(table) == 0
    heard = store.signals()
    found = {name: getattr(heard, name).tolist() for name in COLUMNS}
    assert found == {
        "said": [MIDNIGHT + 3.5 * DAY],
        "claims": [0],
        "changed": [2],
        "missed": [1],
        "changed_days": [2],
        "false_claims": [1],
        "quiet_days": [2],
    }


def test_all_claims_since_the_last_visit_count(store):
    store.append(bodies(A, b"1"))
    store.append(pa.table({"url": [A + "new"]}), now=MIDNIGHT)
    rows = [(url, "feed", day, day) for url in (A, A + "new") for day in (0, 1, 2, 2.5)]
    store.claim(claims(*rows))
    heard = store.signals()
    # The change of day 0 is in our copy of that time; a page without a copy has seen none.
    assert dict(zip(heard.page_id.tolist(), heard.claims.tolist(), strict=True)) == {0: 3, 1: 4}
    assert heard.kind.tolist() == ["feed", "feed"]


@pytest.mark.slow
def test_only_the_last_claims_about_a_page_are_kept(store):
    store.append(pa.table({"url": [A]}), now=MIDNIGHT)
    for day in range(CLAIMS_KEPT + 5):
        assert store.claim(claims((A, "sitemap", day, day))) == 1
    [held] = store.query("SELECT count(*) AS n, epoch(max(said)) AS last FROM signals").to_pylist()
    assert held == {"n": CLAIMS_KEPT, "last": MIDNIGHT + (CLAIMS_KEPT + 4) * DAY}


days = st.integers(0, 8)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    visits=st.lists(st.tuples(days, st.integers(0, 2), st.booleans()), max_size=12),
    said=st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(["feed", "sitemap"]), days, st.integers(1, 7)),
        max_size=15,
        unique_by=lambda row: row[:3],
    ),
)
def test_memory_hears_what_a_store_hears(tmp_path_factory, visits, said):
    """Visits at midnight, claims read at noon in the order of time, some of changes before."""
    urls = [f"{A}{page}" for page in range(3)]
    memory = MemoryHistory(urls, registry.make("detector", "digest"), seen=MIDNIGHT)
    from recrawl.history import Store

    content = {}
    with Store.open(tmp_path_factory.mktemp("s") / "store", create=True) as store:
        store.append(pa.table({"url": urls}), now=MIDNIGHT)
        for day in range(9):
            at = MIDNIGHT + day * DAY
            today = {page: changed for when, page, changed in visits if when == day}
            for page, changed in today.items():
                content[page] = content.get(page, 0) + changed
            batch = to_visits(
                Response(urls[page], at, 200, {}, b"%d" % content[page]) for page in today
            )
            read = [
                (urls[page], kind, when - 0.75, day + 0.5)
                for page, kind, when, lag in said
                if when + lag - 1 == day
            ]
            for history in (store, memory):
                if today:
                    history.append(batch)
                if read:
                    history.claim(claims(*read))
        ids = {url: store.page_id(url) for url in urls}
        expected = {}
        heard = store.signals()
        if heard is not None:
            names = {number: url for url, number in ids.items()}
            for row, (number, kind) in enumerate(zip(heard.page_id, heard.kind, strict=True)):
                values = [getattr(heard, name)[row] for name in COLUMNS]
                expected[names[int(number)], kind] = pytest.approx(values)
        heard = memory.signals()
        found = {}
        if heard is not None:
            for row, (number, kind) in enumerate(zip(heard.page_id, heard.kind, strict=True)):
                found[urls[number], kind] = [getattr(heard, name)[row] for name in COLUMNS]
        assert found == expected


# How far claims can be believed


def sums(**columns):
    """Signals of one kind about as many pages as the columns have rows."""
    n = len(next(iter(columns.values())))
    empty = {name: np.zeros(n) for name in COLUMNS}
    given = {name: np.array(column, np.float64) for name, column in columns.items()}
    return Signals(np.arange(n), np.array(["sitemap"] * n, dtype=object), **empty | given)


def test_recall_and_noise_by_hand():
    """Host 0: 2 of 10 changes missed, 3 false claims in 90 days. Host 1: nothing is known."""
    signals = sums(changed=[10, 0], missed=[2, 0], false_claims=[3, 0], quiet_days=[90, 0])
    recall, noise = trust(signals, np.full(2, 1e-9), np.array([0, 1]))
    # All hosts: (3 + ½) / (90 + 10) a day, which counts for 10 days on each host.
    assert noise == pytest.approx([(3 + 10 * 0.035) / 100, 0.035])
    # All hosts miss (2 + ½) / (10 + 1), which counts for 4 changes on each host.
    assert 1 - recall == pytest.approx([(2 + 4 * 5 / 22) / 14, 5 / 22])


def test_before_any_visit_half_of_the_changes_count_as_reported():
    recall, noise = trust(sums(changed=[0]), np.ones(1), np.zeros(1, np.int64))
    assert recall == pytest.approx(0.5)
    assert noise == pytest.approx(0.05)


@pytest.mark.parametrize("rate", [0.05, 0.5])
@pytest.mark.parametrize(("recall", "noise"), [(0.8, 0.02), (0.5, 0.2), (0.95, 0.001), (0.0, 0.3)])
def test_recall_and_noise_are_learned(recall, noise, rate):
    """5,000 visits each 4 days after the last; at rate ½ most changed ones show several changes."""
    random = np.random.default_rng(0)
    days = np.full(5_000, 4.0)
    changes = random.poisson(rate * days)
    said = random.binomial(changes, recall) + random.poisson(noise * days)
    changed = changes > 0
    signals = sums(
        changed=changed,
        missed=changed & (said == 0),
        changed_days=days * changed,
        false_claims=said * ~changed,
        quiet_days=days * ~changed,
    )
    found = trust(signals, np.full(5_000, rate), np.zeros(5_000, np.int64))
    assert found[0][0] == pytest.approx(recall, abs=0.08)
    assert found[1][0] == pytest.approx(noise, rel=0.15, abs=0.002)


count = st.floats(0, 1e9).map(float)


@given(st.lists(st.tuples(*[count] * 5), min_size=1, max_size=4), st.floats(1e-9, 1e4))
def test_no_experience_makes_anything_certain(rows, rate):
    given = dict(zip(SUMS, map(list, zip(*rows, strict=True)), strict=True))
    recall, noise = trust(sums(**given), np.full(len(rows), rate), np.arange(len(rows)))
    assert ((recall > 0) & (recall < 1) & (noise > 0) & np.isfinite(noise)).all()


def test_a_kind_says_nothing_of_pages_that_it_does_not_mention():
    pages = sample_pages(n=4)
    signals = replace(sums(claims=[2.0]), page_id=pages.page_id[2:3])
    own = with_signals(pages, signals).signals
    assert own.kinds == ("sitemap",)
    assert np.isnan(own.said[:, 0]).tolist() == [True, True, False, True]
    assert own.claims[:, 0].tolist() == [0, 0, 2, 0]
    assert (own.recall[:, 0] > 0).tolist() == [False, False, True, False]
    age = pages.copy_age(NOW)
    effective = with_signals(pages, signals).days_since_visit(NOW)
    assert effective[[0, 1, 3]] == pytest.approx(age[[0, 1, 3]])
    assert effective[2] != pytest.approx(age[2])
    assert with_signals(pages, None) is pages


# Effective time


def told(*, recall, noise, claims, rate=1.0):
    """What one kind, or several side by side, says of one page."""
    recall, noise, claims = (np.atleast_1d(x).astype(float)[None] for x in (recall, noise, claims))
    kinds = tuple(map(str, range(recall.shape[1])))
    return PageSignals(kinds, claims * 0, claims, recall, noise, np.array([float(rate)]))


def test_effective_time_by_hand():
    """Δ = ½, r = 0.8, ν = 0.1, so γ = 0.5: silence counts a fifth, a claim 2·ln 5 days."""
    own = told(recall=0.8, noise=0.1, claims=3, rate=0.5)
    assert own.effective_days(np.array([10.0])) == pytest.approx(0.2 * 10 + 3 * 2 * np.log(5))
    one_a_day = own.effective_days(np.array([10.0]), np.array([1.0]))
    assert one_a_day == pytest.approx(0.2 * 10 + 3 * np.log(9))


def test_kinds_of_signals_are_independent_witnesses():
    own = told(recall=[0.5, 0.8], noise=[0.5, 0.1], claims=[1, 2])
    expected = 0.5 * 0.2 * 7 + np.log(2) + 2 * np.log(9)
    assert own.effective_days(np.array([7.0])) == pytest.approx(expected)


def test_the_probability_of_a_change_is_that_of_a_simulated_web():
    """Δ = 0.3, r = 0.7, ν = 0.1, T = 4: the share of pages that changed, by the claims they had."""
    random = np.random.default_rng(1)
    changes = random.poisson(0.3 * 4, 400_000)
    said = random.binomial(changes, 0.7) + random.poisson(0.1 * 4, len(changes))
    for claims in range(4):
        own = told(recall=0.7, noise=0.1, claims=claims, rate=0.3)
        p = -np.expm1(-0.3 * own.effective_days(np.array([4.0])))
        assert np.mean(changes[said == claims] > 0) == pytest.approx(p[0], abs=0.01)


EFFECTIVE = ("poisson", "tx", "age", "harmonic", "change-ratio", "cho-age", "lambdacrawl")


@pytest.mark.parametrize("name", [*EFFECTIVE, "auto"])
def test_effective_time_is_the_time_of_every_policy(name):
    """A claim lifts a page, silence lowers it; a page without signals stays where it was."""
    pages = sample_pages(n=40)
    n = len(pages)
    claims = np.arange(n)[:, None] % 3 - 1.0  # −1: not mentioned
    recall = np.where(claims >= 0, 0.9, 0.0)
    own = PageSignals(
        ("feed",), claims, np.maximum(claims, 0), recall, np.full((n, 1), 0.01), np.full(n, 0.2)
    )
    policy = registry.make("policy", name)
    now = NOW + DAY
    before, after = (policy.score(p, now) for p in (pages, replace(pages, signals=own)))
    moved = np.sign(after - before)[before > 0]
    expected = np.where(claims < 0, 0, np.where(claims > 0, 1, -1))[before > 0, 0]
    # One claim makes up for silence unless very many changes were due.
    rate = np.array([smoothed(pages), np.full(n, 0.2)])
    lifts = (np.log1p(90 * rate) > 2 * rate * pages.copy_age(now)).all(axis=0)[before > 0]
    sure = lifts | (expected <= 0)
    assert (expected[sure] > 0).sum() > 3
    np.testing.assert_array_equal(moved[sure], expected[sure])


def test_a_plan_hears_claims_and_explain_says_what_they_are_worth(store):
    urls = [f"{A}{page}" for page in range(4)]
    for url in urls:
        store.append(bodies(url, b"1", b"1", b"2", b"2"))
    store.claim(claims(*[(url, "sitemap", -1, 0) for url in urls], (urls[2], "sitemap", 4, 4)))
    now = MIDNIGHT + 5 * DAY
    chosen = plan(store, 1, now=now, policy="poisson")
    assert chosen.urls() == [urls[2]]
    text = str(explain(store, urls[2], 1, now=now, policy="poisson"))
    assert "sitemap claims 1 change since our last visit, the last 24 h ago" in text
    assert "2.0 d unseen count as" in text
    p = {one: explain(store, one, 1, now=now, policy="poisson").p_change for one in urls}
    assert chosen.p_change[0] == p[urls[2]] > p[urls[0]] == p[urls[1]]
    assert "claims 0 changes" in str(explain(store, urls[0], 1, now=now, policy="poisson"))


def test_an_overdue_page_is_overdue_in_real_days(store):
    """Silence makes the effective time short, but a rule of the user means days."""
    from recrawl.planner import Rule

    store.append(bodies(A, b"1"))
    store.claim(claims((A, "sitemap", -1, 0)))
    rule = Rule("*", max_interval=3 * DAY)
    [row] = plan(store, 1, now=MIDNIGHT + 3 * DAY, policy="poisson", rules=[rule]).records()
    assert row["reason"].startswith("overdue by rule")


def test_oldest_first_means_real_days():
    pages = sample_pages(n=4)
    own = with_signals(pages, replace(sums(claims=[2.0]), page_id=pages.page_id[2:3]))
    np.testing.assert_array_equal(
        registry.make("policy", "oldest").score(own, NOW), pages.copy_age(NOW)
    )


# GREEDY-NCIS


def reach(time, gamma, beta):
    """ψ: the mean time to reach an effective time, Σ P(i claims before t, t + iβ < ι) over t."""
    claims = np.arange(int(time / beta) + 1)
    return gammainc(claims + 1.0, gamma * np.maximum(time - claims * beta, 0.0)).sum() / gamma


def plain_value(alpha, gamma, beta, time, steps=4_000):
    """∫ α·e^{−αu}·ψ(u) du by the midpoint rule."""
    u = (np.arange(steps) + 0.5) * time / steps
    return sum(alpha * np.exp(-alpha * v) * reach(v, gamma, beta) for v in u) * time / steps


def value(*row):
    return float(crawl_value(*np.array(row, np.float64)[:, None])[0])


@pytest.mark.parametrize(
    ("alpha", "gamma", "beta", "time"),
    [
        (0.02, 0.1, 30.0, 5.0),  # before any claim
        (0.02, 0.1, 30.0, 75.0),
        (0.1, 1.0, 0.5, 10.0),  # twenty claims on the way
        (0.1, 1.0, 0.5, 24.9),
        (1e-6, 0.2, 1e6, 5.0),  # nearly complete observations
        (1e-4, 1e-4, 1e4, 3.0),  # the series
        (2.0, 0.3, 0.7, 9.0),
    ],
)
def test_the_crawl_value_is_the_integral(alpha, gamma, beta, time):
    row = alpha, gamma, beta, time
    assert value(*row) == pytest.approx(plain_value(*row), rel=1e-6)


def test_many_claims_are_a_steady_stream():
    for row in [(0.1, 1.0, 0.5, 26.0), (0.1, 1.0, 0.5, 60.0), (0.01, 0.5, 0.05, 100.0)]:
        assert row[3] > MAX_CLAIMS * row[2]
        assert value(*row) == pytest.approx(plain_value(*row), rel=1e-6)


def test_the_mean_time_and_the_right_time_of_a_simulated_threshold():
    """Δ = 0.5, r = 0.6, ν = 0.1: pages fetched when their effective time reaches 12."""
    alpha, gamma, beta = 0.2, 0.4, np.log(4.0) / 0.2
    random = np.random.default_rng(2)
    at = np.cumsum(random.exponential(1 / gamma, (20_000, 60)), axis=1)
    times = np.column_stack([np.zeros(len(at)), at])
    start = times + beta * np.arange(times.shape[1])  # effective time just after each claim
    end = np.minimum(start + np.diff(times, axis=1, append=np.inf), 12.0)
    stay = np.maximum(end - start, 0.0)
    right = np.where(stay > 0, np.exp(-alpha * start) * -np.expm1(-alpha * stay) / alpha, 0.0)
    gained = right.sum(axis=1) - np.exp(-alpha * 12.0) * stay.sum(axis=1)
    assert value(alpha, gamma, beta, 12.0) == pytest.approx(gained.mean(), rel=0.01)


@given(
    st.floats(-4, 1).map(lambda e: 10.0**e),
    st.floats(-4, 1).map(lambda e: 10.0**e),
    st.floats(0.01, 5.0),
    st.floats(-3, 3).map(lambda e: 10.0**e),
)
@settings(deadline=None)
def test_the_crawl_value_rises_with_time_and_is_bounded(alpha, gamma, jump, time):
    beta = jump / alpha
    first, later = value(alpha, gamma, beta, time), value(alpha, gamma, beta, 1.5 * time)
    assert 0.0 <= first <= later * (1 + 1e-9)
    # At most the time that a fresh copy is right: 1/Δ, where Δ + ν = α + γ and ν = γe^{−αβ}.
    assert later <= 1.0 / (alpha + gamma * -np.expm1(-alpha * beta)) * (1 + 1e-3)


def test_without_signals_the_value_is_the_freshness_index():
    """Exactly so for pages that no kind mentions, and in the limit of worthless signals."""
    pages = sample_pages()
    n = len(pages)
    policy = registry.make("policy", "freshness")
    plain = policy.score(pages, NOW)
    none = PageSignals(
        ("feed",), *(np.zeros((n, 1)) for _ in range(3)), np.ones((n, 1)), np.ones(n)
    )
    np.testing.assert_array_equal(policy.score(replace(pages, signals=none), NOW), plain)
    rate, days = np.array([0.05, 0.5, 3.0]), np.array([20.0, 3.0, 0.1])
    for noise in (0.001, 1.0, 100.0):
        worthless = PageSignals(
            ("feed",),
            np.zeros((3, 1)),
            np.array([[0.0], [1.0], [3.0]]),
            np.full((3, 1), 1e-9),
            np.full((3, 1), noise),
            rate,
        )
        found = noisy_freshness(rate, days, worthless)
        assert found == pytest.approx(INDICES["freshness"](rate, days), rel=0.01)


def test_perfect_signals_are_complete_observations():
    """A page is worth nothing until a change is announced; then it is worth 1/Δ."""
    rate = np.array([0.1, 1.0, 5.0])
    for claims in (1.0, 4.0):
        perfect = PageSignals(
            ("ping",),
            np.zeros((3, 1)),
            np.full((3, 1), claims),
            np.full((3, 1), 1 - 1e-9),
            np.full((3, 1), 1e-12),
            rate,
        )
        found = noisy_freshness(rate, np.full(3, 0.5), perfect)
        assert found == pytest.approx(1 / rate, rel=1e-5)
        silent = replace(perfect, claims=np.zeros((3, 1)))
        assert noisy_freshness(rate, np.full(3, 30.0), silent) == pytest.approx(0.0, abs=1e-6)


def test_the_value_rises_with_every_claim_and_day():
    rate, claims = np.full(5, 0.3), np.arange(5.0)[:, None]
    own = PageSignals(("feed",), claims, claims, np.full((5, 1), 0.6), np.full((5, 1), 0.1), rate)
    by_claim = noisy_freshness(rate, np.full(5, 2.0), own)
    assert (np.diff(by_claim) > 0).all()
    same = replace(own, claims=np.ones((5, 1)))
    assert (np.diff(noisy_freshness(rate, np.arange(5.0), same)) > 0).all()


RATES = np.repeat([0.02, 0.1, 0.5, 2.0], 300)


def crawl_of_thresholds(recall, noise, score, *, share=0.08, days=120, parts=4, seed=0):
    """Freshness of 1,200 pages at known rates, the best `share` of them a day fetched in parts."""
    random = np.random.default_rng(seed)
    n, step = len(RATES), 1.0 / parts
    unseen, claims, fresh = np.zeros(n), np.zeros(n), np.ones(n, bool)
    k, total = round(share * n / parts), []
    for _ in range(days * parts):
        changes = random.poisson(RATES * step)
        claims += random.binomial(changes, recall) + random.poisson(noise * step, n)
        unseen += step
        fresh &= changes == 0
        total.append(fresh.mean())
        own = PageSignals(
            ("feed",),
            np.zeros((n, 1)),
            claims[:, None].copy(),
            np.full((n, 1), min(recall, 1 - 1e-9)),
            np.full((n, 1), max(noise, 1e-12)),
            RATES,
        )
        best = np.argsort(-score(unseen, own), kind="stable")[:k]
        unseen[best], claims[best], fresh[best] = 0.0, 0.0, True
        total[-1] = (total[-1] + fresh.mean()) / 2
    return float(np.mean(total[len(total) // 3 :]))


def best_thresholds(recall, noise, share):
    """The freshness of the best thresholds on effective time that cost `share` visits a day.

    At a price each page is fetched when its crawl value reaches it. `reach` is the mean time
    between its visits; the share of that time in which it is right follows from V = w − e^{−αι}ψ.
    """
    rates = RATES[::300]
    alpha, gamma = (1 - recall) * rates, recall * rates + noise
    beta = np.log(gamma / noise) / alpha
    grid = [np.linspace(1e-3, 12.0 / a, 4_000) for a in alpha]
    values = [
        crawl_value(*(np.full(4_000, x) for x in row), g)
        for *row, g in zip(alpha, gamma, beta, grid, strict=True)
    ]
    low, high = 0.0, 60.0
    for _ in range(60):
        price = (low + high) / 2
        spent = fresh = 0.0
        for a, c, b, g, v in zip(alpha, gamma, beta, grid, values, strict=True):
            at = int(np.searchsorted(v, price))
            if at < len(g):
                time = reach(g[at], c, b)
                spent += 1 / time / len(rates)
                fresh += (v[at] + np.exp(-a * g[at]) * time) / time / len(rates)
        low, high = (price, high) if spent > share else (low, price)
    return fresh


@pytest.mark.slow
def test_greedy_reaches_the_best_thresholds_and_more_knowledge_keeps_more_copies_fresh():
    """Recall 0.8, noise 0.02. The greedy choice must come close to the optimum it is for."""

    def plain(unseen, own):
        return INDICES["freshness"](RATES, unseen)

    def ncis(unseen, own):
        return noisy_freshness(RATES, unseen, own)

    def last_claim(unseen, own):
        """What is lost if only the last claim counts: one bit."""
        return ncis(unseen, replace(own, claims=np.minimum(own.claims, 1.0)))

    none = crawl_of_thresholds(0.8, 0.02, plain)
    one = crawl_of_thresholds(0.8, 0.02, last_claim)
    noisy = crawl_of_thresholds(0.8, 0.02, ncis)
    complete = crawl_of_thresholds(1.0, 0.0, ncis)
    assert none + 0.05 < noisy < complete - 0.02
    assert one < noisy + 0.003
    assert noisy == pytest.approx(best_thresholds(0.8, 0.02, 0.08), abs=0.015)


def test_several_kinds_count_as_one_of_mean_worth():
    """Δ = 1; r = ½ and ν = ½ (γ = 1), r = ½ and ν = ¼ (γ = ¾); a third does not mention the page."""
    own = told(recall=[0.5, 0.5, 0.0], noise=[0.5, 0.25, 1.0], claims=[1, 2, 0])
    alpha, worth = 0.25, np.log([2.0, 3.0]) / 0.25
    beta = (1.0 * worth[0] + 0.75 * worth[1]) / 1.75
    expected = value(alpha, 1.75, beta, 3.0 + worth[0] + 2 * worth[1])
    assert noisy_freshness(np.ones(1), np.array([3.0]), own) == pytest.approx(expected)
