"""The thesis's Figures 4.1 and 4.2 with our numbers: change ratio by day, mean over folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from recrawl.lab.charts import curves

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.papers.santos.experiment import ThesisResults

#: The lines of each figure, as in the thesis: its own three, then the best of them and baselines.
FIGURES: Final = {
    "figure-4.1": ("GP4C best", "GP4C sum", "GP4C avg"),
    "figure-4.2": ("GP4C best", "NAD", "SAD", "AAD", "GAD", "CG"),
    "figure-4.2-code": (
        "GP4C best",
        "NAD (code)",
        "SAD (code)",
        "AAD (code)",
        "GAD (code)",
        "CG",
    ),
}


def figures(results: ThesisResults, folder: Path) -> list[Path]:
    """Write each figure as SVG; returns the files."""
    return [_write(name, lines, results, folder) for name, lines in FIGURES.items()]


def _write(name: str, lines: tuple[str, ...], results: ThesisResults, folder: Path) -> Path:
    by_day = {line: results.daily[line].mean(axis=0).tolist() for line in lines}
    days = [float(day) for day in range(1, len(by_day[lines[0]]) + 1)]
    svg = curves(days, by_day, label="day after warm-up", name=f"santos, {name}")
    file = folder / f"santos-{name}.svg"
    file.write_text(svg)
    return file
