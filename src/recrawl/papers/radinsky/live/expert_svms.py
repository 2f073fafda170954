"""A calibrated SVM for each page and each of its experts (§5.3.1, §8.3), and their vote.

An example is a compared visit to the page: what earlier cycles had shown of the page and of the
expert, and whether the visit showed a change. Features of the page are f1 to f5 (§4.2.1), those of
an expert also g1 to g7 (§4.2.2), both of the last two copies fetched. Visits are not daily here, so
each page also has the days since its last visit. An unknown feature counts as its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from recrawl.model import DAY, owners, rows_of, starts
from recrawl.papers.radinsky.learners.platt import fit_calibrated
from recrawl.papers.radinsky.learners.svm import polynomial
from recrawl.papers.radinsky.live.copy_pairs import product, relation_features
from recrawl.papers.radinsky.series.snapshots import word_shares

if TYPE_CHECKING:
    from recrawl.model import BoolArray, FloatArray, IntArray, KeyArray, Neighbours, Time
    from recrawl.papers.radinsky.live.copy_pairs import CsrRows
    from recrawl.papers.radinsky.live.visit_log import PastVisits, VisitLog

MIN_EXAMPLES = 8  #: of a page; with fewer, it has no SVM
MAX_EXAMPLES = 50  #: of a page, the newest; the paper's n
COST = 1.0
#: f1, f3, f4, f5 after the days since the last visit; f2 enters the kernel as products.
PAGE_FEATURES = ("change_share", "distance", "distance_before", "changed")
N_OWN = len(PAGE_FEATURES) + 1
N_FEATURES = 2 * N_OWN + 4
_polynomial = njit(cache=True, nogil=True)(polynomial)


@dataclass(frozen=True)
class ExpertExamples:
    """The examples of some pages; the first expert of a page is the page itself."""

    page: IntArray  #: row in the log
    expert: IntArray  #: rows in the log, pages × experts; -1 where there is none
    weight: FloatArray  #: relatedness, pages × experts; 0 where there is no expert
    start: IntArray  #: page i has the examples start[i] to start[i + 1]
    features: FloatArray  #: examples × experts × features; NaN where unknown
    own: IntArray  #: by example: row in `words` of the copy of the page
    other: IntArray  #: examples × experts: of the copy of the expert; -1 for none
    yes: BoolArray  #: by example: whether the visit showed a change
    words: CsrRows  #: unigram distributions


@dataclass(frozen=True)
class ExpertSvms:
    """The SVMs of the pages in `key`, and of each their experts."""

    key: KeyArray
    expert: KeyArray  #: pages × experts
    examples: ExpertExamples
    scaled: FloatArray  #: the features, standardised
    fitted: tuple[FloatArray, ...]  #: what `_fit` returns

    @property
    def weight(self) -> FloatArray:
        """Relatedness, pages × experts; 0 where there is no expert."""
        return self.examples.weight

    def p_change(self, log: VisitLog, rows: IntArray, at: Time) -> FloatArray:
        """Probability of a change, pages × experts; `rows` are the pages of `key` in the log."""
        expert = rows_of(self.expert.ravel(), log.key).reshape(self.expert.shape)
        expert = np.where(self.weight > 0, expert, -1)
        expert[:, 0] = -1  # the page itself has no relation to itself
        words = _csr_rows(log.copies())
        copies = [(row, np.where(row >= 0, row + len(log.key), -1)) for row in (rows, expert)]
        features = _features((log.columns, at, rows, expert), words, *copies)
        of = self.examples
        svms = (of.start, self.scaled, of.weight, of.own, of.other, of.words, *self.fitted)
        p: FloatArray = _predict(svms, features, rows, expert, words)
        return p


def vote(p: FloatArray, weight: FloatArray) -> FloatArray:
    """Σ w p / Σ w over the experts of each page: the vote of Figure 3, of probabilities."""
    share: FloatArray = (p * weight).sum(axis=1) / weight.sum(axis=1)
    return share


def fit_expert_svms(log: VisitLog, experts: Neighbours | None) -> ExpertSvms | None:
    """Fit the SVMs of each page with enough examples of both labels; None if no page has."""
    of = expert_examples(log.past_visits(), experts)
    if not len(of.page):
        return None
    scaled = of.features.copy()
    fitted = _fit(of.start, of.yes, scaled, of.weight, of.own, of.other, of.words)
    return ExpertSvms(log.key[of.page], log.key[of.expert], of, scaled, fitted)


def expert_examples(past: PastVisits, experts: Neighbours | None) -> ExpertExamples:
    """The examples of pages with enough of both labels; without experts, of the page alone."""
    visit, start, page = _examples(past)
    expert, weight = _with_itself(page, experts)
    own = past.previous(visit)  # what was known of the page before the visit
    its_expert = expert[owners(start)]
    other = np.where(its_expert >= 0, past.before(its_expert, past.cycle[visit][:, None]), -1)
    other[:, 0] = -1  # the page itself has no relation to itself
    words = _csr_rows(past.counts)
    features = _features(
        (past.facts, past.facts["visit"][visit], own, other),
        words,
        (own, past.previous(own)),
        (other, past.previous(other)),
    )
    yes = past.facts["shown"][visit] > 0
    return ExpertExamples(page, expert, weight, start, features, own, other, yes, words)


def _csr_rows(counts: Any) -> CsrRows:
    table = word_shares(counts)
    return table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data


def _examples(past: PastVisits) -> tuple[IntArray, IntArray, IntArray]:
    """The newest compared visits of pages with enough of both labels; where each page's begin."""
    shown = past.facts["shown"]
    owner = owners(past.start)
    is_first = np.arange(len(owner)) == past.start[owner]
    visit = np.flatnonzero(np.isfinite(shown) & ~is_first)
    counts = np.bincount(owner[visit], minlength=len(past.start) - 1)
    newest = starts(counts)[owner[visit] + 1] - np.arange(len(visit)) <= MAX_EXAMPLES
    visit = visit[newest]
    counts = np.bincount(owner[visit], minlength=len(counts))
    n_yes = np.bincount(owner[visit], shown[visit], minlength=len(counts))
    enough = (counts >= MIN_EXAMPLES) & (n_yes > 1) & (n_yes < counts - 1)
    visit = visit[enough[owner[visit]]]
    return visit, starts(counts[enough]), np.flatnonzero(enough)


