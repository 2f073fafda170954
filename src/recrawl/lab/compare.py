"""Which policy does best, on which trace, at which budget, and how near is that to the limit?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from recrawl import units
from recrawl.lab.bounds import clairvoyant_change_ratio, clairvoyant_links
from recrawl.lab.known_rates import known_rates
from recrawl.lab.metrics import daily, starved, summary
from recrawl.lab.replay import keep, replay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from recrawl.lab.metrics import Daily
    from recrawl.lab.replay import Cycles
    from recrawl.lab.trace import Trace

BASELINE = "oldest"


@dataclass(frozen=True)
class Comparison:
    """Every run, and the limits beside them."""

    runs: list[dict[str, Any]]  #: trace, policy, budget, pages, cycles, then the metrics
    bounds: dict[str, dict[str, dict[str, float]]]  #: by trace, then budget
    curves: list[Daily]  #: of each run, cycle by cycle; the first seed's

    def captured(self, run: dict[str, Any]) -> float | None:
        """How much of the way from oldest-first to the clairvoyant change ratio a run goes."""
        base = next(
            r["change_ratio"]
            for r in self.runs
            if (r["trace"], r["budget"], r["policy"]) == (run["trace"], run["budget"], BASELINE)
        )
        room = self.bounds[run["trace"]][run["budget"]]["change_ratio"] - base
        return (run["change_ratio"] - base) / room if room > 0 else None


def compare(
    traces: Iterable[Trace],
    policies: Sequence[str],
    budgets: Sequence[str],
    *,
    seeds: int = 1,
    keep_in: Path | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Comparison:
    """Replay every policy on every trace at every budget; oldest-first is always among them.

    With several `seeds` the metrics are means over as many orders of ties. `keep_in` is a folder
    for the raw runs; `options` are those of `replay`.
    """
    runs: list[dict[str, Any]] = []
    curves: list[Daily] = []
    bounds: dict[str, dict[str, dict[str, float]]] = {}
    for trace in traces:
        for budget in budgets:
            for policy in dict.fromkeys([BASELINE, *policies]):
                if progress is not None:
                    progress(f"{trace.name} {budget} {policy}")
                spend = units.budget(budget)
                done = [replay(trace, policy, spend, seed=s, **options) for s in range(seeds)]
                if keep_in is not None:
                    _keep(done, trace, keep_in / trace.name, f"{policy}-{budget}")
                days = [daily(trace, cycles) for cycles in done]
                found = [
                    summary(day) | {"starved": starved(cycles, len(trace))}
                    for day, cycles in zip(days, done, strict=True)
                ]
                means = {name: sum(f[name] for f in found) / seeds for name in found[0]}
                curves.append(days[0])
                head = {"trace": trace.name, "policy": policy, "budget": budget}
                runs.append(head | {"pages": len(trace), "cycles": len(done[0].times)} | means)
            bounds.setdefault(trace.name, {})[budget] = {
                "change_ratio": clairvoyant_change_ratio(trace, done[0]),
                "new_links_per_fetch": clairvoyant_links(trace, done[0]),
                **{f"{name}_known_rates": v for name, v in known_rates(trace, done[0]).items()},
            }
    return Comparison(runs, bounds, curves)


def _keep(done: list[Cycles], trace: Trace, folder: Path, name: str) -> None:
    plain = name.replace("%", "pct").replace(":", "-")
    for seed, cycles in enumerate(done):
        keep(cycles, trace, folder / f"{plain}-{seed}.parquet")
