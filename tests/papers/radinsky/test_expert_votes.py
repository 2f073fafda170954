"""The crawl of the paper: an SVM for each page and expert, calibrated, and their weighted vote."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.stats import rankdata
from support import daily_trace

from recrawl.history.memory import MemoryHistory
from recrawl.lab.replay import TraceEngine, replay
from recrawl.lab.trace import read_trace
from recrawl.lab.worlds import write
from recrawl.model import DAY, Budget, Neighbours
from recrawl.papers.radinsky.features import page_days, page_features, relation_features
from recrawl.papers.radinsky.learners.platt import fit_calibrated
from recrawl.papers.radinsky.learners.svm import fit_svm
from recrawl.papers.radinsky.live.expert_svms import expert_examples, vote
from recrawl.papers.radinsky.live.forecasters import ContentForecaster, ExpertsForecaster
from recrawl.papers.radinsky.live.selection import ExpertSelection
from recrawl.papers.radinsky.live.vote import ExpertVote
from recrawl.papers.radinsky.series.snapshots import word_shares
from recrawl.registry import make

WORLD = "leaders:mean=0.16,shape=20,again=0.8,followers=7"
K = 3


def crawl(trace, learn, days, visited=lambda day: slice(None)):
    """Visit pages day by day; `learn(pages, now)` is called after each."""
    engine, start = TraceEngine(trace), trace.window[0]
    history = MemoryHistory(trace.urls, make("detector", "digest"), seen=start, copies=trace)
    for day in range(days):
        now = start + day * DAY
        history.append(engine.visits(np.arange(len(trace))[visited(day)], now), now=now)
        learn(history.pages(), now)
    return history.pages()


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    made = make("world", WORLD).make(pages=40, days=60, seed=5)
    return read_trace(write(made, tmp_path_factory.mktemp("world") / "leaders"))


@pytest.fixture(scope="module")
def trained(trace):
    """The vote after 45 days on which a third of the pages was visited; its pages, the time."""
    forecaster, random = ExpertVote(k=K), np.random.default_rng(1)
    visits = [random.random(len(trace)) < (1.0 if day < 2 else 0.35) for day in range(45)]
    pages = crawl(trace, forecaster.fit, 45, lambda day: visits[day])
    return forecaster, pages, trace.window[0] + 45 * DAY


def test_the_vote_by_hand():
    # (1 · 0.2 + 0.25 · 0.8) / 1.25 = 0.32; an expert of weight 0 has no vote.
    p = np.array([[0.2, 0.8, 0.0], [0.5, 0.1, 0.9]])
    weight = np.array([[1.0, 0.25, 0.0], [1.0, 0.6, 0.4]])
    # (0.5 + 0.06 + 0.36) / 2 = 0.46
    np.testing.assert_allclose(vote(p, weight), [0.32, 0.46], rtol=1e-12)


def test_the_forecast_is_the_vote_of_the_experts(trained):
    forecaster, pages, now = trained
    model, log = forecaster.model_, forecaster.log_
    rows = np.searchsorted(log.key, model.key)
    p = model.p_change(log, rows, now)
    assert ((model.weight > 0).sum(axis=1) > 2).any()
    assert (model.weight[:, 0] == 1).all()
    assert len(np.unique(model.weight[:, 1])) > 5
    forecast = dict(zip(pages.key.tolist(), forecaster.forecast(pages, now).p_change, strict=True))
    for page, key in enumerate(model.key.tolist()):
        top = sum(w * q for w, q in zip(model.weight[page], p[page], strict=True))
        assert forecast[key] == pytest.approx(top / sum(model.weight[page]), rel=1e-12)
    # Pages without SVMs have the baseline.
    for row in np.flatnonzero(~np.isin(pages.key, model.key)):
        share = (pages.n_changes[row] + 0.5) / (pages.n_compared[row] + 1)
        assert forecast[pages.key[row]] == share
    order = np.random.default_rng(2).permutation(len(pages))
    again = pickle.loads(pickle.dumps(forecaster)).forecast(pages.take(order), now).p_change
    np.testing.assert_allclose(again, [forecast[key] for key in pages.key[order].tolist()])


def test_features_equal_those_of_the_experiment_where_every_page_is_visited_daily(trace):
    forecaster = ExpertVote(k=K)
    crawl(trace, forecaster.fit, 40)
    log = forecaster.log_
    snapshots, past = log.snapshots(), log.past_visits()
    experts = Neighbours(
        np.column_stack([np.roll(np.arange(40), -shift) for shift in (1, 2)]), np.ones((40, 2))
    )
    examples = expert_examples(past, experts)
    assert len(examples.page) > 20
    changed = past.facts["shown"].reshape(40, 40)
    days = [page_days(snapshots, page, changed[page]) for page in range(40)]
    own = [
        page_features(page)[:, 1:] for page in days
    ]  # f3, f4, f5; f1 is the share since the start
    for number, page in enumerate(examples.page):
        rows = slice(examples.start[number], examples.start[number + 1])
        features = examples.features[rows]
        assert len(features) == 39
        assert np.isnan(features[:, 0, 5:]).all()  # the page itself has no relation to itself
        np.testing.assert_array_equal(features[:, :, 0], 1.0)  # days since the visit
        np.testing.assert_allclose(features[1:, 0, 2:5], own[page][1:39], atol=1e-9)
        share = np.nancumsum(changed[page]) / np.maximum(np.arange(40), 1)
        np.testing.assert_allclose(features[:, 0, 1], share[:39])
        np.testing.assert_array_equal(examples.yes[rows], changed[page][1:] > 0)
        for slot, expert in enumerate(experts.row[page], start=1):
            np.testing.assert_allclose(features[1:, slot, 7:10], own[expert][1:39], atol=1e-9)
            relation = relation_features(days[page], days[expert])
            np.testing.assert_allclose(features[1:, slot, 10:], relation[1:39], atol=1e-6)


def test_an_example_knows_only_earlier_cycles(trained):
    forecaster, *_ = trained
    past = forecaster.log_.past_visits()
    examples = expert_examples(past, forecaster.selection_.experts)
    owner = np.repeat(np.arange(len(past.start) - 1), np.diff(past.start))
    visit = examples.own + 1  # the next visit to the page is the prediction target
    assert (owner[visit] == owner[examples.own]).all()
    np.testing.assert_array_equal(examples.yes, past.facts["shown"][visit] == 1)
    page = np.repeat(np.arange(len(examples.page)), np.diff(examples.start))
    for example, slot in zip(*np.nonzero(examples.other >= 0), strict=True):
        expert = examples.expert[page[example], slot]
        known = np.flatnonzero((owner == expert) & (past.cycle < past.cycle[visit[example]]))
        assert examples.other[example, slot] == known.max()
        days = (past.facts["visit"][visit[example]] - past.facts["visit"][known.max()]) / DAY
        assert examples.features[example, slot, 5] == pytest.approx(days)


def test_the_log_holds_the_copies_of_the_last_two_visits(trained):
    log = trained[0].log_
    past = log.past_visits()
    n_unchanged = 0
    for page, end in enumerate(past.start[1:]):
        assert (past.counts[[end - 1]] != log.last[[page]]).nnz == 0
        assert (past.counts[[end - 2]] != log.before[[page]]).nnz == 0
        n_unchanged += past.facts["shown"][end - 1] == 0
    assert n_unchanged > 3


def plain_probability(x, words, expert_words, yes, asked):
    """Probability by one SVM: features and unigram distributions of its examples; last row: asked."""

    def standard(rows):
        known = np.isfinite(rows[:-1])
        mean = [
            col[k].mean() if k.any() else 0.0 for col, k in zip(rows[:-1].T, known.T, strict=True)
        ]
        size = [
            col[k].std() if k.any() else 0.0 for col, k in zip(rows[:-1].T, known.T, strict=True)
        ]
        scaled = (rows - mean) / np.where(np.array(size) > 1e-12, size, np.inf)
        scaled = np.nan_to_num(scaled)
        scaled[-1] = np.clip(scaled[-1], scaled[:-1].min(axis=0), scaled[:-1].max(axis=0))
        return scaled

    def distribution(rows):
        if rows is None:
            return np.zeros((len(yes) + 1, 1))
        rows = rows - rows[:-1].mean(axis=0)
        square = (rows**2).sum(axis=1)
        if square[-1] > square[:-1].max() > 0:
            rows[-1] *= np.sqrt(square[:-1].max() / square[-1])
        size = square[:-1].mean()
        return rows / np.sqrt(size) if size > 1e-12 else rows * 0

    vectors = np.column_stack([standard(x), distribution(words), distribution(expert_words)])
    kernel = (vectors @ vectors.T / asked + 1) ** 3
    weight, threshold, line = fit_calibrated(np.ascontiguousarray(kernel[:-1, :-1]), yes, 1.0)
    decision = kernel[-1, :-1] @ weight - threshold
    return 1 / (1 + np.exp(line[0] * decision + line[1]))


@pytest.mark.parametrize("later", [0.0, 60.0])
def test_each_svm_equals_a_plain_one(trained, later):
    forecaster, _, now = trained
    log, model, now = forecaster.log_, forecaster.model_, now + later * DAY
    of, shape = model.examples, (-1, log.last.shape[1])
    dense = csr_matrix(of.words[::-1], shape=(len(of.words[0]) - 1, shape[1])).toarray()
    last = word_shares(log.last).toarray()
    rows = np.searchsorted(log.key, model.key)
    p = model.p_change(log, rows, now)
    columns = ("visit", "change_share", "distance", "distance_before", "changed")
    state = np.column_stack([log.columns[name] for name in columns])
    state[:, 0] = (now - state[:, 0]) / DAY
    seen = 0
    for i, page in enumerate(of.page[:6]):
        a = slice(of.start[i], of.start[i + 1])
        words = np.vstack([dense[of.own[a]], last[page]])
        own = np.vstack([of.features[a, 0, :5], state[page]])
        plain = plain_probability(own, words, None, of.yes[a], 6.0)
        assert p[i, 0] == pytest.approx(plain, abs=1e-3)
        for e in np.flatnonzero(of.weight[i, 1:] > 0) + 1:
            expert = of.expert[i, e]
            if (of.other[a, e] < 0).any():
                continue
            seen += 1
            pair = np.array(
                [last[page], log_before(log, page), last[expert], log_before(log, expert)]
            )
            now_features = np.concatenate([state[page], state[expert], relate(*pair)])
            x = np.vstack([of.features[a, e], now_features])
            its_words = np.vstack([dense[of.other[a, e]], last[expert]])
            plain = plain_probability(x, words, its_words, of.yes[a], 16.0)
            assert p[i, e] == pytest.approx(plain, abs=1e-3)
    assert seen >= 6


def log_before(log, page):
    return word_shares(log.before[[page]]).toarray()[0]


def relate(a, a_before, b, b_before):
    """g6 and g7 by their definition (§4.2.2)."""

    def cosine(x, y):
        size = np.linalg.norm(x) * np.linalg.norm(y)
        return x @ y / size if size else 0.0

    moved, its_move = a - a_before, b - b_before
    return [cosine(a, b), cosine(a_before, b_before), cosine(its_move, a), cosine(its_move, moved)]


def test_the_calibration_uses_examples_that_the_svm_was_not_trained_on():
    from sklearn.svm import SVC

    random = np.random.default_rng(3)
    x = random.normal(size=(31, 4))
    yes = x[:, 0] + random.normal(size=31) > 0.2
    kernel = (x @ x.T / 4 + 1) ** 3
    held_out = np.empty(31)
    # The examples of each label are dealt out to three folds in turn.
    number = np.array([yes[: i + 1].sum() if yes[i] else (~yes[: i + 1]).sum() for i in range(31)])
    for fold in range(3):
        out = number % 3 == fold
        svm = SVC(kernel="precomputed", C=1.0, tol=1e-6).fit(kernel[~out][:, ~out], yes[~out])
        held_out[out] = svm.decision_function(kernel[out][:, ~out])
    target = np.where(yes, (yes.sum() + 1) / (yes.sum() + 2), 1 / ((~yes).sum() + 2))

    def loss(line):
        z = line[0] * held_out + line[1]
        return (np.logaddexp(0, z) - (1 - target) * z).sum()

    weight, threshold, line = fit_calibrated(kernel, yes, 1.0)
    np.testing.assert_allclose(line, minimize(loss, [0.0, 0.0], tol=1e-12).x, atol=0.02)
    whole = fit_svm(kernel, np.where(yes, 1.0, -1.0), np.ones(31))
    np.testing.assert_array_equal(weight, whole[0])
    assert threshold == whole[1]


def auc(p, yes):
    p, yes = np.array(p), np.array(yes, bool)
    above = rankdata(p)[yes].sum() - yes.sum() * (yes.sum() + 1) / 2
    return above / yes.sum() / (~yes).sum()


def ask(trace, forecaster, is_asked, experts=None):
    """AUC of the forecasts of the last 30 days, for the pages and days that are asked."""
    p, yes = [], []
    texts = trace.contents["text"].to_pylist()
    text = {url: texts[trace.start[i] : trace.start[i + 1]] for i, url in enumerate(trace.urls)}
    days = len(text[trace.urls[0]]) - 1

    def learn(pages, now):
        day = int(now / DAY)
        forecaster.fit(pages, now)
        if experts and day == 0:
            key = np.sort(pages.key)
            urls = np.array(pages.urls())[np.argsort(pages.key)].tolist()
            row = np.array([[urls.index(experts.get(url, url))] for url in urls])
            weight = np.array([[0.5 * (url in experts)] for url in urls])
            chosen = Neighbours(np.where(weight > 0, row, -1), weight)
            forecaster.selection_ = ExpertSelection(1, 999.0, experts=chosen, key=key, at=now)
        if day < days - 30:
            return
        forecast = forecaster.forecast(pages, now + DAY).p_change
        for url, said in zip(pages.urls(), forecast, strict=True):
            if is_asked(url, day, text[url]):
                p.append(said)
                yes.append(text[url][day + 1] != text[url][day])

    crawl(trace, learn, days)
    assert 20 < sum(yes) < len(yes) - 20
    return auc(p, yes)


def test_the_words_of_a_page_tell_its_change(tmp_path):
    """A version with "soon" lasts a day, one with "calm" three; only f2 tells them apart.

    No two versions in a row share a word, so all changes are of the same size.
    """
    random = np.random.default_rng(0)
    pool = [f"w{i}" for i in range(40)]
    texts = {"https://x.org/z": [" ".join([*pool, "soon0 soon1 calm0 calm1"])] * 91}
    for page in range(8):
        days, version = [], 0
        while len(days) < 91:
            version += 1
            kind = random.choice(["soon", "calm"])
            word = pool[2 * int(random.integers(20)) + version % 2]
            days += [f"{kind}{version % 2} {kind}{version % 2} {word}"] * (
                1 if kind == "soon" else 3
            )
        texts[f"https://x.org/{page}"] = days[:91]
    trace = daily_trace(tmp_path / "trace", texts)

    def just_changed(url, day, text):
        return url[-1] != "z" and text[day] != text[day - 1]

    assert ask(trace, ExpertVote(k=0, teach_days=7.0), just_changed) > 0.95
    assert ask(trace, ContentForecaster(learner="svm"), just_changed) < 0.65


def test_the_relation_to_an_expert_tells_a_change(tmp_path):
    """A page changes the day after its expert takes up its topic; only g6 and g7 tell that.

    Topics are never used twice, so no word tells anything; the expert changes daily.
    """
    random = np.random.default_rng(0)
    texts, experts, topics = {}, {}, iter(f"topic{i}" for i in range(9_999))
    for pair in range(6):
        page, expert = f"https://x.org/a{pair}", f"https://x.org/b{pair}"
        experts[page] = expert
        texts[page], texts[expert] = [], []
        topic = next(topics)
        for _ in range(91):
            texts[page].append(f"base thing {topic}")
            is_taken_up = random.random() < 0.5
            texts[expert].append(f"other words {topic if is_taken_up else next(topics)}")
            topic = next(topics) if is_taken_up else topic
    every = " ".join(
        sorted({word for days in texts.values() for text in days for word in text.split()})
    )
    texts["https://x.org/z"] = [every] * 91
    trace = daily_trace(tmp_path / "trace", texts)

    def is_page(url, *_):
        return url in experts

    # The topic of an expert may repeat from day to day, so it need not change when taken up twice.
    assert ask(trace, ExpertVote(k=1), is_page, experts) > 0.9
    assert ask(trace, ExpertsForecaster(k=1, learner="svm"), is_page, experts) < 0.65


@pytest.mark.parametrize(
    "policy", ["coin:by=content", "coin:by=experts", "coin:by=mean-experts", "content", "experts"]
)
def test_a_policy_sees_only_what_it_fetched(policy, trace, tmp_path):
    log = replay(trace, policy, Budget(share=0.2))
    fetched = np.unique(trace.live(log.page, log.at))
    table = pq.read_table(trace.file)
    hidden = np.setdiff1d(np.arange(len(table)), fetched)
    assert len(hidden) > len(table) / 3
    text = table["text"].to_pylist()
    for row in hidden:
        text[row] = f"never seen {row}"
    at = table.schema.get_field_index("text")
    table = table.set_column(
        at, table.schema.field(at), pa.array(text, table.schema.field(at).type)
    )
    (tmp_path / "other").mkdir()
    pq.write_table(table, tmp_path / "other" / "versions.parquet")
    other = read_trace(tmp_path / "other", window=trace.window)
    again = replay(other, policy, Budget(share=0.2))
    np.testing.assert_array_equal(again.page, log.page)
    np.testing.assert_array_equal(again.p_change, log.p_change)
