"""Pages like this one: words, vectors, neighbours and the graph of links."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recrawl.errors import BadInput
from recrawl.neighbours import nearest as nearest_module
from recrawl.neighbours import vectors as vectors_module
from recrawl.neighbours.graph import in_links, pagerank, trustrank
from recrawl.neighbours.nearest import nearest
from recrawl.neighbours.url_groups import prefix_groups, smallest_shared
from recrawl.neighbours.url_siblings import url_siblings
from recrawl.neighbours.vectors import TextSpace, TextVectors
from recrawl.page.fingerprints import words
from recrawl.page.word_buckets import N_BUCKETS, document_counts, term_counts

TOPICS = [
    "tea cup kettle leaf brew",
    "train rail station ticket track",
    "moon orbit star comet sky",
]


def texts(*said):
    return pa.array(said, pa.large_string())


def topical(n, seed=0):
    random = np.random.default_rng(seed)
    topic = np.arange(n) % 3
    return topic, texts(
        *(" ".join(random.choice(TOPICS[t].split(), 40)) + f" page{i}" for i, t in enumerate(topic))
    )


@settings(deadline=None, max_examples=50)
@given(st.lists(st.none() | st.text(st.sampled_from("ab9 -_.éÜя\n"), max_size=40), max_size=8))
def test_words_are_those_of_content(said):
    found = document_counts(texts(*said), 1_000)
    held = Counter(word for text in said for word in set(words(text or "")))
    assert sorted(found[found > 0]) == sorted(held.values())
    column = np.where(found > 0, np.cumsum(found > 0) - 1, -1)
    counts = term_counts(texts(*said), column, len(held), 1_000)
    for row, text in zip(counts.toarray(), said, strict=True):
        assert sorted(row[row > 0]) == sorted(Counter(words(text or "")).values())


def test_letters_written_without_spaces_are_words_and_marks_are_none():
    count = lambda text: int(document_counts(texts(text), 100).sum())  # noqa: E731
    assert count("日本語") == 3
    assert count("日本。日本") == 2
    assert count("it’s\u00a0“fine” — «really»…") == 4
    assert count("ab" * 100) == count("ab" * 50)


def test_sliced_and_long_input_is_read_in_batches():
    said = texts(*(f"w{i} common" for i in range(2_500)))
    counts = document_counts(said.slice(3, 2_400), 100)
    assert counts.max() == 2_400
    assert len(counts) == N_BUCKETS


def test_vectors_are_unit_near_within_a_topic_and_zero_without_text():
    topic, said = topical(60)
    vectors = TextSpace(dims=8).fit(said)
    rows = vectors.embed(said)
    assert rows.shape == (60, 8)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    near = nearest(rows, 10)
    assert (topic[near.row] == topic[:, None]).all()
    unknown = vectors.embed(texts(None, "", "zzz qqq", TOPICS[0]))
    assert not unknown[:3].any()
    assert unknown[3].any()


def test_a_new_text_needs_no_new_fit_and_the_seed_decides():
    _, said = topical(60)
    one, two = TextSpace(dims=4).fit(said), TextSpace(dims=4).fit(said)
    assert np.array_equal(one.embed(said), two.embed(said))
    assert np.allclose(one.embed(said.slice(7, 1)), one.embed(said)[7:8], atol=1e-6)


@pytest.mark.parametrize("said", [[], [None], ["a b"], [None, "", "a b c", "a b d"]])
def test_fewer_texts_than_dims(said):
    rows = TextSpace(dims=16).fit(texts(*said)).embed(texts(*said))
    assert rows.shape == (len(said), 16)
    assert np.isfinite(rows).all()
    assert nearest(rows, 5).row.shape == (len(said), 5)


def _slow(vectors, k, weight):
    rows, weights = np.full((len(vectors), k), -1), np.zeros((len(vectors), k))
    for i, v in enumerate(vectors):
        others = [j for j in range(len(vectors)) if j != i and vectors[j].any() and v.any()]
        others.sort(key=lambda j: -float(v @ vectors[j]))
        for place, j in enumerate(others[:k]):
            rows[i, place], weights[i, place] = j, weight(float(v @ vectors[j]))
    return rows, weights


@pytest.mark.parametrize("weights", ["cosine", "inverse"])
def test_nearest_is_what_comparing_all_pairs_gives(weights):
    random = np.random.default_rng(1)
    vectors = random.normal(size=(50, 6)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[[3, 20]] = 0.0
    found = nearest(vectors, 7, weights=weights)
    by = {
        "cosine": lambda c: max(c, 0.0),
        "inverse": lambda c: 1 / max(np.sqrt(2 - 2 * max(c, 0.0)), 1e-6),
    }[weights]
    rows, expected = _slow(vectors, 7, by)
    assert np.array_equal(found.row, rows)
    assert np.allclose(found.weight, expected, rtol=1e-4)
    some = nearest(vectors, 7, rows=np.array([9, 3, 4]), weights=weights)
    assert np.array_equal(some.row, rows[[9, 3, 4]])


def test_copies_never_name_the_page_itself_nor_weigh_all():
    vectors = np.zeros((40, 3), np.float32)
    vectors[:, 0] = 1.0
    vectors[0] = 0.6, 0.8, 0.0
    found = nearest(vectors, 5)
    assert (found.row != np.arange(40)[:, None]).all()
    assert (found.row >= 0).all()
    assert np.allclose(found.weight[1:], 1.0)
    few = nearest(vectors[:3], 5)
    assert (few.row >= 0).sum(axis=1).tolist() == [2, 2, 2]
    assert _largest_share(few.weight[1]) < 0.7
    assert _largest_share(nearest(vectors[:3], 5, weights="inverse").weight[1]) > 0.99


def _largest_share(weight):
    return weight.max() / weight.sum()


@pytest.mark.slow
def test_cells_find_nearly_all_that_comparing_all_finds():
    random = np.random.default_rng(2)
    vectors = random.normal(size=(20_000, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = np.arange(200)
    cells = nearest(vectors, 10, rows=asked, exact=1_000).row
    exact = nearest(vectors, 10, rows=asked).row
    assert np.mean([len(set(a) & set(b)) / 10 for a, b in zip(cells, exact, strict=True)]) > 0.9


def test_bad_input_says_what_is_wrong():
    with pytest.raises(BadInput, match=r"k, the number of neighbours, must be at least 1\. Got 0"):
        nearest(np.eye(3, dtype=np.float32), 0)
    with pytest.raises(BadInput, match="weights must be 'cosine' or 'inverse'"):
        nearest(np.eye(3, dtype=np.float32), 1, weights="cos")
    with pytest.raises(BadInput, match="dims must be at least 1"):
        TextSpace(dims=0).fit(texts("a"))
    with pytest.raises(BadInput, match="trusted must name at least one page"):
        trustrank(np.array([0]), np.array([1]), 2, np.array([], int))


def test_pagerank_is_the_fixed_point():
    random = np.random.default_rng(3)
    source, target = random.integers(0, 20, 60), random.integers(0, 20, 60)
    source = source[source != 4]  # a page without links
    target = target[: len(source)]
    step = np.zeros((20, 20))
    np.add.at(step, (target, source), 1.0)
    out = step.sum(axis=0)
    step = np.where(out > 0, step / np.maximum(out, 1), 1 / 20)
    expected = np.linalg.solve(np.eye(20) - 0.85 * step, np.full(20, 0.15 / 20))
    assert np.allclose(pagerank(source, target, 20), expected, atol=1e-8)
    assert in_links(target, 20).sum() == len(target)
    assert np.allclose(pagerank(np.array([], int), np.array([], int), 4), 0.25)
    assert pagerank(np.array([], int), np.array([], int), 0).shape == (0,)


def test_pagerank_and_trustrank_of_four_pages_by_hand():
    """0 → 1 → 2 → 0 and 3 → 0, with d = 0.85. Nobody links to 3, so its PageRank is 0.15 / 4.

    With j = 0.15 / 4: r0 = j + d (r2 + r3), r1 = j + d r0, r2 = j + d r1. Put in one another,
    r0 (1 - d³) = j (1 + d) + d j + d² j = j (1 + 2d + d²).
    """
    source, target = np.array([0, 1, 2, 3]), np.array([1, 2, 0, 0])
    d, j = 0.85, 0.15 / 4
    r0 = j * (1 + 2 * d + d**2) / (1 - d**3)
    by_hand = [r0, j + d * r0, j + d * (j + d * r0), j]
    assert sum(by_hand) == pytest.approx(1)
    assert pagerank(source, target, 4).tolist() == pytest.approx(by_hand, abs=1e-9)
    # All jumps lead to 3: r3 = 0.15, r0 = d (r2 + r3), r1 = d r0, r2 = d² r0.
    t0 = d * 0.15 / (1 - d**3)
    trusted = [t0, d * t0, d**2 * t0, 0.15]
    assert trustrank(source, target, 4, np.array([3])).tolist() == pytest.approx(trusted, abs=1e-9)
    # Two trusted pages share the jumps: only 1 and 2 have trust, and half of it goes round.
    pair = trustrank(np.array([1, 2]), np.array([2, 1]), 3, np.array([1, 2]))
    assert pair.tolist() == pytest.approx([0, 0.5, 0.5], abs=1e-9)


def test_links_share_the_rank_of_their_page():
    """0 has two links to 1 and one to 2, which have none: two thirds and one third of its rank."""
    score = pagerank(np.array([0, 0, 0]), np.array([1, 1, 2]), 3)
    jump = score[0]  # nobody links to 0
    assert score[1] - jump == pytest.approx(0.85 * jump * 2 / 3)
    assert score[2] - jump == pytest.approx(0.85 * jump / 3)
    # After 1 and 2 the surfer jumps anywhere: r0 = 0.05 + 0.85 (1 - r0) / 3.
    assert jump == pytest.approx((0.05 + 0.85 / 3) / (1 + 0.85 / 3))


def test_trust_flows_only_from_the_trusted():
    # 0 -> 1 -> 2, and 3 -> 4 apart
    trust = trustrank(np.array([0, 1, 3]), np.array([1, 2, 4]), 5, np.array([0]))
    assert trust[0] > trust[1] > trust[2] > 0
    assert trust[3] == trust[4] == 0
    assert np.isclose(trust.sum(), 1.0)


def test_groups_are_hosts_then_directories():
    urls = ["https://h/a/", "https://h/a/b?x/y", "https://h/c", "https://i/a/b", "https://h/"]
    levels = prefix_groups(urls)
    alike = [[level.tolist().index(number) for number in level] for level in levels]
    assert alike == [[0, 0, 0, 3, 0], [0, 0, 2, 3, 4], [0, 1, 2, 3, 4]]
    group = smallest_shared(levels)
    assert group[0] == group[1]
    assert group[2] == group[4]
    assert len(set(group.tolist())) == 3


def test_url_siblings_share_most_of_the_url():
    urls = ["https://h/a/1", "https://i/", "https://h/a-b/1", "https://h/a/2", "https://h/b/c/d"]
    found = url_siblings(urls, 2)
    near = [[r for r in row if r >= 0] for row in found.row.tolist()]
    assert near == [[3, 2], [], [3, 0], [0, 2], [2, 3]]
    assert (found.weight == (found.row >= 0)).all()
    assert url_siblings([], 2).row.shape == (0, 2)


def test_tfidf_by_hand():
    """Three texts; every word is in two of them: weight ln(4/3) + 1, a count of 2 is 1 + ln 2."""
    said = texts("tea tea cup", "tea pot", "cup pot pot only")
    space = TextSpace(dims=2).fit(said)
    assert space.weight_ == pytest.approx([np.log(4 / 3) + 1] * 3)
    twice = 1 + np.log(2)
    known = [[twice, 1], [1, 1], [1, twice]]
    for row, counts in zip(space._weighted(said).toarray(), known, strict=True):
        unit = np.array(counts) / np.linalg.norm(counts)
        assert sorted(row[row > 0]) == pytest.approx(sorted(unit), abs=1e-6)


def test_rare_words_weigh_more_and_the_most_common_are_kept():
    said = texts("a b c", "a b c", "a b", "a", "z")
    weight = lambda n: np.log(6 / (1 + n)) + 1  # noqa: E731 (5 texts)
    space = TextSpace(dims=1).fit(said)
    assert space.weight_ == pytest.approx([weight(4), weight(3), weight(2)])
    assert TextSpace(dims=1, terms=2).fit(said).weight_ == pytest.approx([weight(4), weight(3)])
    assert not TextSpace(dims=1).fit(said).embed(texts("z")).any(), "z is in one text only"
    assert TextSpace(dims=1, characters=1).fit(said).weight_ == pytest.approx([weight(4)])


class Copies:
    """Pages whose copies have these texts."""

    def __init__(self, said):
        self.said = said

    def take(self, rows):
        return Copies(self.said.take(pa.array(rows)))

    def texts(self, characters):
        return self.said


def test_vectors_follow_the_copies():
    _topic, said = topical(30)
    vectors = TextVectors(n_pages=30, space=TextSpace(dims=4))
    rows = np.arange(30)
    assert vectors.update(rows, said).size == 0, "nothing learned yet"
    vectors.learn(Copies(texts(*[None] * 30)), rows)
    assert vectors.n_learned == 0
    vectors.learn(Copies(said), rows)
    assert vectors.n_learned == 30
    assert not vectors.vector.any()
    assert vectors.update(rows[:3], said.slice(0, 3)).tolist() == [0, 1, 2]
    np.testing.assert_allclose(vectors.vector[:3], vectors.space.embed(said)[:3], atol=1e-6)
    assert not vectors.vector[3:].any()
    vectors.reindex(np.array([2, -1, 0]))
    np.testing.assert_allclose(vectors.vector[[2, 0]], vectors.space.embed(said)[[0, 2]], atol=1e-6)
    assert vectors.n_pages == 3
    assert not vectors.vector[1].any()


def test_a_copy_that_says_the_same_keeps_its_vector():
    _topic, said = topical(30)
    vectors = TextVectors(n_pages=30, space=TextSpace(dims=4), same=0.9)
    vectors.learn(Copies(said), np.arange(30))
    vectors.update(np.arange(30), said)
    assert vectors.update(np.array([0, 1]), said.take(pa.array([0, 1]))).size == 0
    assert vectors.update(np.array([0, 1]), said.take(pa.array([1, 1]))).tolist() == [0]
    np.testing.assert_allclose(vectors.vector[0], vectors.vector[1], atol=1e-6)


def test_a_space_is_outgrown_by_twice_the_texts():
    vectors = TextVectors(n_pages=1, n_learned=100)
    assert not vectors.is_outgrown(200)
    assert vectors.is_outgrown(201)
    large = TextVectors(n_pages=1, n_learned=20_000)
    assert not large.is_outgrown(10**9), "as many as a space is ever learned from"
    assert TextVectors(n_pages=1, n_learned=19_999).is_outgrown(10**9)
    assert TextVectors(n_pages=1).is_outgrown(1)
    assert not TextVectors(n_pages=1).is_outgrown(0)


def test_groups_go_six_segments_deep():
    deep = [f"https://h/{'/'.join('abcdef')}/{i}" for i in range(2)]
    assert len(prefix_groups(deep)) == 7, "the host, and one to six segments"
    assert len(set(smallest_shared(prefix_groups(deep)).tolist())) == 1
    assert len(prefix_groups(["https://h/", "https://i/"])) == 1, "none is shared"


def test_url_siblings_against_all_pairs():
    """The k that share most segments, counted with the host; ties may fall either way."""
    random = np.random.default_rng(4)
    urls = sorted({"https://" + "/".join(random.choice(list("ab"), 4)) for _ in range(40)})
    urls = [urls[i] for i in random.permutation(len(urls))]
    found = url_siblings(urls, 3)
    parts = [url.removeprefix("https://").split("/") for url in urls]

    def shared(i, j):
        alike = [a == b for a, b in zip(parts[i], parts[j], strict=True)]
        return ([*alike, False]).index(False)

    for i, row in enumerate(found.row):
        near = sorted((shared(i, j) for j in range(len(urls)) if j != i), reverse=True)[:3]
        assert [shared(i, j) for j in row if j >= 0] == [n for n in near if n > 0]
        assert i not in row
        assert len(set(row[row >= 0].tolist())) == (row >= 0).sum()


def test_two_pages_that_link_to_each_other_and_one_that_links_to_the_first():
    """Shares x, y, z: z = 0.05, y = 0.05 + 0.85 x, x = 0.05 + 0.85 (y + z)."""
    x = (0.05 + 0.85 * 0.05 + 0.85 * 0.05) / (1 - 0.85**2)
    found = pagerank(np.array([0, 1, 2]), np.array([1, 0, 0]), 3)
    assert found == pytest.approx([x, 0.05 + 0.85 * x, 0.05], abs=1e-9)
    assert in_links(np.array([1, 0, 0]), 4).tolist() == [2, 1, 0, 0]


def test_trusted_rows_must_exist():
    for trusted in ([-1], [2], [0, 2], [1, -1]):
        with pytest.raises(BadInput, match="trusted must name"):
            trustrank(np.array([0]), np.array([1]), 2, np.array(trusted))
    both = trustrank(np.array([0]), np.array([1]), 2, np.array([0, 1]))
    assert both == pytest.approx(pagerank(np.array([0]), np.array([1]), 2))


def test_batches_and_samples_change_nothing_that_matters(monkeypatch):
    _, said = topical(60)
    whole = TextSpace(dims=4).fit(said)
    expected = whole.embed(said)
    near = nearest(expected, 7)
    monkeypatch.setattr(vectors_module, "BATCH", 7)
    monkeypatch.setattr(nearest_module, "BATCH", 7)
    np.testing.assert_allclose(whole.embed(said), expected, atol=1e-6)
    assert np.array_equal(nearest(expected, 7).row, near.row)
    monkeypatch.setattr(vectors_module, "MAX_SAMPLE", 59)
    learned = []
    counts = vectors_module.document_counts
    monkeypatch.setattr(
        vectors_module,
        "document_counts",
        lambda t, n: learned.append(t.to_pylist()) or counts(t, n),
    )
    TextSpace(dims=4).fit(said)
    assert len(set(learned[0])) == 59  # no text twice
    assert learned[0] == [text for text in said.to_pylist() if text in learned[0]]
    TextSpace(dims=4).fit(said.slice(1))
    assert len(learned[1]) == 59


def test_a_space_is_learned_from_a_sample(monkeypatch):
    monkeypatch.setattr(vectors_module, "MAX_SAMPLE", 3)
    said = ["tea cup", None, "tea cup", "x", "tea pot", "x", "tea pot", "x"]
    kept = TextVectors(n_pages=8, space=TextSpace(dims=2))
    kept.vector[:] = 1.0
    kept.learn(Copies(texts(*[None] * 8)), np.arange(8))
    assert kept.n_learned == 0
    assert kept.vector.all()
    assert kept.update(np.array([0]), texts("tea cup")).tolist() == []
    kept.learn(Copies(texts(*said)), np.arange(8))
    assert kept.n_learned == 8  # rows 0, 2, 4, 6 have a text; each stands for two
    assert not kept.vector.any()
    kept.learn(Copies(texts(None, *said[1:])), np.arange(8))
    assert kept.n_learned == 6
    few = TextVectors(n_pages=2, space=TextSpace(dims=2))
    few.learn(Copies(texts(*said)), np.array([0, 2]))
    assert few.n_learned == 2


def test_cells_are_for_more_vectors_than_are_compared_exactly():
    import faiss

    random = np.random.default_rng(0)
    vectors = random.normal(size=(1_000, 4)).astype(np.float32)
    cells = nearest_module._index(vectors, 999)
    assert isinstance(cells, faiss.IndexIVFFlat)
    assert (cells.nlist, cells.nprobe, cells.ntotal) == (25, 16, 1_000)  # 39 vectors in each
    assert isinstance(nearest_module._index(vectors, 1_000), faiss.IndexFlatIP)
    few = nearest_module._index(vectors[: 17 * 39 - 1], 10)  # 16 cells: all would be searched
    assert isinstance(few, faiss.IndexFlatIP)
    assert nearest_module._index(vectors[: 17 * 39], 10).nlist == 17


def test_missing_neighbours_are_minus_one():
    siblings = url_siblings(["https://h/a", "https://h/b", "https://i/"], 3)
    assert siblings.row.tolist() == [[1, -1, -1], [0, -1, -1], [-1, -1, -1]]
    assert siblings.weight.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]
    alone = nearest(np.array([[1, 0], [0, 0]], np.float32), 2)
    assert alone.row.tolist() == [[-1, -1], [-1, -1]]
    assert not alone.weight.any()


def test_by_default_thirty_neighbours_and_ten_siblings():
    assert nearest(np.eye(40, dtype=np.float32)).row.shape == (40, 30)
    assert url_siblings([f"https://h/{i}" for i in range(15)]).row.shape == (15, 10)


def test_a_cosine_is_at_most_one_whatever_is_rounded():
    random = np.random.default_rng(4)
    base = random.normal(size=(200, 9)).astype(np.float32)
    base /= np.linalg.norm(base, axis=1, keepdims=True)
    twins = np.repeat(base, 2, axis=0)
    assert (np.einsum("ij,ij->i", base, base) > 1).any()  # in 32 bits
    assert nearest(twins, 1).weight.max() == 1
    inverse = nearest(twins, 1, weights="inverse").weight
    assert np.isfinite(inverse).all()
    assert inverse.max() == pytest.approx(1e6)


def test_two_pages_are_each_others_neighbours():
    vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.0]], np.float32)
    found = nearest(vectors, 2)
    assert found.row.tolist() == [[1, -1], [0, -1], [-1, -1]]
    assert found.weight[:2, 0] == pytest.approx([0.6, 0.6])
    assert (nearest(vectors[:1], 2).row == -1).all()


def test_groups_of_different_levels_do_not_meet():
    hosts = [
        "https://h/a/1",
        "https://h/a/2",
        "https://i/",
        "https://k/",
        "https://j/x",
        "https://j/y",
    ]
    group = smallest_shared(prefix_groups(hosts)).tolist()
    assert (group[0], group[4]) == (group[1], group[5])
    assert len(set(group)) == 4


def test_cells_that_are_not_searched_leave_places_empty():
    random = np.random.default_rng(0)
    vectors = random.normal(size=(1_000, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    found = nearest(vectors, 999, rows=np.arange(3), exact=10)
    for page, (row, weight) in enumerate(zip(found.row, found.weight, strict=True)):
        is_there = row >= 0
        assert 100 < is_there.sum() < 999
        assert len(set(row[is_there]) - {page}) == is_there.sum()
        assert not weight[~is_there].any()
