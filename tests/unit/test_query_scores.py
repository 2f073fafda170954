"""Whole queries: which of them a text matches, its scores, and what follows for pages."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from recrawl.policies.user_centric import gain_per_change, shrunk_rate
from recrawl.search.answers import answer_queries
from recrawl.search.curves import fit_curves, log_rank, log_score
from recrawl.search.gain import estimate_gains, move_gain
from recrawl.search.impact import SearchImpact
from recrawl.search.matches import find_matches
from recrawl.search.quality import exact_gains, visibility
from recrawl.search.query_scores import QueryLists, score_queries
from recrawl.search.scoring import CorpusStatistics, scoring
from recrawl.search.terms import count_terms
from recrawl.search.views import scale, view_at, view_probabilities
from recrawl.search.workload import build_workload

WORDS = [f"w{i}" for i in range(12)]


def some_texts(rng, n):
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 15))) for _ in range(n)]


def some_queries(rng, n=40):
    texts = [" ".join(rng.choices(WORDS, k=rng.choice((1, 2, 2, 3)))) for _ in range(n)]
    return build_workload(texts, np.array([rng.random() for _ in texts]))


@pytest.mark.parametrize("seed", range(5))
def test_texts_match_the_queries_whose_terms_they_all_hold(seed):
    """Found text by text here, query by query in `find_matches`."""
    rng = random.Random(seed)
    workload, texts = some_queries(rng), some_texts(rng, 50)
    counts = count_terms(texts, workload.vocabulary)
    corpus = CorpusStatistics.of(counts, len(workload.vocabulary))
    term_score = scoring("tfidf")(counts, corpus)
    found = score_queries(counts, term_score, QueryLists.of(workload.terms, corpus.holding))
    text = np.repeat(np.arange(len(texts)), np.diff(found.start))
    ours = dict(zip(zip(found.query, text, strict=True), found.score, strict=True))
    matches = find_matches(counts, term_score, workload, np.arange(len(texts)))
    query = np.repeat(np.arange(len(workload)), np.diff(matches.start))
    theirs = dict(zip(zip(query, matches.document, strict=True), matches.score, strict=True))
    assert ours.keys() == theirs.keys()
    assert len(ours) > 100
    for pair, score in theirs.items():
        assert ours[pair] == pytest.approx(score, rel=1e-12)


def test_a_query_of_page_scores_has_the_score_of_the_page():
    workload = build_workload(["cat dog", "cat"], np.ones(2))
    counts = count_terms(["cat dog", "cat bird"], workload.vocabulary)
    lists = QueryLists.of(workload.terms, np.array([1, 2]), mean=True)
    found = score_queries(counts, np.array([5.0, 5.0, 3.0]), lists)
    assert found.start.tolist() == [0, 2, 3]
    assert found.score.tolist() == [5.0, 5.0, 3.0]  # not twice as much for two words


def test_an_answer_by_hand_ties_go_to_the_first():
    """Ranks 2, 1, 3; the last text holds a word of page score 0, so it does not match."""
    workload = build_workload(["cat", "dog"], np.array([3.0, 1.0]))
    counts = count_terms(["cat", "cat", "cat", "cat"], workload.vocabulary)
    lists, p_view = QueryLists.of(workload.terms, counted(counts, 2)), np.array([9, 0.5, 0.3, 0.2])
    found = answer_queries(counts, np.array([2.0, 3, 2, 0]), lists, p_view, workload.frequency)
    curves, views, seen = found
    np.testing.assert_allclose(views, [0.3 * 0.75, 0.5 * 0.75, 0.2 * 0.75, 0.0])
    np.testing.assert_allclose(seen, [2 * 0.3 * 0.75, 3 * 0.5 * 0.75, 2 * 0.2 * 0.75, 0.0])
    cat = int(np.argmax(workload.frequency))
    assert curves[cat, [0, 3, 4]] == pytest.approx(np.log([3, 2, 3]), abs=1e-5)
    assert curves[1 - cat, 4] == -1.0  # nothing about dogs


def counted(counts, terms):
    return np.bincount(counts.term, minlength=terms)


@pytest.mark.parametrize(("seed", "mean"), [(0, False), (1, False), (2, True)])
def test_answers_are_those_of_a_plain_search(seed, mean):
    """Short answers and long ones, rare words among common ones, many ties, scores of 0."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(30)]
    odds = [0.98**i if i < 10 else 0.4**i for i in range(30)] if seed else [1 / 3] * 30
    texts = [
        " ".join(w for w, p in zip(words, odds, strict=True) if rng.random() < p)
        for _ in range(400)
    ]
    asked = [" ".join(rng.sample(words, rng.choice((1, 2, 3)))) for _ in range(60)]
    workload = build_workload(asked, np.array([rng.random() for _ in asked]))
    counts = count_terms(texts, workload.vocabulary)
    term_score = np.array([rng.choice((0.0, 0.1, 0.7, rng.random(), 2.0)) for _ in counts.term])
    lists = QueryLists.of(workload.terms, counted(counts, len(workload.vocabulary)), mean=mean)
    p_view = view_probabilities(len(texts))
    curves, views, seen = answer_queries(counts, term_score, lists, p_view, workload.frequency)

    row = dict(zip(zip(counts.texts(), counts.term, strict=True), term_score, strict=True))
    expected = np.zeros((2, len(texts)))
    longest = 0
    for q, frequency in enumerate(workload.frequency):
        terms = workload.term[workload.start[q] : workload.start[q + 1]]
        score = {}
        for text in range(len(texts)):
            own = [row.get((text, t), 0.0) for t in terms]
            if min(own) > 0.0:
                score[text] = sum(own) / (len(own) if mean else 1)
        for rank, text in enumerate(sorted(score, key=lambda t: (-np.float32(score[t]), t)), 1):
            expected[:, text] += frequency * p_view[rank] * np.array([1.0, score[text]])
        plain = fit_curves(np.zeros(len(score), np.int64), np.array([*score.values()]), 1)
        np.testing.assert_allclose(curves[q], plain[0], rtol=1e-5, atol=1e-6)
        longest = max(longest, len(score))
    np.testing.assert_allclose([views, seen], expected, rtol=1e-9)
    assert longest > 64


