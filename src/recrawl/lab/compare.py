"""Which policy does best, on which trace, at which budget, and how near is that to the limit?"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import repeat
from multiprocessing import active_children, get_context
from pathlib import Path
from signal import SIG_BLOCK, SIG_SETMASK, SIGINT, pthread_sigmask
from threading import Thread
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl import units
from recrawl.errors import BadInput
from recrawl.lab.bounds import captured, clairvoyant
from recrawl.lab.delays import links_found
from recrawl.lab.known_rates import known_rates, rates
from recrawl.lab.metrics import claims, daily, starved, summary
from recrawl.lab.rankings import calibration
from recrawl.lab.replay import keep, replay
from recrawl.lab.trace import trace_name
from recrawl.lab.traces import open_trace
from recrawl.public import public
from recrawl.registry import import_parts, outside_parts, part_label
from recrawl.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from queue import Queue

    from recrawl.lab.metrics import DailyMetrics
    from recrawl.lab.rankings import Calibration
    from recrawl.lab.replay import FetchLog
    from recrawl.lab.trace import Trace
    from recrawl.model import FloatArray
    from recrawl.protocols import Policy

    Progress = Callable[[str], None]  #: called with what was just done

BASELINE = "oldest"
SHOWN = 10  #: starved pages that a report names


@dataclass(frozen=True)
class Detail:
    """What a report draws of a run, of its first order of ties."""

    daily: DailyMetrics
    calibration: Calibration
    starved: list[str]  #: some of the pages, those that changed most


@public
@dataclass(frozen=True, repr=False)
class Comparison(Results):
    """Every run, and the limits beside them. Iterating gives the runs."""

    #: trace, policy, budget, pages, cycles, then the metrics
    runs: list[dict[str, Any]] = field(default_factory=list)
    bounds: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)  #: trace, budget
    details: list[Detail] = field(default_factory=list)  #: of each run
    rates: dict[str, FloatArray] = field(default_factory=dict)  #: changes a day, by trace
    baseline: str = BASELINE  #: the policy that others are held against

    def captured(self, run: dict[str, Any]) -> float | None:
        """How much of the way from the baseline to the clairvoyant change ratio a run goes."""
        base = next(
            r["change_ratio"]
            for r in self.runs
            if (r["trace"], r["budget"], r["policy"])
            == (run["trace"], run["budget"], self.baseline)
        )
        limit = self.bounds[run["trace"]][run["budget"]]["change_ratio"]
        return captured(run["change_ratio"], base, limit)

    def _rows(self) -> list[dict[str, Any]]:
        return self.runs

    def __len__(self) -> int:
        return len(self.runs)

    def __repr__(self) -> str:
        traces = units.count(len(self.bounds), "trace")
        return f"<Comparison: {units.count(len(self), 'run')} on {traces}>"

    def write_report(self, path: str | Path) -> None:
        """Write a page of HTML with charts."""
        from recrawl.lab.report import write_report

        write_report(self, Path(path))

    def add(self, other: Comparison) -> None:
        """Take up what was found elsewhere."""
        self.runs.extend(other.runs)
        self.details.extend(other.details)
        self.bounds.update(other.bounds)
        self.rates.update(other.rates)


def compare(
    traces: Iterable[Trace],
    policies: Sequence[str | Policy],
    budgets: Sequence[str],
    *,
    seeds: int = 1,
    host_cap: int | None = None,
    weights: Mapping[str, float] | None = None,
    keep_in: Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Replay every policy on every trace at every budget; oldest-first is always among them.

    With several `seeds` the metrics are means over as many orders of ties. `weights` are those of
    pages by URL, 1 if not given, for the metrics that know them; policies do not. `keep_in` is a
    folder for the raw runs; `options` are those of `replay`.
    """
    found = Comparison()
    for trace in traces:
        if trace.name in found.bounds:
            raise BadInput(f"Traces must have names of their own. Got {trace.name!r} twice.")
        worth = None if weights is None else _worth(trace, weights)
        for budget in dict.fromkeys(budgets):
            spend = replace(units.budget(budget), host_cap=host_cap)
            spent: list[int] = []
            for name, policy in with_baseline(policies).items():
                done = [replay(trace, policy, spend, seed=s, **options) for s in range(seeds)]
                if keep_in is not None:
                    _keep(done, trace, keep_in / trace.name, f"{name}-{budget}")
                measure(found, trace, done, policy=name, budget=budget, weight=worth)
                spent += [log.spent() for log in done]
                if progress is not None:
                    progress(f"{trace.name} {budget} {name}")
            limit(found, trace, done[0], budget=budget, spent=spent)
    return found