def _with_itself(page: IntArray, experts: Neighbours | None) -> tuple[IntArray, FloatArray]:
    """The experts of each page and their weights; the page itself comes first, with weight 1."""
    if experts is None:
        return page[:, None], np.ones((len(page), 1))
    row, weight = experts.row[page], experts.weight[page]
    return np.column_stack([page, row]), np.column_stack([np.ones(len(page)), weight])


def _features(
    state: tuple[dict[str, FloatArray], Any, IntArray, IntArray],
    words: CsrRows,
    own_copies: tuple[IntArray, IntArray],
    copies: tuple[IntArray, IntArray],
) -> FloatArray:
    """f1, f3, f4, f5 of the page; g1, g3 to g7 of each expert; NaN where unknown.

    `state` has the columns known, the time of the visit, and the row of these columns for the page
    and for each expert. The copies are rows of `words`: the last one and the one before.
    """
    columns, at, own, other = state
    at = np.broadcast_to(at, own.shape)
    features = np.empty((*other.shape, N_FEATURES))
    features[:, :, :N_OWN] = _page_features(columns, at, own)[:, None]
    features[:, :, N_OWN : 2 * N_OWN] = _page_features(columns, at[:, None], other)
    features[:, :, 2 * N_OWN :] = relation_features(words, *own_copies, *copies)
    return features


def _page_features(columns: dict[str, FloatArray], at: FloatArray, row: IntArray) -> FloatArray:
    days = np.maximum(at - columns["visit"][row], 0.0) / DAY
    values = np.stack([days, *(columns[name][row] for name in PAGE_FEATURES)], axis=-1)
    return np.where((row >= 0)[..., None], values, np.nan)


@njit(cache=True, nogil=True)
def _fit(start, yes, features, weight, own, other, words):  # type: ignore[no-untyped-def]
    """Fit all SVMs; standardises the features in place.

    Returns the scale of the features (mean, deviation, least, highest), the mean product of each
    copy with the others, the scale of these products, the weights of the examples, and the
    threshold and Platt's line.
    """
    pages, experts = weight.shape
    scale = np.zeros((pages, experts, 4, N_FEATURES))
    mean = np.zeros((len(yes), experts, 2))
    size = np.zeros((pages, experts, 2, 3))
    alpha = np.zeros((len(yes), experts))
    line = np.zeros((pages, experts, 3))
    for i in range(pages):
        a, b = start[i], start[i + 1]
        of_page, own_mean, own_size = _word_products(words, own[a:b])
        for e in range(experts):
            if weight[i, e] <= 0:
                continue
            _standardise(features[a:b, e], scale[i, e])
            products, mean[a:b, e, 1], size[i, e, 1] = _word_products(words, other[a:b, e])
            mean[a:b, e, 0], size[i, e, 0] = own_mean, own_size
            x = np.ascontiguousarray(features[a:b, e])
            kernel = _polynomial(x @ x.T + of_page + products, _n_features(e))
            alpha[a:b, e], threshold, platt = fit_calibrated(kernel, yes[a:b], COST)
            line[i, e] = np.array([threshold, platt[0], platt[1]])
    return scale, mean, size, alpha, line


