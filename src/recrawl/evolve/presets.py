"""How is evolution run? Two sets of parameters: as the thesis did, and as one would today."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from recrawl.errors import UnknownPart
from recrawl.evolve.trees import THESIS_CONSTANTS


@dataclass(frozen=True)
class Preset:
    """Parameters of a run (Santos 2013)."""

    individuals: int = 300
    generations: int = 50
    kept: int = 50  #: best of all generations, which go on to validation
    elite: int = 1  #: best of a generation, which stay in the next
    created_depth: int = 10
    crossed_depth: int = 17
    created: float = 0.15  #: share of newcomers that are random trees
    crossed: float = 0.9  #: of the others, the share that are crossings; the rest are copies
    swapped: float = 0.05  #: share of all newcomers that have a node replaced
    shrunk: float = 0.05  #: share of all newcomers that have a subtree replaced by a leaf
    tournament: int = 2
    independent: bool = False  #: each parent from a tournament of its own, not both from one
    constants: tuple[float, ...] = THESIS_CONSTANTS
    real: float = 0.0  #: share of the leaves that are real constants
    parsimony: float = 0.0  #: what a node costs in fitness
    distinct: bool = False  #: a generation holds no two trees that rank alike
    known: tuple[str, ...] = ()  #: formulas to begin with, of those that the terminals allow
    patience: int | None = None  #: generations without a better tree, after which it stops


PRESETS: Final = {
    # The text; where it is ambiguous: rates as GPC++ applies them, depths 10 and 17 because 9 after
    # 10 cannot be, both parents from one tournament.
    "thesis": Preset(),
    "modern": Preset(
        created_depth=6,
        crossed_depth=10,
        swapped=0.1,
        tournament=3,
        independent=True,
        constants=(0.5, 1.0),
        real=0.3,
        parsimony=2e-5,
        distinct=True,
        known=("t", "t * X", "X / n * t", "rate * t", "cho"),
        patience=15,
    ),
}


def preset(name: str) -> Preset:
    """The parameters of that name."""
    if name not in PRESETS:
        raise UnknownPart(f"No preset called {name!r}. Known: {', '.join(PRESETS)}.")
    return PRESETS[name]
