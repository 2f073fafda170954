"""Writes docs/papers/dang.md: look back, look around, on a trace of lists that grow.

Run `python -m recrawl.papers.dang.page` in a checkout. Finished parts are kept in the folder
`dang`, so a second run continues the first.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from recrawl.lab.traces import open_trace
from recrawl.papers.dang.data import study
from recrawl.papers.dang.experiment import dang
from recrawl.papers.dang.figures import figures
from recrawl.papers.dang.tables import ModeResults, tables
from recrawl.papers.dang.verdict import verdict

if TYPE_CHECKING:
    from recrawl.lab.trace import Trace

HERE = Path("docs", "papers")  #: of a checkout, in whose root this runs
RESULTS = Path("dang")
TRACE = Path("..", "shared") / "traces" / "trackawesomelist"
CAPTIONS = {
    "3": "new {kind} links from interval to interval, of pages that ever show any",
    "4": "in how many intervals pages show new {kind} links",
    "5": "share of pages by the least number of their new links, one line per interval",
    "8": "Spearman's ρ between static features",
    "15": "Precision@k% of rankings by new {kind} links",
}

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
- *Strict* sees nothing of the last interval. In *paper mode* (`--mode paper`) static features are
  of its end, change rates of related pages and of the text count it, neighbours weigh by inverse
  distance, and some forecasts are rounded, all as in the authors' program; its numbers are then
  too good. Figures without a mode are strict.
- Each split has its own test pages, a quarter. Settings are tuned on a third of its other pages,
  in the paper's ranges: 200 to 500 trees with 2 to 25 rows at a leaf, boosting with steps of 0.02
  to 0.1. To save time settings are tuned one after the other: rows at a leaf by three folds
  with 25 trees, then the number of trees by one fold; boosting by one, on the features SP+SN.
- What a trace holds of a page is its text and links, so their bytes are its size. Text quality is
  the number of distinct words over the root of the number of words. TrustRank starts at the 1 % of
  the pages with the highest PageRank, unless `--trusted` names others.
- The past of a page includes its numbers of links and what it is about, as in the paper's text; the
  authors' program lacks both.
- NGBoost takes 250 steps of 0.02 and draws 30 features for each; `--ngboost paper` takes 500 steps
  of 0.01 and all features, as the paper did, and twenty times as long. NNL-LGB is LightGBM
  with a Poisson loss, as an alternative to it. Feature importance is of a forest of 100 trees.

"""


def main() -> None:
    if not TRACE.exists():
        sys.exit(f"No trace {TRACE}; docs/papers/dang.md stays as it is.")
    trace = open_trace(TRACE)
    strict, paper = (_mode(trace, strict=is_strict) for is_strict in (True, False))
    text = HEAD + verdict(strict, paper) + "\n" + tables([strict, paper]) + "\n"
    for name, svg in figures(strict.study, strict.results).items():
        (HERE / f"dang-{name}.svg").write_text(svg, encoding="utf-8")
        text += f"{_caption(name)}\n\n![{_caption(name)}](dang-{name}.svg)\n\n"
    (HERE / "dang.md").write_text(text.rstrip() + "\n", encoding="utf-8")


def _mode(trace: Trace, *, strict: bool) -> ModeResults:
    data = study(trace, strict=strict)
    return ModeResults(data, dang(data, RESULTS))


def _caption(name: str) -> str:
    """The caption of `figure-3-internal`, and so on."""
    _, number, *kind = name.split("-")
    return f"Figure {number}: " + CAPTIONS[number].format(kind="".join(kind))


if __name__ == "__main__":
    main()