@pytest.mark.parametrize(
    ("before", "after"),
    [(3, 6), (6, 3), (3, 99), (99, 3), (0.01, 6), (6, 0.01), (0.01, 99), (6, 0), (0, 6), (0, 99)],
)
def test_the_gain_of_a_move_is_the_integral_over_the_ranks_passed(before, after):
    """By trapezoids in x = log r: −I′(r) dr = a·exp(−a·x) dx. Scores of the 40 pages: 20 to 0.33.

    A page without a score comes from rank 41, and drops to rank 40 without one.
    """
    a = 1.3
    curve = fit_curves(np.zeros(40, np.int64), 20.0 * 0.9 ** np.arange(40.0), 1)[0]
    then = log_rank(np.log(before), curve) if before else np.log(41)
    now = log_rank(np.log(after), curve) if after else np.log(40)
    x = np.linspace(now, then, 50_001)
    fall = after - np.exp([log_score(at, curve) for at in x])
    exact = np.trapezoid(a * np.exp(-a * x) * fall, x) + (0 if before else after * 41**-a)
    assert move_gain(before, after, curve, a, 0.4) == pytest.approx(0.4 * exact, rel=1e-5)


@pytest.mark.parametrize("mean", [False, True])
def test_gains_are_sums_over_all_queries_that_move(mean):
    """Of each page and each query, one by one; changes of up to a tenth are ignored."""
    rng = random.Random(11)
    workload, old = some_queries(rng), some_texts(rng, 60)
    old = [text.replace("w11", "x") for text in old]  # no page matches its queries before
    ways = (lambda t: t, lambda t: f"{t} x", lambda t: some_texts(rng, 1)[0], lambda t: f"{t} w11")
    new = [rng.choice(ways)(text) for text in old]
    size, a = len(workload.vocabulary), 1.7
    counts = [count_terms(texts, workload.vocabulary) for texts in (old, new)]
    corpus = CorpusStatistics.of(counts[0], size)
    copies = [(one, scoring("tfidf")(one, corpus)) for one in counts]
    lists = QueryLists.of(workload.terms, corpus.holding, mean=mean)
    p_view, often = view_probabilities(60, a), workload.frequency
    curves, *_ = answer_queries(*copies[0], lists, p_view, often)
    assert (curves[:, 4] == -1.0).any()

    held = np.zeros((2, 60, size))
    for copy, (one, score) in enumerate(copies):
        held[copy, one.texts(), one.term] = score
    expected, ignored = np.zeros((3, 60)), 0
    for q, first, last in zip(
        range(len(workload)), workload.start, workload.start[1:], strict=False
    ):
        own = held[:, :, workload.term[first:last]]
        scores = np.where((own > 0).all(axis=2), own.mean(axis=2) if mean else own.sum(axis=2), 0.0)
        for page, (s1, s2) in enumerate(scores.T):
            ignored += 0.0 < abs(s2 - s1) <= 0.1 * s1
            if abs(s2 - s1) > 0.1 * s1:
                then, now = (scale(a) * view_at(s, curves[q], a) for s in (s1, s2))
                moved = (
                    move_gain(s1, s2, curves[q], a, scale(a)),
                    now - then,
                    now * s2 - then * s1,
                )
                expected[:, page] += often[q] * np.array(moved)
    assert ignored > 20
    found = estimate_gains(*copies, lists, often, curves, a)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)


