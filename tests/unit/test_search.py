"""Quality, gain and scores against numbers computed by hand; the index; the detector."""

from __future__ import annotations

import json
import sys

import numpy as np
import pyarrow as pa
import pytest

from recrawl.errors import BadInput, MissingExtra, UnknownPart
from recrawl.history import Store
from recrawl.registry import make
from recrawl.search.curves import fit_curves
from recrawl.search.gain import move_gain
from recrawl.search.index import SearchIndex
from recrawl.search.link_scores import inlinks, pagerank
from recrawl.search.matches import Matches, find_matches
from recrawl.search.quality import exact_gains, quality, usefulness, visibility
from recrawl.search.queries import read_queries, read_workload
from recrawl.search.scoring import CorpusStatistics, scoring
from recrawl.search.terms import count_terms, word_hashes
from recrawl.search.views import fit_exponent, scale, view_probabilities
from recrawl.search.workload import build_workload


def matches_in(texts, queries, page=None, weight=None, by="tfidf"):
    workload = build_workload(queries, np.ones(len(queries)))
    counts = count_terms(texts, workload.vocabulary)
    term_score = scoring(by)(counts, CorpusStatistics.of(counts, len(workload.vocabulary)))
    page = np.arange(len(texts)) if page is None else np.array(page)
    return find_matches(counts, term_score, workload, page, weight)


def test_view_probabilities_k6():
    p_view = view_probabilities(100)
    np.testing.assert_allclose(p_view[1], 0.382793, atol=5e-7)
    np.testing.assert_allclose(
        p_view[1:6], [0.382793, 0.135338, 0.073669, 0.047849, 0.034238], atol=5e-7
    )
    assert p_view[1:11].sum() == pytest.approx(0.763802, abs=5e-7)
    assert p_view[1] / p_view[1:].sum() == pytest.approx(0.414444, abs=5e-7)
    assert p_view[0] == 0.0


@pytest.mark.parametrize(
    ("before", "after", "gain"),
    [(9, 3, 0.399416), (3, 9, 0.207183), (11, 1, 2.836907), (1, 11, 0.730569)],
)
def test_gain_of_a_refresh_k12(before, after, gain):
    # Pages 0 to 4 score 10, 8, 6, 4, 2; of page 5 there are two copies, documents 5 and 6.
    score = np.array([10, 8, 6, 4, 2, before, after], float)
    page = np.array([0, 1, 2, 3, 4, 5, 5], np.int32)
    order = np.lexsort((page, -score))
    matches = Matches(np.array([0, 7]), order.astype(np.int32), score[order], np.ones(1), page)
    stale, live = np.array([0, 1, 2, 3, 4, 5]), np.array([0, 1, 2, 3, 4, 6])
    p_view = view_probabilities(8)
    assert exact_gains(matches, stale, live, p_view)[5] == pytest.approx(gain, abs=5e-7)
    both = [usefulness(matches, copies, live, p_view) for copies in (live, stale)]
    assert both[0] - both[1] == pytest.approx(gain, abs=5e-7)


@pytest.mark.slow
def test_quality_of_the_papers_table_1():
    live = [
        "New Technology: A new thyroid cancer therapy",
        "Seminar: Important traffic laws and rules",
        "Cancer Management: Early tests to detect breast cancer",
    ]
    ours = [
        "New Technology: A new chipset designed for cell phones",
        "Seminar: Cancer symptoms",
        "Cancer association seeking volunteers to help raise awareness",
    ]
    # Documents 0-2 are live copies of pages 0-2; 3 and 4 ours of pages 0 and 1; 5 ours of page 3.
    matches = matches_in([*live, *ours], ["cancer"], [0, 1, 2, 0, 1, 3], weight=np.ones(4))
    web, p_view = np.array([0, 1, 2, -1]), view_probabilities(8)
    copies = np.array([3, 4, -1, 5])
    assert (
        quality(matches, copies, web, p_view) == 0.0
    )  # finds pages 1 and 3, of which none is left
    copies[0] = 0  # pages 0, 1, 3 in this order; 0 is right
    best = 1 + 2**-1.5
    assert quality(matches, copies, web, p_view) == pytest.approx(1 / best)
    copies[2] = 2  # pages 0, 1, 2, 3
    assert quality(matches, copies, web, p_view) == pytest.approx((1 + 3**-1.5) / best)
    assert quality(matches, web, web, p_view) == 1.0


