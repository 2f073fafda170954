"""Writes a comparison as one HTML file, without scripts or network."""

from __future__ import annotations

from importlib import resources
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.errors import extra
from recrawl.lab import charts
from recrawl.lab.answers import QUALITIES
from recrawl.lab.compare import BASELINE
from recrawl.lab.statistics import holm, paired_difference
from recrawl.planner.plan import fetches

with extra("lab", "A report"):
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from recrawl.lab.charts import LineStyle
    from recrawl.lab.compare import Comparison, Detail
    from recrawl.lab.metrics import DailyMetrics
    from recrawl.lab.rankings import Calibration
    from recrawl.model import FloatArray

SMOOTHED_CYCLES = 7  #: a point of a curve is the mean of these
MAX_P = 0.05  #: an adjusted p below this counts as a difference
N_RESAMPLES = 9999  #: of the bootstrap; many, because Holm multiplies the smallest possible p
PERCENT = "\N{NO-BREAK SPACE}%"
LIMIT = "the clairvoyant"

Row = dict[str, Any]


def write_report(
    comparison: Comparison, path: Path, *, title: str = "What policies would have found"
) -> None:
    """Write the comparison as one self-contained HTML file."""
    source = resources.files(__package__).joinpath("report.html.j2").read_text("utf-8")
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    page.filters |= {"percent": _percent, "points": _points, "chance": _chance, "number": _number}
    styles = charts.line_styles(
        list(dict.fromkeys(run["policy"] for run in comparison.runs)), comparison.baseline
    )
    text = page.from_string(source).render(
        title=title,
        traces=_traces(comparison, styles),
        styles=styles | {LIMIT: charts.BLACK},
        baseline=_policy_name(comparison.baseline),
        limit=LIMIT,
        smooth=SMOOTHED_CYCLES,
    )
    path.write_text(text, encoding="utf-8")


def _traces(comparison: Comparison, styles: dict[str, LineStyle]) -> list[Row]:
    """Everything on the page, by trace."""
    pairs = list(zip(comparison.runs, comparison.details, strict=True))
    sections = []
    for trace, of_trace in groupby(pairs, lambda pair: pair[0]["trace"]):
        tables = [
            _table(comparison, list(of_budget), styles)
            for _, of_budget in groupby(of_trace, lambda pair: pair[0]["budget"])
        ]
        sections.append(
            {
                "name": trace,
                "sentence": _sentence(tables[0], comparison.baseline),
                "tables": tables,
                "histogram": _drawn(
                    charts.histogram(comparison.rates[trace], name=f"Changes of a page, {trace}")
                ),
                "frontiers": _frontiers(trace, tables, styles),
            }
        )
    return sections


def _table(
    comparison: Comparison, pairs: Sequence[tuple[Row, Detail]], styles: dict[str, LineStyle]
) -> Row:
    """One trace at one budget: its runs, best first, and their curves."""
    head = pairs[0][0]
    ratio = {run["policy"]: _ratio(detail.daily) for run, detail in pairs}
    fresh = {run["policy"]: detail.daily.fresh for run, detail in pairs}
    truth = {run["policy"]: detail.calibration for run, detail in pairs}
    differences = _differences(ratio, comparison.baseline)
    rows = [
        run
        | differences.get(run["policy"], {"difference": None, "p": None})
        | {"captured": comparison.captured(run), "starved_pages": detail.starved}
        for run, detail in pairs
    ]
    name = f"{head['trace']} {head['budget']}"
    return {
        "trace": head["trace"],
        "budget": _budget(head["budget"]),
        "share": fetches(units.budget(head["budget"]), head["pages"]) / max(head["pages"], 1),
        "pages": head["pages"],
        "cycles": head["cycles"],
        "known": min(run["known"] for run, _ in pairs),
        "bound": comparison.bounds[head["trace"]][head["budget"]],
        "qualities": {name: symbol for name, symbol in QUALITIES.items() if name in head},
        "rows": sorted(rows, key=lambda row: -row["change_ratio"]),
        "charts": {
            f"{what}, mean of {SMOOTHED_CYCLES} cycles": _drawn(
                charts.over_time(
                    {
                        policy: charts.smoothed(line, SMOOTHED_CYCLES)
                        for policy, line in lines.items()
                    },
                    styles,
                    name=f"{what}, {name}",
                )
            )
            for what, lines in (("Change ratio", ratio), ("Freshness", fresh))
        }
        | _calibration(truth, styles, name),
    }


