"""Writes docs/papers/dang.md: look back, look around, on a trace of lists that grow.

Run `python -m recrawl.papers.dang.page` in a checkout. Finished parts are kept in the folder
`dang`, so a second run continues the first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from recrawl.lab.traces import open_trace
from recrawl.papers.dang.data import study
from recrawl.papers.dang.experiment import dang
from recrawl.papers.dang.tables import curves, tables

HERE = Path("docs", "papers")  #: of a checkout, in whose root this runs
RESULTS = Path("dang")
TRACE = Path("..", "shared") / "traces" / "trackawesomelist"

HEAD = """# Look back, look around: predicting new links

Made by `make papers`. Dang et al. (2021) crawled 384,323 pages every week for ten weeks and
predicted which would show new links in the last: from sizes and words of the page, from its links,
from its past, and from the same facts about the 30 pages with the most similar text. They found
that the past new links of the page and of such pages, *LBLA*, do as well alone as with all the
rest.

The texts of their pages are not available. Ours are lists on GitHub (the trace trackawesomelist),
on which far fewer pages show new links in a week, and those mostly external ones: only the order
of methods can be compared. `recrawl paper dang TRACE` runs it on any trace with texts and links.

- Ours ± the standard deviation over three splits of the pages; in brackets the paper's number,
  where it gives one: most of its figures have no numbers.
- Nothing of the last interval is seen (`--mode strict`). In `--mode paper` static features are of
  its end, change rates of related pages count it, and neighbours weigh by inverse distance, all as
  in the authors' program; its numbers are then too good.
- What a trace holds of a page is its text and links, so their bytes are its size. Text quality is
  the number of distinct words over the root of the number of words. TrustRank starts at the 1 % of
  the pages with the highest PageRank, unless `--trusted` names others.
- Forests have 400 trees; rows at a leaf are tuned on a development set by cross-validation with
  50, and feature importance is measured with 100. NGBoost takes 250 steps of 0.02 and draws 30 %
  of the features for each. NNL-LGB is LightGBM with a Poisson loss, as an alternative to it.

"""


def main() -> None:
    if not TRACE.exists():
        sys.exit(f"No trace {TRACE}; docs/papers/dang.md stays as it is.")
    data = study(open_trace(TRACE))
    results = dang(data, RESULTS)
    text = HEAD + tables(data, results) + "\n"
    for kind, svg in curves(results).items():
        (HERE / f"dang-{kind}.svg").write_text(svg)
        text += f"![Precision@k% of new {kind} links](dang-{kind}.svg)\n"
    (HERE / "dang.md").write_text(text)


if __name__ == "__main__":
    main()
