"""Compares policies on traces at several budgets, with each other and with the limits."""

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
from recrawl.lab.answers import Answers
from recrawl.lab.bounds import captured, clairvoyant
from recrawl.lab.delays import links_found
from recrawl.lab.ephemeral import ephemeral_worth
from recrawl.lab.known_rates import known_rates, rates
from recrawl.lab.metrics import claims, daily, starved, summary
from recrawl.lab.rankings import calibration
from recrawl.lab.replay import replay, write_log
from recrawl.lab.trace import trace_name
from recrawl.lab.traces import open_trace
from recrawl.public import public
from recrawl.registry import import_parts, outside_parts, part_label
from recrawl.results import Results
from recrawl.search.queries import read_workload

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
MAX_STARVED_URLS = 10  #: that a report names


@dataclass(frozen=True)
class Detail:
    """What a report shows of a run besides its metrics, for the first seed."""

    daily: DailyMetrics
    calibration: Calibration
    starved: list[str]  #: URLs; some of the starved pages, those that change most often


@public
@dataclass(frozen=True, repr=False)
class Comparison(Results):
    """The runs and their limits. Iterating gives the runs."""

    #: trace, policy, budget, pages, cycles, then the metrics
    runs: list[dict[str, Any]] = field(default_factory=list)
    bounds: dict[str, dict[str, dict[str, float]]] = field(default_factory=dict)  #: trace, budget
    details: list[Detail] = field(default_factory=list)  #: one for each run
    rates: dict[str, FloatArray] = field(default_factory=dict)  #: changes a day, by trace
    baseline: str = BASELINE  #: the policy that others are compared with

    def captured(self, run: dict[str, Any]) -> float | None:
        """How far a run gets from the baseline (0) to the clairvoyant change ratio (1)."""
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
        """Add the runs of another comparison."""
        self.runs.extend(other.runs)
        self.details.extend(other.details)
        self.bounds.update(other.bounds)
        self.rates.update(other.rates)

    def add_run(
        self,
        trace: Trace,
        logs: list[FetchLog],
        *,
        policy: str,
        budget: str,
        weight: FloatArray | None = None,
        answers: Answers | None = None,
    ) -> None:
        """Add a run: the mean metrics of its logs, one for each seed, and details of the first."""
        if trace.name not in self.rates:
            self.rates[trace.name] = rates(trace)
        days = [daily(trace, log, weight) for log in logs]
        unvisited = [starved(trace, log) for log in logs]
        calibrations = [calibration(*claims(trace, log)) for log in logs]
        by_seed = [
            summary(day)
            | links_found(trace, log)
            | ephemeral_worth(trace, log)
            | {"starved": len(rows) / max(len(trace), 1), "brier": each.brier}
            | ({} if answers is None else answers.measure(log))
            for day, log, rows, each in zip(days, logs, unvisited, calibrations, strict=True)
        ]
        means = {name: float(np.mean([one[name] for one in by_seed])) for name in by_seed[0]}
        order = np.argsort(-self.rates[trace.name][unvisited[0]], kind="stable")
        busiest = unvisited[0][order[:MAX_STARVED_URLS]]
        head = {"trace": trace.name, "policy": policy, "budget": budget}
        size = {"pages": len(trace), "cycles": len(logs[0].times)}
        self.runs.append(head | size | means)
        self.details.append(Detail(days[0], calibrations[0], [trace.urls[i] for i in busiest]))

    def add_limits(
        self,
        trace: Trace,
        log: FetchLog,
        *,
        budget: str,
        spent: Sequence[int],
        answers: Answers | None = None,
    ) -> None:
        """Add the limits for a budget: of the cycles of `log` and the fetches that runs `spent`."""
        whole_budget = log.fetches * (len(log.times) - 1 - log.warm_up)
        fewest = min(filter(None, spent), default=whole_budget)
        limits = clairvoyant(trace, log, fewest) | _known_rates(trace, log)
        limits |= {} if answers is None else answers.without_refreshes(log)
        self.bounds.setdefault(trace.name, {})[budget] = limits