def compare_files(
    paths: Sequence[Path],
    policies: Sequence[str | Policy],
    budgets: Sequence[str],
    *,
    opening: dict[str, Any],
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Compare on traces yet to be read, `opening` as for `open_trace`; several in parallel.

    Parts that another process could not import keep all traces in this one.
    """
    work = partial(_file, policies=policies, budgets=budgets, opening=opening, options=options)
    if len(paths) == 1:
        return work(paths[0], named(paths)[0], progress)
    outside = outside_parts(policies)
    found, others = Comparison(), active_children()
    if outside is None:
        for path, name in zip(paths, named(paths), strict=True):
            found.add(work(path, name, progress))
        return found
    context = get_context("spawn")  # a fork would take locks of other threads along
    with _no_interrupt():  # ours alone: workers print where they were
        manager = context.Manager()
        pool = ProcessPoolExecutor(
            mp_context=context, initializer=import_parts, initargs=(outside,)
        )
        said = manager.Queue()
        Thread(target=_relay, args=(said, progress), daemon=True).start()
        done = pool.map(work, paths, named(paths), repeat(said.put))
    with manager, pool:
        try:
            for one in done:
                found.add(one)
        except BaseException:
            for child in set(active_children()).difference(others):
                child.terminate()
            raise
        said.put(None)
    return found


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Ctrl-C waits until this is over; processes begun within never see it."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def named(paths: Sequence[Path]) -> list[str]:
    """What to call the traces at these paths, each otherwise: a second `web` is `web (2)`.

    >>> from pathlib import Path
    >>> named([Path("/a/web"), Path("/b/web"), Path("/a/versions.parquet")])
    ['web', 'web (2)', 'a']
    """
    names: list[str] = []
    for path in paths:
        name = plain = trace_name(path)
        number = 1
        while name in names:
            number += 1
            name = f"{plain} ({number})"
        names.append(name)
    return names


def with_baseline(policies: Sequence[str | Policy]) -> dict[str, str | Policy]:
    """The policies by the name that reports give them, each once, oldest-first before them."""
    return {BASELINE: BASELINE} | {part_label(policy): policy for policy in policies}


def _file(
    path: Path,
    name: str,
    progress: Progress | None,
    *,
    policies: Sequence[str | Policy],
    budgets: Sequence[str],
    opening: dict[str, Any],
    options: dict[str, Any],
) -> Comparison:
    trace = replace(open_trace(path, **opening), name=name)
    return compare([trace], policies, budgets, progress=progress, **options)


def _relay(said: Queue[str | None], progress: Progress | None) -> None:
    with suppress(EOFError, OSError):  # the run was broken off
        while (text := said.get()) is not None:
            if progress is not None:
                progress(text)


def _worth(trace: Trace, weights: Mapping[str, float]) -> FloatArray:
    """The weights of the pages of a trace, 1 on the mean."""
    if not any(url in weights for url in trace.urls):
        raise BadInput(
            f"Weights must be of pages of the trace {trace.name}. Got "
            f"{units.count(len(weights), 'weight')}, none for a URL of it; write URLs as it does."
        )
    worth: FloatArray = np.array([weights.get(url, 1.0) for url in trace.urls])
    with np.errstate(over="ignore"):
        mean = float(worth.mean())
    if not 0.0 < mean < np.inf:
        raise BadInput(
            f"The weights of the pages of {trace.name} must have a sum above 0 and finite. "
            f"Got {mean:g}; give a page a weight, or smaller ones."
        )
    return worth / mean


def measure(
    found: Comparison,
    trace: Trace,
    done: list[FetchLog],
    *,
    policy: str,
    budget: str,
    weight: FloatArray | None = None,
) -> None:
    """Add a run, the mean over its seeds, and what a report draws of it."""
    if trace.name not in found.rates:
        found.rates[trace.name] = rates(trace)
    days = [daily(trace, log, weight) for log in done]
    unvisited = [starved(trace, log) for log in done]
    truth = [calibration(*claims(trace, log)) for log in done]
    each = [
        summary(day)
        | links_found(trace, log)
        | {"starved": len(rows) / max(len(trace), 1), "brier": true.brier}
        for day, log, rows, true in zip(days, done, unvisited, truth, strict=True)
    ]
    means = {name: float(np.mean([one[name] for one in each])) for name in each[0]}
    busiest = unvisited[0][np.argsort(-found.rates[trace.name][unvisited[0]], kind="stable")]
    head = {"trace": trace.name, "policy": policy, "budget": budget}
    size = {"pages": len(trace), "cycles": len(done[0].times)}
    found.runs.append(head | size | means)
    found.details.append(Detail(days[0], truth[0], [trace.urls[i] for i in busiest[:SHOWN]]))


def limit(
    found: Comparison, trace: Trace, log: FetchLog, *, budget: str, spent: Sequence[int]
) -> None:
    """Add the limits of runs in such cycles, of which each made so many fetches past warm-up."""
    all_of_it = log.fetches * (len(log.times) - 1 - log.warm_up)
    fewest = min(filter(None, spent), default=all_of_it)
    limits = clairvoyant(trace, log, fewest) | _known_rates(trace, log)
    found.bounds.setdefault(trace.name, {})[budget] = limits


def _known_rates(trace: Trace, log: FetchLog) -> dict[str, float]:
    """The limits at known rates: of pages that are there throughout, if any is ever fetched."""
    if not log.fetches or not trace.alive().all():
        return {}
    return {f"{name}_known_rates": v for name, v in known_rates(trace, log).items()}


def _keep(done: list[FetchLog], trace: Trace, folder: Path, name: str) -> None:
    plain = name.replace("%", "pct").replace(":", "-").replace("/", "-")  # a policy may be a path
    for seed, log in enumerate(done):
        keep(log, trace, folder / f"{plain}-{seed}.parquet")
