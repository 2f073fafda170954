"""What a piece of the torture is: its name, what it does, its figures and their limits."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Figures = dict[str, int | float | str]

ROOT = Path(__file__).parent.parent
KEPT = ROOT / ".torture"  #: what is done, reproducers, the fuzzer's corpus; git ignores it


class Skipped(Exception):
    """Why a piece cannot run on this machine."""


@dataclass(frozen=True)
class Run:
    """One run of a piece: how much of it, and where it may write."""

    name: str
    scale: float = 1.0
    seed: int = 0
    folder: Path = field(default_factory=lambda: KEPT / "work")

    def n(self, whole: int, least: int = 1) -> int:
        """A count at the scale of this run."""
        return max(least, round(whole * self.scale))

    def chance(self) -> random.Random:
        return random.Random(self.seed)

    def empty_folder(self, name: str) -> Path:
        """A folder of this run, without what an earlier run left there."""
        folder = self.folder / self.name / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def say(self, done: int, of: int, figures: Mapping[str, object]) -> None:
        """Print a line of progress."""
        news = ", ".join(f"{name} {value}" for name, value in figures.items())
        print(f"{self.name}: {done:,} of {of:,}; {news}", flush=True)


@dataclass(frozen=True)
class Piece:
    """One way to break things."""

    name: str
    run: Callable[[Run], Figures]
    limits: Mapping[str, float]  #: figure → the most it may be
    least: Mapping[str, float] = field(default_factory=dict)  #: figure → the least it may be

    def broken(self, figures: Mapping[str, object]) -> list[str]:
        """The figures that are beyond their limits."""
        above = [n for n, most in self.limits.items() if not _number(figures.get(n)) <= most]
        below = [n for n, least in self.least.items() if not _number(figures.get(n)) >= least]
        return above + below


def _number(value: object) -> float:
    """A figure that is missing, or no number, is beyond any limit."""
    return float(value) if isinstance(value, int | float) else float("nan")


def need_root() -> None:
    if os.geteuid():
        raise Skipped("it mounts a file system, which only root may do")


def need(*commands: str) -> None:
    """Skip the piece where one of these commands is missing."""
    for command in commands:
        if shutil.which(command) is None:
            raise Skipped(f"it needs the command `{command}`, which is not installed")
