"""Radinsky & Bennett (2013), Predicting Content Change on the Web: do related pages help?

| in the paper | here |
|---|---|
| §3.1, Eq. 1: significant change | `recrawl.detectors.chi_squared`; `series/days.py` labels days |
| §3.3 partially observed setting | `live/visit_log.py`, `live/selection.py` |
| §4.2 features, 2D and 3D | `features.py` |
| §5 learning algorithms, Figure 3 | `algorithms.py` |
| §6.1 graph distance | `relatedness/linked.py` |
| §6.2 content similarity | `relatedness/cosine.py` |
| §6.3 Dyn(w, d) | `series/snapshots.py`, `series/word_series.py` |
| §6.3 cross-correlation | `relatedness/correlation.py` |
| §6.3 DTW, Figure 5; §9.2 frames | `relatedness/warping.py` |
| §7.1 data and filter, §7.2 protocol | `data.py` |
| §7.2 polynomial SVM | `learners/svm.py` |
| §8.1, §8.2: Tables 1 to 3, Figures 6, 7 | `experiment.py`, `tables.py` |
| §9.1 experts chosen | `expert_lists.py` |
| §8.3 crawl, Figure 8 | `crawl.py`, `policies/coin.py` |
| §8.3 experts in the crawl | `live/expert_svms.py`, `live/copy_pairs.py`, `live/vote.py` |
| §8.3 calibration (Platt) | `learners/platt.py` |

Additions: `pooled.py`, one model for all pages; the policies `content` and `experts`, which visit
the highest probabilities first, and the coin by the mean of experts (`live/forecasters.py`,
`live/past_examples.py`, `learners/page_svms.py`); `command.py`, the command; `page.py`, the page of
results.
"""