def test_tfidf_by_hand():
    texts = ["a cat and a cat", "dog", "cat dog dog"]
    matches = matches_in(texts, ["cat"])
    idf = 1 + np.log(3 / 3)
    assert dict(zip(matches.document.tolist(), matches.score, strict=True)) == pytest.approx(
        {0: np.sqrt(2) * idf**2 / np.sqrt(5), 2: idf**2 / np.sqrt(3)}
    )
    both = matches_in(texts, ["dog cat"])
    assert both.document.tolist() == [2]  # only this page holds both
    assert both.score[0] == pytest.approx((1 + np.sqrt(2)) / np.sqrt(3))


def test_a_term_in_every_page_still_has_a_score():
    matches = matches_in(["web page"] * 5, ["web"])
    assert (matches.score > 0).all()
    assert matches.document.tolist() == [0, 1, 2, 3, 4]  # ties by page


def test_visibility_adds_up_to_usefulness():
    matches = matches_in(["cat dog", "cat", "dog bird"], ["cat", "dog", "bird"])
    live, p_view = np.arange(3), view_probabilities(5)
    total = visibility(matches, live, p_view).sum()
    assert total == pytest.approx(usefulness(matches, live, live, p_view))


def test_the_exponent_is_fitted_to_clicks():
    rng = np.random.default_rng(0)
    ranks = np.arange(1, 51)
    clicked = rng.choice(ranks, 20_000, p=ranks**-2.0 / (ranks**-2.0).sum()).astype(float)
    assert fit_exponent(clicked) == pytest.approx(2.0, abs=0.05)
    with pytest.raises(BadInput, match="different ranks"):
        fit_exponent(np.array([1.0, 1.0]))


def test_links_and_pagerank():
    source, target = np.array([0, 1, 2, 2, 2]), np.array([2, 2, 0, 2, 0])
    assert inlinks(source, target, 3).tolist() == [1, 0, 2]
    rank = pagerank(source, target, 3)
    assert rank.sum() == pytest.approx(1.0)
    assert rank[2] > rank[0] > rank[1]
    ring = pagerank(np.array([0, 1, 2]), np.array([1, 2, 0]), 3)
    np.testing.assert_allclose(ring, 1 / 3)


def test_queries_become_sets_of_terms():
    workload = build_workload(
        ["Cheap flights", "flights CHEAP cheap", "the of", "", "café"], np.array([2, 1, 5, 5, 1.0])
    )
    assert workload.empty == 2
    assert sorted(workload.frequency.tolist()) == [0.25, 0.75]
    assert sorted(workload.term_frequency().tolist()) == [0.25, 0.75, 0.75]


def write_file(tmp_path, name, text):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_query_files_of_all_formats_agree(tmp_path):
    files = [
        write_file(tmp_path, "a.tsv", "cat\t3\nbig dog\t1\n"),
        write_file(tmp_path, "b.csv", 'query,user,frequency\ncat,ann,3\n"big dog",bob,1\n'),
        write_file(
            tmp_path,
            "c.jsonl",
            "\n".join(
                json.dumps({"query": q, "user": "ann", "frequency": f})
                for q, f in (("cat", 3), ("big dog", 1))
            ),
        ),
    ]
    read = [read_workload(file) for file in files]
    for other in read[1:]:
        assert other.frequency.tolist() == read[0].frequency.tolist()
        assert other.term.tolist() == read[0].term.tolist()


def test_old_queries_of_a_log_fade(tmp_path):
    log = write_file(
        tmp_path, "log.csv", "query,time,rank\ncat,1970-01-01T00:00:00Z,1\ndog,864000,3\n"
    )
    assert read_queries(log).frequency.tolist() == [1, 1]
    assert read_queries(log, now=864_000, window=86_400).frequency.tolist() == [0, 1]
    assert read_queries(log, now=864_000, half_life=432_000).frequency.tolist() == [0.25, 1]
    assert read_workload(log).clicked.tolist() == [1, 3]
    assert len(read_workload(log, now=864_000.0, window=86_400.0)) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cat\n", "line 1: must have 2 columns"),
        ("cat\t1\ndog\t2\t3\n", "line 2: must have 2 columns"),
        ("cat\t-1\n", "line 1: frequency must be a number, 0 or more"),
        ("cat\tmany\n", "frequency must be a number"),
        ("x" * 1_000_000 + "\t1\n", "at most 10,000 characters. Got 1,000,000"),
        ("the\t1\n\t2\n", "must hold a word to search for"),
        ("", "must hold a word to search for"),
    ],
)
def test_errors_of_query_files_name_the_line(tmp_path, text, message):
    with pytest.raises(BadInput, match=message):
        read_workload(write_file(tmp_path, "q.tsv", text))


