"""What the lab's commands do: replay, judge, evolve and world, each as one call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recrawl import registry, units
from recrawl.lab.compare import compare, compare_files
from recrawl.lab.crawled import judge as judge_stores
from recrawl.lab.learn import learn
from recrawl.lab.stamps import LastModified
from recrawl.lab.trace import Trace
from recrawl.lab.traces import open_trace, read_weights
from recrawl.planner import DEFAULT_POLICY, policy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from recrawl.evolve.generations import Progress
    from recrawl.lab.compare import Comparison
    from recrawl.lab.learn import EvolutionResult
    from recrawl.model import Time
    from recrawl.protocols import Policy

    Window = str | tuple[Time, Time] | None
    TraceLike = Trace | str | Path


def replay(
    traces: TraceLike | Sequence[TraceLike],
    policies: str | Policy | Sequence[str | Policy] = (),
    budgets: str | Sequence[str] = "2%",
    *,
    objective: str | Sequence[str] = (),
    queries: str | Path | None = None,
    every: str | float = "1d",
    cohort: str = "alive",
    detector: str = "digest",
    failures: str | float = 0.0,
    not_modified: str | float = 0.0,
    last_modified: str | float = 0.0,
    window: Window = None,
    impute: bool = False,
    weights: str | Path | None = None,
    keep: str | Path | None = None,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> Comparison:
    """Replay policies on traces; oldest-first and the limit are always beside them.

    Policies are names, objects, or those for each `objective`. With a file of `queries`, the
    quality of answers is measured too. `weights` is a CSV file of url, weight. `impute` guesses
    what failed visits of a store would have shown. `last_modified` is the share of hosts that send
    true stamps, and what the others send: "50%:now"; see `lab.stamps`. `keep` is a folder for the
    raw runs. The other options are host_cap, parts, warm_up, discover, ties, signals and seeds.
    `progress` is called with the name of each finished run. Several files are replayed in parallel.
    """
    aims = [policy_for(each, queries if "search" in each else None) for each in _list(objective)]
    names = [*_list(policies), *aims] or [DEFAULT_POLICY]
    files = _list(traces)
    opening: dict[str, Any] = {
        "window": units.window(window),
        "cohort": cohort,
        "detector": detector,
        "impute": impute,
    }
    options |= {
        "progress": progress,
        "keep_in": Path(keep) if keep else None,
        "weights": read_weights(Path(weights)) if weights else None,
        "queries": Path(queries) if queries else None,
        "every": units.duration(every),
        "failures": units.share(failures),
        "not_modified": units.share(not_modified),
        "stamps": LastModified.parse(last_modified),
    }
    if any(isinstance(each, Trace) for each in files):
        opened = (t if isinstance(t, Trace) else open_trace(t, **opening) for t in files)
        return compare(opened, names, _list(budgets), **options)
    paths = [Path(each) for each in files]
    return compare_files(paths, names, _list(budgets), opening=opening, **options)


def judge(
    trace: TraceLike,
    stores: str | Path | Sequence[str | Path],
    *,
    every: str | float = "1d",
    warm_up: int = 0,
    window: Window = None,
) -> Comparison:
    """Measure crawls of a living web against its truth; the first store is the baseline."""
    truth = _open(trace, window, cohort="all")
    paths = [Path(store) for store in _list(stores)]
    return judge_stores(truth, paths, every=units.duration(every), warm_up=warm_up)


def evolve(
    trace: TraceLike,
    *,
    preset: str = "modern",
    terminals: str | Sequence[str] = "n,X,t",
    fitness: str | None = None,
    every: str | float = "1d",
    explore: str | float = 0.0,
    window: Window = None,
    impute: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> EvolutionResult:
    """Learn a score function from a trace; its `save` writes a file that is a policy.

    The other options are select, split, budget, warm_up, seed, seeds and pareto. `impute` guesses
    what failed visits of a store would have shown.
    """
    names = terminals.split(",") if isinstance(terminals, str) else terminals
    return learn(
        _open(trace, window, impute=impute),
        preset_name=preset,
        terminals=[name.strip() for name in names if name.strip()],
        measure=fitness,
        every=units.duration(every),
        explore=units.share(explore),
        progress=progress,
        **options,
    )


def world(
    name: str,
    folder: str | Path,
    *,
    pages: int | None = None,
    days: int | None = None,
    seed: int = 0,
) -> Path:
    """Write a trace of a web whose truth is known to a new or empty folder; returns the folder."""
    from recrawl.lab.worlds import write

    sizes = {"pages": pages, "days": days}
    given = {key: value for key, value in sizes.items() if value is not None}
    return write(registry.make("world", name).make(**given, seed=seed), Path(folder))


def _open(trace: TraceLike, window: Window, **options: Any) -> Trace:
    if isinstance(trace, Trace):
        return trace
    return open_trace(trace, window=units.window(window), **options)


def _list(given: Any) -> list[Any]:
    """One thing or a sequence of them, as a list.

    >>> _list("2%"), _list(["2%", "5%"])
    (['2%'], ['2%', '5%'])
    """
    return list(given) if isinstance(given, list | tuple) else [given]
