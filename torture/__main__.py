"""Torture recrawl: python -m torture [--only NAME] [--scale 0.1] [--report]"""

from __future__ import annotations

import argparse
import shutil
import time

from torture import clocks, disk, fuzz, hostile_web, kills, power, soak
from torture.pieces import KEPT, Piece, Run, Skipped
from torture.processes import warm
from torture.report import (
    PAGE,
    PUBLISHED,
    Result,
    page_text,
    publish,
    read_results,
    write_result,
)

PIECES: list[Piece] = [
    kills.PIECE,
    power.PIECE,
    disk.PIECE,
    fuzz.PIECE,
    clocks.PIECE,
    hostile_web.PIECE,
    soak.PIECE,
]


def main() -> None:
    names = [piece.name for piece in PIECES]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=names, help="run it, even if it is done")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full counts")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    parser.add_argument("--report", action="store_true", help="only write the page")
    options = parser.parse_args()
    if not 0 < options.scale <= 1:
        parser.error(f"--scale must be above 0 and at most 1, not {options.scale}")
    if not options.report:
        for piece in PIECES:
            run_piece(piece, options)
    published = read_results(PUBLISHED)
    page_text(PAGE, PIECES, published)
    results = published if options.report else read_results(KEPT)
    broken = {p.name: results[p.name].broken(p) for p in PIECES if p.name in results}
    if any(broken.values()):
        raise SystemExit(f"beyond their limits: {broken}")


def run_piece(piece: Piece, options: argparse.Namespace) -> None:
    """Run a piece and keep its result; one that is done at this scale is not run again."""
    done = read_results(KEPT).get(piece.name)
    if options.only:
        if piece.name not in options.only:
            return
    elif done is not None and done.scale >= options.scale:
        print(f"{piece.name}: done on {done.date}; --only {piece.name} runs it again")
        return
    began = time.monotonic()
    run = Run(piece.name, options.scale, options.seed)
    reason, figures = "", {}
    try:
        warm()
        figures = piece.run(run)
    except Skipped as error:
        reason = str(error)
    seconds = round(time.monotonic() - began)
    result = Result.now(piece.name, options.scale, seconds, figures, reason)
    write_result(KEPT, result)
    print(f"{piece.name}: {reason or result.summary()} ({seconds} s)", flush=True)
    if not publish(PUBLISHED, result):
        print(f"{piece.name}: the page keeps the result of a larger run", flush=True)
    if not result.broken(piece):
        shutil.rmtree(run.folder / piece.name, ignore_errors=True)


if __name__ == "__main__":
    main()