def test_unknown_scoring():
    with pytest.raises(UnknownPart, match="Known: tfidf, bm25, inlinks, pagerank"):
        scoring("tf-idf")


def test_a_page_of_a_million_distinct_terms():
    text = " ".join(f"w{i}" for i in range(1_000_000))
    counts = count_terms([text], np.sort(word_hashes(["w5 w999999 absent"])[1]))
    assert counts.length.tolist() == [1_000_000]
    assert counts.count.tolist() == [1, 1]


def test_gain_where_no_page_held_the_term():
    none = fit_curves(np.empty(0, np.int64), np.empty(0), 1)[0]
    assert move_gain(0.0, 2.0, none, 1.5, scale(1.5)) == pytest.approx(2 * 0.382793, abs=1e-6)


def visits(texts, at, first=0):
    return pa.table(
        {
            "url": [f"https://a.example/{first + i}" for i in range(len(texts))],
            "at": pa.array([int(at * 1e6)] * len(texts)).cast(pa.timestamp("us", tz="UTC")),
            "digest": pa.array([hash_of(text) for text in texts], pa.uint64()),
            "digest_of": ["text"] * len(texts),
            "title": [text.split()[0] for text in texts],
            "text": texts,
        }
    )


def hash_of(text):
    return int(word_hashes([text])[1].sum())


@pytest.mark.slow
def test_bm25_is_that_of_the_index(tmp_path):
    texts = ["dns resolver for dns", "dns", "a resolver", "nothing here", "dns resolver notes"]
    with Store.open(tmp_path / "s", create=True) as store:
        store.append(visits(texts, 1_700_000_000))
        index = SearchIndex(store)
        assert index.update().indexed == [0, 1, 2, 3, 4]
        assert index.update().indexed == []
        indexed = {r.page: r.score for r in index.search("DNS resolver")}
    titled = [f"{text.split()[0]}\n{text}" for text in texts]  # titles are searched too
    matches = matches_in(titled, ["dns resolver"], by="bm25")
    ours = dict(zip(matches.document.tolist(), matches.score.tolist(), strict=True))
    assert indexed.keys() == ours.keys()
    for page, score in ours.items():
        assert indexed[page] == pytest.approx(score, rel=1e-4)


def test_words_written_without_spaces_are_found(tmp_path):
    with Store.open(tmp_path / "s", create=True) as store:
        store.append(visits(["x 東京の天気", "x 京都"], 1_700_000_000))
        index = SearchIndex(store)
        index.update()
        assert [r.page for r in index.search("東京")] == [0]
        assert {r.page for r in index.search("京")} == {0, 1}