@njit(cache=True, nogil=True)
def _predict(svms, features, page, expert, now):  # type: ignore[no-untyped-def]
    """Probability of a change by each expert, from its features and copies of now; 0 without."""
    start, examples, weight, own, other, words, scale, mean, size, alpha, line = svms
    pages, experts = weight.shape
    p = np.zeros((pages, experts))
    for i in range(pages):
        a, b = start[i], start[i + 1]
        for e in range(experts):
            if weight[i, e] <= 0:
                continue
            x = _scaled(features[i, e], scale[i, e])
            products = np.ascontiguousarray(examples[a:b, e]) @ x
            products += _word_products_with(
                words, own[a:b], mean[a:b, e, 0], size[i, e, 0], now, page[i]
            )
            products += _word_products_with(
                words, other[a:b, e], mean[a:b, e, 1], size[i, e, 1], now, expert[i, e]
            )
            kernel = _polynomial(products, _n_features(e))
            decision = (kernel * alpha[a:b, e]).sum() - line[i, e, 0]
            p[i, e] = 1 / (1 + np.exp(min(line[i, e, 1] * decision + line[i, e, 2], 700.0)))
    return p


@njit(cache=True, nogil=True)
def _n_features(expert):  # type: ignore[no-untyped-def]
    """The unigram distribution of a page counts as one feature; expert 0 is the page itself."""
    return N_OWN + 1.0 if expert == 0 else N_FEATURES + 2.0


@njit(cache=True, nogil=True)
def _standardise(x, scale):  # type: ignore[no-untyped-def]
    """Columns with mean 0 and deviation 1, in place; 0 where unknown or constant."""
    for f in range(x.shape[1]):
        known = x[:, f][np.isfinite(x[:, f])]
        scale[0, f] = known.mean() if len(known) else 0.0
        deviation = known.std() if len(known) else 0.0
        scale[1, f] = deviation if deviation > 1e-12 else np.inf
        for i in range(len(x)):
            x[i, f] = (x[i, f] - scale[0, f]) / scale[1, f] if np.isfinite(x[i, f]) else 0.0
        scale[2, f], scale[3, f] = x[:, f].min(), x[:, f].max()


@njit(cache=True, nogil=True)
def _scaled(x, scale):  # type: ignore[no-untyped-def]
    """Features on the scale of the examples, within their range: a cubic extrapolates wildly."""
    out = np.zeros(len(x))
    for f in range(len(x)):
        if np.isfinite(x[f]):
            value = (x[f] - scale[0, f]) / scale[1, f]
            out[f] = min(max(value, scale[2, f]), scale[3, f])
    return out


@njit(cache=True, nogil=True)
def _word_products(words, copies):  # type: ignore[no-untyped-def]
    """f2 as a kernel needs it: products of distributions less their mean, of mean square 1.

    Also the mean product of each copy, and: the mean of these means, the mean square, the highest
    square. Products with an unknown copy are 0.
    """
    n = len(copies)
    out, mean, size = np.zeros((n, n)), np.zeros(n), np.zeros(3)
    known = np.flatnonzero(copies >= 0)
    if not len(known):
        return out, mean, size
    for i in known:
        for j in known:
            out[i, j] = out[j, i] if j < i else product(words, copies[i], words, copies[j])
    for i in known:
        mean[i] = out[i].sum() / len(known)
    size[0] = mean.sum() / len(known)
    for i in known:
        for j in known:
            out[i, j] += size[0] - mean[i] - mean[j]
        size[1] += out[i, i] / len(known)
        size[2] = max(size[2], out[i, i])
    if size[1] <= 1e-12:
        size[1] = np.inf
    return out / size[1], mean, size


@njit(cache=True, nogil=True)
def _word_products_with(words, copies, mean, size, now, copy):  # type: ignore[no-untyped-def]
    """Products of the copies with one more; it is shortened to the length of the longest."""
    n = len(copies)
    out = np.zeros(n)
    known = np.flatnonzero(copies >= 0)
    square = product(now, copy, now, copy) if copy >= 0 else 0.0
    if not len(known) or square <= 0:
        return out
    for i in known:
        out[i] = product(words, copies[i], now, copy)
    average = out.sum() / len(known)
    for i in known:
        out[i] += size[0] - mean[i] - average
    square += size[0] - 2 * average
    short = np.sqrt(size[2] / square) if square > size[2] else 1.0
    return out * short / size[1]