def compare(
    traces: Iterable[Trace],
    policies: Sequence[str | Policy],
    budgets: Sequence[str],
    *,
    seeds: int = 1,
    host_cap: int | None = None,
    weights: Mapping[str, float] | None = None,
    queries: Path | None = None,
    keep_in: Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Replay every policy on every trace at every budget; oldest-first is always among them.

    Metrics are means over `seeds` orders of ties. `weights` are weights of pages by URL, by default
    1; only metrics use them, not policies. With a file of `queries`, the quality of answers to them
    is measured too. `keep_in` is a folder for the raw runs. `options` are those of `replay`.
    """
    comparison = Comparison()
    workload = None if queries is None else read_workload(queries)
    for trace in traces:
        if trace.name in comparison.bounds:
            raise BadInput(
                f"Traces must have different names. Got {trace.name!r} twice; rename one."
            )
        weight = None if weights is None else _weights(trace, weights)
        answers = None if workload is None else Answers.of(trace, workload)
        for budget in dict.fromkeys(budgets):
            spend = replace(units.budget(budget), host_cap=host_cap)
            spent: list[int] = []
            for name, policy in with_baseline(policies).items():
                logs = [replay(trace, policy, spend, seed=s, **options) for s in range(seeds)]
                if keep_in is not None:
                    _write_logs(logs, trace, keep_in / trace.name, f"{name}-{budget}")
                comparison.add_run(
                    trace, logs, policy=name, budget=budget, weight=weight, answers=answers
                )
                spent += [log.spent() for log in logs]
                if progress is not None:
                    progress(f"{trace.name} {budget} {name}")
            comparison.add_limits(trace, logs[0], budget=budget, spent=spent, answers=answers)
    return comparison


def compare_files(
    paths: Sequence[Path],
    policies: Sequence[str | Policy],
    budgets: Sequence[str],
    *,
    opening: dict[str, Any],
    progress: Progress | None = None,
    **options: Any,
) -> Comparison:
    """Compare on traces to be read with the options `opening` of `open_trace`, in parallel.

    Traces are compared one by one in this process if other processes cannot import the policies.
    """
    work = partial(
        _compare_file, policies=policies, budgets=budgets, opening=opening, options=options
    )
    if len(paths) == 1:
        return work(paths[0], trace_names(paths)[0], progress)
    outside = outside_parts(policies)
    comparison, others = Comparison(), active_children()
    if outside is None:
        for path, name in zip(paths, trace_names(paths), strict=True):
            comparison.add(work(path, name, progress))
        return comparison
    context = get_context("spawn")  # a fork would copy the locks of other threads
    with _no_interrupt():  # only this process handles it; workers would print tracebacks
        manager = context.Manager()
        pool = ProcessPoolExecutor(
            mp_context=context, initializer=import_parts, initargs=(outside,)
        )
        messages = manager.Queue()
        Thread(target=_relay, args=(messages, progress), daemon=True).start()
        comparisons = pool.map(work, paths, trace_names(paths), repeat(messages.put))
    with manager, pool:
        try:
            for each in comparisons:
                comparison.add(each)
        except BaseException:
            for child in set(active_children()).difference(others):
                child.terminate()
            raise
        messages.put(None)
    return comparison


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """Delays Ctrl-C until the block ends; processes started in it never get it."""
    before = pthread_sigmask(SIG_BLOCK, {SIGINT})
    try:
        yield
    finally:
        pthread_sigmask(SIG_SETMASK, before)


def trace_names(paths: Sequence[Path]) -> list[str]:
    """Different names for the traces at these paths: a second `web` is `web (2)`.

    >>> from pathlib import Path
    >>> trace_names([Path("/a/web"), Path("/b/web"), Path("/a/versions.parquet")])
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
    """Policies by their name in reports, each once, oldest-first in front."""
    return {BASELINE: BASELINE} | {part_label(policy): policy for policy in policies}


def _compare_file(
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


def _relay(messages: Queue[str | None], progress: Progress | None) -> None:
    with suppress(EOFError, OSError):  # the run was interrupted
        while (text := messages.get()) is not None:
            if progress is not None:
                progress(text)


def _weights(trace: Trace, weights: Mapping[str, float]) -> FloatArray:
    """The weight of each page of a trace, with mean 1."""
    if not any(url in weights for url in trace.urls):
        raise BadInput(
            f"Weights must be of pages of the trace {trace.name}. Got "
            f"{units.count(len(weights), 'weight')}, none for a URL of it; write URLs as it does."
        )
    weight: FloatArray = np.array([weights.get(url, 1.0) for url in trace.urls])
    with np.errstate(over="ignore"):
        mean = float(weight.mean())
    if not 0.0 < mean < np.inf:
        raise BadInput(
            f"The weights of the pages of {trace.name} must have a sum above 0 and finite. "
            f"Got {mean:g}; give a page a weight, or smaller ones."
        )
    return weight / mean


def _known_rates(trace: Trace, log: FetchLog) -> dict[str, float]:
    """What known rates reach; nothing if a page does not exist throughout or nothing is fetched."""
    return known_rates(trace, log) if log.fetches and trace.alive().all() else {}


def _write_logs(logs: list[FetchLog], trace: Trace, folder: Path, name: str) -> None:
    plain = name.replace("%", "pct").replace(":", "-").replace("/", "-")  # a policy may be a path
    for seed, log in enumerate(logs):
        write_log(log, trace, folder / f"{plain}-{seed}.parquet")