@pytest.mark.slow
def test_the_index_follows_the_store(tmp_path):
    with Store.open(tmp_path / "s", create=True) as store:
        store.append(visits(["cat one", "dog two"], 1_700_000_000))
        workload = build_workload(["cat", "dog", "bird"], np.ones(3))
        index = SearchIndex(store)
        impact = index.impact(workload)
        index.update(impact)
        assert impact.changes.tolist() == [0, 0]
        store.append(visits(["cat one", "bird two"], 1_700_086_400))
        assert index.outdated()[0].tolist() == [1]  # the other's copy is as it was
        again = SearchIndex(store)
        kept = again.impact(workload)  # as if in another process
        assert again.update(kept).indexed == [1]
        assert [r.url for r in again.search("bird")] == ["https://a.example/1"]
        assert again.search("dog") == []
        assert again.search("bird")[0].at == 1_700_086_400
        assert kept.changes.tolist() == [0, 1]
        assert kept.gain[1] > 0
        assert len(again) == 2
        other = again.impact(
            build_workload(["one"], np.ones(1))
        )  # nothing is known of other queries
        assert len(other) == 0
        assert again.update(other).indexed == []
        assert (other.visibility > 0).tolist() == [True, False]


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "measured.npz").write_bytes(b"no archive"),
        lambda folder: (folder / "measured.npz").write_bytes(
            (folder / "measured.npz").read_bytes()[:-40]
        ),
        lambda folder: next(folder.glob("terms-*.bin")).write_bytes(b"1234"),
        lambda folder: next(folder.glob("terms-*.bin")).unlink(),
    ],
    ids=["nonsense", "cut", "terms cut", "terms gone"],
)
def test_damaged_gains_give_a_warning_and_are_measured_again(tmp_path, caplog, damage):
    workload = build_workload(["cat", "dog"], np.ones(2))
    with Store.open(tmp_path / "s", create=True) as store:
        store.append(visits(["cat one", "dog two"], 1_700_000_000))
        index = SearchIndex(store)
        index.update(index.impact(workload))
        assert len(index.impact(workload)) == 2
        damage(index.folder)
        again = index.impact(workload)
        assert "Measuring starts again" in caplog.text
        assert len(again) == 0
        assert index.update(again).indexed == []
        assert (again.visibility > 0).all()
        caplog.clear()
        kept = index.impact(workload)
        assert not caplog.text
        assert kept.visibility.tolist() == again.visibility.tolist()


@pytest.mark.parametrize("query", ["", "  ", "the of and", "?!"])
def test_a_query_without_a_word_is_refused(tmp_path, query):
    with Store.open(tmp_path / "s", create=True) as store:
        index = SearchIndex(store)
        with pytest.raises(BadInput, match="word to search for"):
            index.search(query)


def test_without_tantivy_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tantivy", None)
    with (
        Store.open(tmp_path / "s", create=True) as store,
        pytest.raises(MissingExtra, match=r"pip install 'recrawl\[search\]'"),
    ):
        SearchIndex(store)


@pytest.mark.slow
def test_relevance_sees_queries_start_and_stop_matching(tmp_path):
    file = write_file(tmp_path, "q.tsv", "big cat\t1\ndog\t1\n")
    detector = make("detector", f"relevance:queries={file}")
    pairs = [
        ("a cat", "a big cat", True),  # starts
        ("dog", "bird", True),  # stops
        ("big cat", "cat, so big!", False),
        ("cat", "small cat", False),
        ("big dog", "dog", False),
        ("cat", "big", False),
        (None, "dog", None),
    ]
    before, after = (
        pa.table({"text": pa.array(c, pa.string())}) for c in list(zip(*pairs, strict=True))[:2]
    )
    assert detector.changed(before, after).to_pylist() == [expected for *_, expected in pairs]


def test_relevance_sees_pages_enter_and_leave_the_top_places(tmp_path):
    file = write_file(tmp_path, "q.tsv", "cat\t1\n")
    # Page i says cat once in i + 1 words: the shorter, the higher.
    texts = [" ".join(["cat", *["other"] * i]) for i in range(30)]
    with Store.open(tmp_path / "s", create=True) as store:
        store.append(visits(texts, 1_700_000_000))
        index = SearchIndex(store)
        index.update(index.impact(read_workload(file)))
    measured = index.folder / "measured.npz"
    detector = make("detector", f"relevance:queries={file},top=10,measured={measured}")
    pairs = [
        (texts[25], texts[3], True),  # into
        (texts[2], texts[20], True),  # out of
        (texts[1], texts[4], False),  # within
        (texts[15], texts[28], False),
        (texts[15], "other", True),  # stops matching
    ]
    before, after = (
        pa.table({"text": pa.array(c, pa.string())}) for c in list(zip(*pairs, strict=True))[:2]
    )
    assert detector.changed(before, after).to_pylist() == [expected for *_, expected in pairs]
    all_in = make("detector", f"relevance:top=30,measured={measured}")  # no more hold the word
    assert all_in.changed(before, after).to_pylist() == [False] * 4 + [True]
    with pytest.raises(BadInput, match="--objective search"):
        make("detector", "relevance:top=3,measured=none.npz").changed(before, after)
