"""The targets and baselines of Dang et al. on a trace made by hand, and that nothing leaks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr
from support import write_trace

from recrawl.errors import BadInput
from recrawl.lab.trace import read_trace
from recrawl.model import DAY
from recrawl.papers.dang import families
from recrawl.papers.dang.data import _most_central, _times, study
from recrawl.papers.dang.feature import table
from recrawl.papers.dang.meaning import meaning
from recrawl.papers.dang.models import PAPER_NGBOOST, Experiment, Split

PAGES = 160  #: 40 of each of four kinds
HOST = "https://a.example"


def versions(page, last="as it was"):
    """The versions of a page: (day, text, links). A crawl comes at the end of each of days 1 to 10.

    So whatever begins on day 5.5 is new in interval 5. `last` is a word in texts from day 9.5 on.
    """
    home, name = f"{HOST}/{page:03}", f"page {page} of kind {page % 4}"
    inner = [f"{home}/{letter}" for letter in "abc"]
    if page % 4 == 0:  # new text on day 3.5; one internal link on day 8.5, two more on day 9.5
        return [
            (0.0, name, []),
            (3.5, f"{name} more", []),
            (8.5, f"{name} and more", inner[:1]),
            (9.5, f"{name} {last}", inner),
        ]
    if page % 4 == 1:  # an external link more on each day, the text stays
        steps = [
            (day + 0.5, name, [f"https://b.example/{n}" for n in range(day)]) for day in range(1, 9)
        ]
        return [(0.0, name, []), *steps, (9.5, name, [f"https://b.example/{n}" for n in range(9)])]
    if page % 4 == 2:  # a link to its own host by another scheme comes, goes and comes again
        other = [home.replace("https", "http") + "/x"]
        steps = [(5.5, name, other), (6.5, name, []), (7.5, name, other)]
        return [(0.0, name, []), *steps]
    return [(0.0, name, []), (9.5, f"{name} {last}", [])]  # no links; text changes in the end


def trace(folder, **changed):
    rows = [
        (f"{HOST}/{page:03}", day, 200, text, links)
        for page in range(PAGES)
        for day, text, links in versions(page, **changed)
    ]
    return read_trace(write_trace(folder, rows))


@pytest.fixture(scope="module")
def crawled(tmp_path_factory):
    return trace(tmp_path_factory.mktemp("trace"))


@pytest.fixture(scope="module")
def data(crawled):
    return study(crawled, every=DAY)


def by_kind(column):
    """The value of each of the four kinds of pages, if all of a kind have the same."""
    each = [np.unique(np.asarray(column)[kind::4]) for kind in range(4)]
    assert [len(values) for values in each] == [1] * 4
    return [float(values[0]) for values in each]


def test_targets_by_hand(data):
    assert len(data) == PAGES
    assert len(data.snapshot.crawls) == 10
    assert by_kind(data.rate["internal"]) == pytest.approx([2 / 9, 0, 0, 0])  # LCR
    assert by_kind(data.rate["external"]) == pytest.approx([0, 1, 2 / 9, 0])
    assert by_kind(data.count["internal"]) == [2, 0, 0, 0]  # NNL
    assert by_kind(data.count["external"]) == [0, 1, 0, 0]


def test_baselines_by_hand(crawled, data):
    rows = np.arange(PAGES)
    inner, outer = (Experiment(data)._baselines(kind, rows) for kind in ("internal", "external"))
    assert by_kind(inner["NNL-Pr"]) == [1, 0, 0, 0]  # interval 8
    assert by_kind(outer["NNL-Pr"]) == [0, 1, 0, 0]
    assert by_kind(inner["NNL-Av"]) == pytest.approx([1 / 8, 0, 0, 0])  # intervals 1 to 8
    assert by_kind(outer["NNL-Av"]) == pytest.approx([0, 1, 2 / 8, 0])
    assert by_kind(outer["CCR"]) == pytest.approx([2 / 8, 0, 0, 0])
    assert by_kind(study(crawled, every=DAY, strict=False).changed) == pytest.approx(
        [3 / 9, 0, 0, 1 / 9]
    )
    some = np.array([5, 0])
    assert Experiment(data)._baselines("external", some)["NNL-Pr"].tolist() == [1, 0]
    short = Experiment(data, history=0)._baselines("internal", rows)
    assert list(short) == ["NNL-Pr", "CCR"]
    one = Experiment(data, history=1)._baselines("internal", rows)
    assert by_kind(one["NNL-Av"]) == [1, 0, 0, 0]


def test_columns_of_the_crawls_by_hand(data):
    first, last = data.snapshot.crawls[0], data.snapshot.crawls[-1]
    assert by_kind(first.internal) == by_kind(first.external) == [0, 0, 0, 0]
    assert by_kind(last.internal) == [3, 0, 0, 0]
    assert by_kind(last.external) == [0, 9, 1, 0]
    assert by_kind(first.words) == [5, 5, 5, 5]  # page 7 of kind 3
    assert first.distinct[[3, 7]].tolist() == [4, 5]  # "page 3 of kind 3" has the 3 twice
    assert first.text_bytes[1] == len("page 1 of kind 1") == first.bytes[1]
    # Nine links of 19 characters.
    assert last.bytes[1] == len("page 1 of kind 1") + 9 * len("https://b.example/0")


def test_probabilities_are_of_new_links(data, quick):
    """Pages of kind 1 show an external link in each interval, those of kind 3 never any."""
    split = Split.of(PAGES, 0)
    forecasts, _ = Experiment(data, history=2).forecasts("external", split, 0)
    kind = split.test % 4
    for suffix in ("", "_LBLA"):
        probability = forecasts[f"PNL-ET{suffix}"]
        assert probability[kind == 1].min() > 0.5 > probability[kind == 3].max()
        assert (forecasts[f"NL-ET{suffix}"] == (probability > 0.5)).all()
        expected = forecasts[f"NNL-ET{suffix}"]
        assert expected[kind == 1].min() > 0.5 > expected[kind == 3].max()
    assert (forecasts["NNL-Pr"] == (kind == 1)).all()


def test_no_row_is_in_two_parts_of_a_split():
    for seed in range(3):
        split = Split.of(1_000, seed)
        train, development, test = (
            set(part.tolist()) for part in (split.train, split.development, split.test)
        )
        assert not train & test
        assert train | test == set(range(1_000))
        assert development < train
        assert (len(train), len(development), len(test)) == (750, 250, 250)
    assert not np.array_equal(Split.of(1_000, 0).test, Split.of(1_000, 1).test)
    assert np.array_equal(Split.of(1_000, 1).test, Split.of(1_000, 1).test)


def everything(data):
    features = [*families.SP, *families.SN, *families.dp(8, meaning(data.snapshot)), *families.dn()]
    return table(data.snapshot, [*meaning(data.snapshot), *features])


def test_strict_does_not_see_the_last_crawl(crawled, data, tmp_path):
    """Other texts and links from day 9.5 on: what is fitted on texts, and each feature, stay."""
    words = " ".join(f"moon{n} orbit{n % 7} comet" for n in range(50))
    other = study(trace(tmp_path, last=words), every=DAY)
    same = everything(data)
    assert np.array_equal(same, everything(other), equal_nan=True)
    assert np.array_equal(data.snapshot.near.row, other.snapshot.near.row)
    assert np.array_equal(data.snapshot.near.weight, other.snapshot.near.weight)
    assert np.array_equal(data.changed, other.changed)
    leaky = [study(t, every=DAY, strict=False) for t in (crawled, trace(tmp_path, last=words))]
    assert not np.array_equal(*(everything(each) for each in leaky), equal_nan=True)


def test_strict_does_not_see_the_last_interval(data, quick):
    """Its new links are the target: changed on all pages, no feature and no baseline changes."""
    snapshot = data.snapshot
    target = replace(
        snapshot.intervals[-1],
        new_internal=snapshot.intervals[-1].new_internal + 7,
        new_external=snapshot.intervals[-1].new_external + 7,
    )
    other = replace(data, snapshot=replace(snapshot, intervals=[*snapshot.intervals[:-1], target]))
    assert np.array_equal(everything(data), everything(other), equal_nan=True)
    rows = np.arange(PAGES)
    for name, column in Experiment(data)._baselines("internal", rows).items():
        assert np.array_equal(column, Experiment(other)._baselines("internal", rows)[name])


def retold(data, rows, seed=5):
    """The same study with other targets on these rows."""
    random = np.random.default_rng(seed)

    def changed(columns, draw):
        return {
            kind: np.where(np.isin(np.arange(PAGES), rows), draw, c) for kind, c in columns.items()
        }

    return replace(
        data,
        count=changed(data.count, random.poisson(2.0, PAGES)),
        rate=changed(data.rate, random.random(PAGES)),
    )


def test_targets_of_test_pages_have_no_effect_on_what_is_fitted(data, quick):
    split = Split.of(PAGES, 1)
    forecasts, settings = Experiment(data, history=2).forecasts("external", split, 1)
    other, same = Experiment(retold(data, split.test), history=2).forecasts("external", split, 1)
    assert settings == same
    for name, forecast in forecasts.items():
        assert np.array_equal(forecast, other[name]), name
    fitted, _ = Experiment(retold(data, split.train), history=2).forecasts("external", split, 1)
    moved = {name for name in forecasts if not np.array_equal(forecasts[name], fitted[name])}
    assert moved >= {"LCR-ET", "LCR-ET_LBLA", "PNL-ET", "PNL-ET_LBLA", "NNL-ET", "NNL-LGB"}
    assert not moved & {"NNL-Av", "NNL-Pr", "CCR"}


@pytest.mark.parametrize("seed", range(3))
def test_settings_are_tuned_on_development_pages_of_the_same_repetition(data, quick, seed):
    split = Split.of(PAGES, seed)
    others = np.setdiff1d(np.arange(PAGES), split.development)
    one, two = (Experiment(each, history=0) for each in (data, retold(data, others)))
    assert one.rates("external", seed)["settings"] == two.rates("external", seed)["settings"]
    settings = one.presence("external", seed)["settings"]
    assert settings == two.presence("external", seed)["settings"]
    assert list(settings) == ["0"]
    _, told = one.forecasts("external", split, seed)
    _, same = two.forecasts("external", split, seed)
    assert told == same


def test_scores_are_of_test_pages_only(data, quick):
    experiment, split = Experiment(data, history=1), Split.of(PAGES, 2)
    rate, count = (column["external"][split.test] for column in (data.rate, data.count))
    zero = experiment.rates("external", 2)["scores"]["zero"]
    assert zero["MAE"] == pytest.approx(rate.mean())
    last = data.snapshot.intervals[-2].new_external[split.test]
    ranked = experiment.rankings("external", 2)
    assert ranked["spearman"]["NNL"]["NNL-Pr"] == pytest.approx(spearmanr(count, last)[0])
    assert ranked["spearman"]["LCR"]["NNL-Pr"] == pytest.approx(spearmanr(rate, last)[0])
    assert ranked["spearman"]["NL"]["NNL-Pr"] == pytest.approx(spearmanr(count > 0, last)[0])
    # Kind 1 alone shows new external links now, as in the interval before: all is right.
    assert ranked["area"]["NNL-Pr"] == pytest.approx(ranked["ceiling"])
    curve = ranked["curves"]["NNL-Pr"]
    assert len(curve) == 101
    assert curve[0] == 0
    # Of p pages with a new link, two random choices of 4, which is 10 % of 40, share 4 · 4 / p.
    assert curve[10] == pytest.approx(4 / (count > 0).sum())
    assert curve[-1] == pytest.approx(1)
    other = retold(data, split.train)
    assert Experiment(other, history=1).rates("external", 2)["scores"]["zero"] == zero


def test_the_paper_rounds_some_forecasts(crawled, quick):
    leaky = study(crawled, every=DAY, strict=False)
    forecasts, _ = Experiment(leaky, history=2).forecasts("external", Split.of(PAGES, 0), 0)
    for name in ("NNL-ET", "NNL-ET_LBLA", "NNL-Av"):
        assert (forecasts[name] == np.rint(forecasts[name])).all()
    assert not (forecasts["NNL-LGB"] == np.rint(forecasts["NNL-LGB"])).all()


def test_only_pages_with_text_in_all_crawls(tmp_path):
    rows = [(f"{HOST}/{i:03}", 0.0, 200, f"text {i}", []) for i in range(45)]
    rows += [(f"{HOST}/late", 5.5, 200, "late", []), (f"{HOST}/empty", 0.0, 200, "", [])]
    rows += [(f"{HOST}/001", 4.5, 404, "", []), (f"{HOST}/002", 4.5, 200, "", [])]
    kept = study(read_trace(write_trace(tmp_path, rows)), every=DAY).snapshot.crawls[0].urls
    assert kept.to_pylist() == [f"{HOST}/{i:03}" for i in range(45) if i not in (1, 2)]


def test_links_between_pages_and_pages_that_are_trusted(tmp_path):
    """Page 1 links to itself, to page 2 twice, to page 3 of another host and to no page at all."""
    urls = [f"{HOST}/{i:03}" for i in range(42)]
    urls[3] = "https://b.example/"
    links = {
        0: [urls[1]],
        1: [urls[1], urls[2], urls[2], urls[3], "https://c.example/"],
        3: [urls[2]],
    }
    rows = [(url, 0.0, 200, f"text {i}", links.get(i, [])) for i, url in enumerate(urls)]
    trace = read_trace(write_trace(tmp_path, rows))
    data = study(trace, every=DAY)
    crawl = data.snapshot.crawls[0]
    row = {url: i for i, url in enumerate(crawl.urls.to_pylist())}
    one, two, three, zero = (row[urls[i]] for i in (1, 2, 3, 0))
    edges = list(
        zip(crawl.source.tolist(), crawl.target.tolist(), crawl.inside.tolist(), strict=True)
    )
    assert sorted(edges) == sorted(
        [(zero, one, True), (one, two, True), (one, three, False), (three, two, False)]
    )
    assert (crawl.internal[one], crawl.external[one]) == (2, 2)  # itself is a link, too
    assert crawl.trusted.tolist() == [two]  # of 42 pages one, and it has most links
    named = study(trace, every=DAY, trusted=[urls[3], "https://no.example/", urls[0]])
    assert named.snapshot.crawls[0].trusted.tolist() == [three, zero]
    with pytest.raises(
        BadInput, match=r"Got 1 other URLs; the first page is https://a\.example/000"
    ):
        study(trace, every=DAY, trusted=["https://no.example/"])


def test_the_most_central_pages_are_trusted():
    """All link to page 7, which links to 5, which links to 3: these three have the highest ranks."""
    source = np.arange(300)
    target = np.where(source == 7, 5, np.where(source == 5, 3, 7))
    assert _most_central(source, target, 300).tolist() == [3, 5, 7]
    assert _most_central(source[:299], target[:299], 299).tolist() == [5, 7]
    assert _most_central(source[:60], target[:60], 60).tolist() == [7]


def test_the_last_ten_crawls_that_fit(tmp_path):
    rows = [(f"{HOST}/{i:03}", 0.0, 200, f"text {i}", []) for i in range(40)]
    trace = read_trace(write_trace(tmp_path, rows))  # a window of ten days
    begin, end = trace.window
    times = _times(trace, DAY, 8)
    assert (np.diff(times) == DAY).all()
    assert (len(times), times[0], times[-1]) == (10, end - 9 * DAY, end)
    assert _times(trace, 3 * DAY, 2)[-1] == begin + 9 * DAY  # the tenth day is not a whole step
    assert len(_times(trace, 3 * DAY, 2)) == 4
    with pytest.raises(BadInput, match=r"must hold 5 crawls.*Got 4, 3.0 d apart"):
        _times(trace, 3 * DAY, 3)
    with pytest.raises(BadInput, match=r"must hold 3 crawls.*Got 2, 8.0 d apart"):
        _times(trace, 8 * DAY, 0)


def test_related_pages_are_those_of_the_present(tmp_path):
    """Pages 0 and 1 are alike in the crawl before the last, pages 0 and 2 in the last."""
    rows = [(f"{HOST}/{i:03}", 0.0, 200, f"tea cup kettle leaf {i}", []) for i in range(42)]
    rows += [(f"{HOST}/{i:03}", 8.5, 200, f"moon orbit comet {i}", []) for i in (0, 1)]
    rows += [(f"{HOST}/001", 9.5, 200, "tea cup kettle leaf", [])]
    rows += [(f"{HOST}/002", 9.5, 200, "moon orbit comet", [])]
    trace = read_trace(write_trace(tmp_path, rows))
    for strict, other in ((True, 1), (False, 2)):
        snapshot = study(trace, every=DAY, strict=strict).snapshot
        assert snapshot.near.row[0, 0] == other
        about = snapshot.crawls[snapshot.present].meaning
        assert np.allclose(about[0], about[other], atol=1e-6)
        assert not np.allclose(about[0], about[3 - other], atol=0.1)


def test_ngboost_draws_thirty_features_unless_as_in_the_paper(data):
    def drawn(experiment, n_features):
        return experiment._boosts(n_features)["NGB"][1]["col_sample"]

    assert drawn(Experiment(data), 60) == pytest.approx(30 / 60)
    assert drawn(Experiment(data), 19) == 1
    assert drawn(Experiment(data, ngboost=PAPER_NGBOOST), 60) == 1
