"""Parameters of an evolution: those of the thesis, and modern ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from recrawl.errors import UnknownPart
from recrawl.evolve.trees import THESIS_CONSTANTS


@dataclass(frozen=True)
class Preset:
    """Parameters of an evolution; the defaults are those of Santos (2013)."""

    individuals: int = 300
    generations: int = 50
    kept: int = 50  #: best trees of all generations that go on to validation
    elite: int = 1  #: best trees of a generation that stay in the next
    created_depth: int = 10
    crossed_depth: int = 17
    created: float = 0.15  #: share of new trees that are random
    crossed: float = 0.9  #: share of the others that are crossed; the rest are copies
    swapped: float = 0.05  #: share of new trees in which a node is replaced
    shrunk: float = 0.05  #: share of new trees in which a leaf replaces a subtree
    tournament: int = 2
    independent: bool = False  #: each parent has its own tournament; otherwise both come from one
    constants: tuple[float, ...] = THESIS_CONSTANTS
    real: float = 0.0  #: share of the leaves that are real constants
    parsimony: float = 0.0  #: price of a node, in fitness
    distinct: bool = False  #: no two trees of a generation rank alike
    known: tuple[str, ...] = ()  #: formulas in the first generation, if the terminals allow them
    patience: int | None = None  #: stops after this many generations without a better tree


PRESETS: Final = {
    # As in the text. Where it is ambiguous: rates as GPC++ applies them, depths 10 and 17 (the text
    # has 9 after 10, which is impossible), both parents from one tournament.
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
    """The parameters of this name."""
    if name not in PRESETS:
        raise UnknownPart(f"No preset called {name!r}. Known: {', '.join(PRESETS)}.")
    return PRESETS[name]