def impact_after(workload, *rounds):
    """The impact of pages whose texts are replaced round by round, a day apart."""
    impact = SearchImpact.of(workload)
    for day, texts in enumerate(rounds):
        page, at = np.arange(len(texts)), np.full(len(texts), 86_400.0 * day)
        copy = np.full(len(texts), day + 1, np.uint64)
        impact.add_copies(page, copy, pa.array(texts, pa.large_string()), at)
        impact.record_visits(page, at)
        if not day:
            impact.refit_if_due()
    return impact


def test_fitted_visibility_is_exact():
    rng = random.Random(7)
    workload, texts = some_queries(rng), some_texts(rng, 60)
    # Lengths so near each other, and all different, that no two scores tie.
    texts = [
        " ".join([*t.split(), *["x"] * (1001 + 3 * i)][: 1001 + 3 * i]) for i, t in enumerate(texts)
    ]
    impact = impact_after(workload, texts)
    counts = count_terms(texts, workload.vocabulary)
    score = scoring("tfidf")(counts, CorpusStatistics.of(counts, len(workload.vocabulary)))
    matches = find_matches(counts, score, workload, np.arange(60))
    live, p_view = np.arange(60), view_probabilities(61)
    np.testing.assert_allclose(impact.visibility, visibility(matches, live, p_view), rtol=1e-9)
    views = visibility(matches, live, p_view, scored=False)
    np.testing.assert_allclose(impact.views, views, rtol=1e-9)


def test_a_word_of_a_query_is_worth_nothing_without_the_others():
    workload = build_workload(["cat dog"], np.ones(1))
    impact = impact_after(workload, ["cat x", "cat dog", "dog x"], ["cat y", "cat dog", "dog cat"])
    assert (impact.visibility > 0).tolist() == [False, True, True]
    assert impact.gain[0] == 0.0  # still matches nothing
    assert impact.gain[2] > 0.0  # entered the answer
    gone = impact_after(workload, ["cat dog", "cat dog"], ["cat dog", "cat"])
    assert gone.views[1] == gone.visibility[1] == 0.0


def test_gains_and_views_of_refreshes_add_up():
    workload = build_workload(["cat", "dog", "bird"], np.ones(3))
    rounds = [["cat x", "dog x"], ["cat dog", "dog x"], ["cat dog", "dog x"], ["x bird", "dog x"]]
    seen = [impact_after(workload, *rounds[:n]) for n in (1, 2, 3, 4)]
    assert seen[0].views[0] < seen[1].views[0] == seen[2].views[0] > seen[3].views[0] > 0.0
    assert 0.0 < seen[1].gain[0] == seen[2].gain[0] < seen[3].gain[0]
    assert seen[3].daily_gain.tolist() == seen[3].gain.tolist()  # a day apart each
    assert seen[3].changes.tolist() == [3.0, 3.0]


def test_gains_of_whole_queries_are_near_exact_ones():
    rng = random.Random(3)
    workload, old = some_queries(rng), some_texts(rng, 200)
    new = [*old]
    for page in range(0, 200, 10):  # a few pages change, as in a crawl
        new[page] = some_texts(rng, 1)[0]
    impact = impact_after(workload, old, new)
    counts = count_terms(old + new, workload.vocabulary)
    corpus = CorpusStatistics.of(counts.take(np.arange(200)), len(workload.vocabulary))
    matches = find_matches(
        counts, scoring("tfidf")(counts, corpus), workload, np.tile(np.arange(200), 2)
    )
    live = np.where([a == b for a, b in zip(old, new, strict=True)], 0, 200) + np.arange(200)
    exact = exact_gains(matches, np.arange(200), live, view_probabilities(202))
    changed = live >= 200
    assert np.corrcoef(impact.gain[changed], exact[changed])[0, 1] > 0.9
    assert impact.gain[~changed].max() < 0.02 * exact.max()


def test_gain_of_a_change_by_hand():
    """Mean visibility 2: at stake are 4.2, 2.2 and 0.2. The changes gained 2.68 of 2 × 4.2 + 5 × .2.

    So a change is expected to gain .285106 of what is at stake; each page counts ten such changes.
    """
    gain, changes, seen = np.array([2.68, 0, 0.0]), np.array([2, 0, 5.0]), np.array([4, 2, 0.0])
    share = 2.68 / (2 * 4.2 + 5 * 0.2)
    expected = [(2.68 + 10 * share * 4.2) / 12, share * 2.2, 10 * share * 0.2 / 15]
    np.testing.assert_allclose(gain_per_change(gain, changes, seen), expected)
    none = gain_per_change(np.zeros(3), changes, seen)  # nothing gained yet: all is at stake
    np.testing.assert_allclose(none, [10 * 4.2 / 12, 2.2, 10 * 0.2 / 15])


def test_shrunk_rates_by_hand():
    """3 changes in 19.5 days are (3 + ½) / (19.5 + ½) a day; each page counts 56 such days."""
    found = shrunk_rate(np.array([3.0, 0.0]), np.array([10.0, 9.5]))
    mean = 3.5 / 20
    np.testing.assert_allclose(found, [(3 + 56 * mean) / 66, 56 * mean / 65.5])
