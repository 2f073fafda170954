"""Try a sample of mutants: python -m mutants [--sample 1000|all] [--jobs 1] [module …]"""

from __future__ import annotations

import argparse
import platform
import time
from functools import partial
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from mutants.children import in_workers, preload
from mutants.report import (
    read_survivors,
    row,
    survivors,
    table,
    write_between_markers,
    write_survivors,
)
from mutants.session import MODULES, Session

if TYPE_CHECKING:
    from mutants.sites import Mutant

SURVIVORS, PAGE = Path("mutants/survivors.toml"), Path("docs/testing.md")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", metavar="module", help=f"of {', '.join(MODULES)}")
    parser.add_argument("--sample", default="1000", help="how many mutants, or `all`")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=1, help="mutants tried at once")
    parser.add_argument("--report", action="store_true", help="only report what was tried")
    options = parser.parse_args()
    if unknown := set(options.modules) - set(MODULES):
        parser.error(f"unknown module {', '.join(sorted(unknown))}; known: {', '.join(MODULES)}")
    preload()
    session = Session(Path.cwd(), options.jobs, options.seed)
    sample = session.sample(None if options.sample == "all" else int(options.sample))
    wanted = options.modules or MODULES
    if not options.report:
        session.record()
        # In turn, so that a run that is stopped has tried some of each module.
        turns = zip_longest(*(sample[module] for module in wanted))
        run(session, [mutant for turn in turns for mutant in turn if mutant])
    report(session, sample)


def run(session: Session, mutants: list[Mutant]) -> None:
    """One worker for each tree, in a process of its own."""
    tried = session.outcomes()
    left = [mutant for mutant in mutants if session.is_left(mutant, tried)]
    print(f"{len(left)} of {len(mutants)} mutants are left to try", flush=True)
    in_workers(len(session.trees), partial(session.run, left))


def report(session: Session, sample: dict[str, list[Mutant]]) -> None:
    """Write the survivors and the table."""
    tried = session.outcomes()
    latest = {
        mutant.id: outcome
        for drawn in sample.values()
        for mutant in drawn
        if (outcome := session.latest(mutant, tried))
    }
    write_survivors(SURVIVORS, survivors(sample, latest, read_survivors(SURVIVORS)))
    known = read_survivors(SURVIVORS)
    drawn_of = sum(map(len, sample.values()))
    rows = [row(module, session.mutants[module], latest, known) for module in MODULES]
    made = (
        f"Made on {time.strftime('%Y-%m-%d')} by `make mutants`: {len(latest):,} tried of a "
        f"sample of {drawn_of:,}, with the operators of mutmut {version('mutmut')}, "
        f"Python {platform.python_version()} and numba {version('numba')}."
    )
    text = table(rows, made)
    print(text)
    write_between_markers(PAGE, text)


if __name__ == "__main__":
    main()