def _calibration(
    truth: dict[str, Calibration], styles: dict[str, LineStyle], name: str
) -> dict[str, Markup]:
    """The calibration chart; none where there are no forecasts, as for real crawls."""
    if not any(each.count.sum() for each in truth.values()):
        return {}
    svg = charts.reliability(truth, styles, name=f"Calibration, {name}")
    return {"Changes seen, by the probability said": _drawn(svg)}


def _ratio(day: DailyMetrics) -> FloatArray:
    """Changes found in each cycle, scaled so that their mean is the change ratio of the run."""
    return day.changed / max(float(day.fetched.mean()) if day.fetched.size else 0.0, 1e-9)


def _differences(ratio: dict[str, FloatArray], baseline: str) -> dict[str, Row]:
    """Each policy minus the baseline, day by day; p is adjusted for the number of policies."""
    base = ratio[baseline]
    if len(base) < 2:
        return {}
    each = {
        policy: paired_difference(line, base, draws=N_RESAMPLES)
        for policy, line in ratio.items()
        if policy != baseline
    }
    adjusted = holm([difference.p for difference in each.values()])
    return {
        policy: {"difference": difference, "p": p}
        for (policy, difference), p in zip(each.items(), adjusted, strict=True)
    }


def _frontiers(
    trace: str, tables: Sequence[Row], styles: dict[str, LineStyle]
) -> dict[str, Markup]:
    """Charts of metrics by budget; none for a single budget."""
    if len(tables) < 2:
        return {}
    tables = sorted(tables, key=lambda table: table["share"])
    axis = [t["budget"] for t in tables], [t["share"] for t in tables]
    drawn = {}
    for metric, what in (("change_ratio", "Change ratio"), ("freshness", "Freshness")):
        lines = {
            policy: [r[metric] for t in tables for r in t["rows"] if r["policy"] == policy]
            for policy in (row["policy"] for row in tables[0]["rows"])
        }
        if metric in tables[0]["bound"]:
            lines[LIMIT] = [table["bound"][metric] for table in tables]
        svg = charts.frontier(
            *axis, lines, styles | {LIMIT: charts.BLACK}, name=f"{what} by budget, {trace}"
        )
        drawn[f"{what} by budget"] = _drawn(svg)
    return drawn


def _drawn(svg: str) -> Markup:
    return Markup(svg)  # noqa: S704  # made by charts, which escapes its texts


def _sentence(table: Row, baseline: str) -> str:
    """The result as a sentence."""
    rows = table["rows"]
    base = next(row for row in rows if row["policy"] == baseline)
    best = next((row for row in rows if row["policy"] != baseline), base)
    most = f"no schedule more than {_percent(table['bound']['change_ratio'], 0)}"
    spent = f"With {table['budget']} of {table['pages']:,} pages a cycle"
    called, old = _policy_name(baseline), _percent(base["change_ratio"], 0)
    if best["change_ratio"] <= base["change_ratio"]:
        fresh = _percent(base["freshness"], 0)
        return (
            f"{spent}, no policy here finds more than {called}: {old} of its fetches "
            f"find a change ({most}); copies are {fresh} fresh."
        )
    doubt = "" if best["p"] is not None and best["p"] < MAX_P else " Chance may explain the gap."
    return (
        f"{spent}, {_percent(best['change_ratio'], 0)} of the fetches of {best['policy']} find a "
        f"change ({called} {old}, {most}); copies are {_percent(best['freshness'], 0)} "
        f"fresh.{doubt}"
    )


def _policy_name(policy: str) -> str:
    return "oldest-first" if policy == BASELINE else policy


def _budget(text: str) -> str:
    """A budget as people write it: "2 %" or "1,000"."""
    text = str(text).strip()
    return f"{text[:-1].strip()}{PERCENT}" if text.endswith("%") else f"{int(text):,}"


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f}{PERCENT}".replace("-", "−")


def _points(value: float) -> str:
    """A difference of shares, in percentage points."""
    return f"{100 * value:+.1f}".replace("-", "−")


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _number(value: float, digits: int = 2) -> str:
    return "∞" if np.isinf(value) else f"{value:.{digits}f}".replace("-", "−")
