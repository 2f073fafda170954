"""The script that writes docs/papers/radinsky.md, whole, on small traces."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from recrawl.papers.radinsky import crawl, page
from recrawl.papers.radinsky.data import PredictionProtocol

BUNDLED = Path(__file__).parents[2] / "golden" / "small"


@pytest.mark.slow
def test_the_page(tmp_path, monkeypatch):
    copytree(BUNDLED, tmp_path / "traces" / "bundled")
    small = PredictionProtocol(pages=4, n=20, k=3, days=6)
    on_trace = replace(small, alpha=0.0, detector="digest")
    world = {"source": page.LEADERS, "protocol": replace(small, figures=True), "pages": 32}
    sections = (
        page.PageSection("many", "Many", **world, n_listed=2),
        page.PageSection("real", "Real", "bundled", on_trace, n_listed=1),
    )
    settings = {"SECTIONS": sections, "WORLD_PROTOCOL": small, "OTHER_SEEDS": range(101, 103)}
    settings |= {"RESULTS": tmp_path / "kept", "TRACES": tmp_path / "traces", "OTHER_PAGES": 32}
    settings |= {"PAGE_FOLDER": tmp_path}
    for name, value in settings.items():
        monkeypatch.setattr(page, name, value)
    fewer = {"MAX_DAYS": 45, "SEEDS": 1, "POLICIES": (*crawl.PAPER.values(), "oldest")}
    for name, value in fewer.items():
        monkeypatch.setattr(crawl, name, value)
    page.main()
    text = (tmp_path / "radinsky.md").read_text()
    assert "| bundled | 150 | 0 |" in text  # pages that pass the filter
    assert f"`recrawl world {page.LEADERS} --pages 32 --days 151 --seed 3 -o TRACE`, then" in text
    assert "`recrawl paper radinsky TRACE --experts 2 --figures`:" in text
    assert "`recrawl paper radinsky TRACE --alpha 0.0 --detector digest --experts 1`:" in text
    for part in ("## Many", "## Real", "### Figure 8", "## All experiments", "## Conclusions"):
        assert part in text
    assert text.count("\n- `https://") == 3  # targets whose experts are listed
    assert re.search(r"both significantly \(p < 0.05\), in [012] of 2 worlds", text)
    assert sorted(file.name for file in tmp_path.glob("*.svg")) == [
        f"radinsky-many-figure-{number}.svg" for number in (6, 7, 8)
    ]
    page.main()  # from what is kept
    assert (tmp_path / "radinsky.md").read_text() == text
