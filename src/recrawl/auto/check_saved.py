"""Is a loaded state one that compiled code can work on? Types, shapes and ranges of its arrays.

Compiled code does not check an index: one that is out of range ends the process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.auto import copies
from recrawl.auto.calibration import Calibration
from recrawl.auto.copies import CopyFeatures
from recrawl.auto.features import N_NEIGHBOURS, NAMES, FeatureState
from recrawl.auto.group_days import DAYS_KEPT, GroupDays
from recrawl.auto.hazard import Hazard
from recrawl.auto.learner import Learner
from recrawl.auto.neighbourhood import Neighbourhood
from recrawl.auto.page_history import PageHistory
from recrawl.auto.stamps import Stamps
from recrawl.auto.trees import DEPTH, BoostedTrees
from recrawl.neighbours.url_groups import LEVELS
from recrawl.neighbours.vectors import TextSpace, TextVectors
from recrawl.page.word_buckets import N_BUCKETS

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_DAY = 10**7  #: a day number beyond the year 9999

#: The type and the shape of each array, by class and name. A letter is a size that the state itself
#: gives, and the same everywhere: n pages, g groups, t terms, b trees; h and i are any.
ARRAYS: dict[type, dict[str, tuple[str, tuple[int | str, ...]]]] = {
    FeatureState: {
        "key": ("u8", ("n",)),
        "recent": ("u8", ("n",)),
        "group_name": ("u8", (len(LEVELS), "n")),
        "rate": ("f8", ("n",)),
        "group_rate": ("f8", ("n",)),
        "copy_day": ("f8", ("n",)),
        "columns": ("f4", (len(NAMES), "n")),
    },
    PageHistory: {
        name: ("i8" if name == "n_visits" else "f8", ("n",))
        for name in PageHistory.__dataclass_fields__
    },
    Stamps: dict.fromkeys(Stamps.__dataclass_fields__, ("f8", ("n",))),
    GroupDays: {
        "group": ("i", (len(LEVELS), "n")),
        "name": ("u8", ("g",)),
        "n_visits": ("f8", (DAYS_KEPT,)),
        "totals": ("f8", (2, "g")),
        "settled": ("f4", ("g", DAYS_KEPT)),
        "shown": ("f4", ("g", DAYS_KEPT)),
        "due": ("f4", ("g", DAYS_KEPT)),
        "cumulative": ("f4", ("g", DAYS_KEPT + 1)),
        "old_hits": ("f8", (4, "h")),
        "new_hits": ("f8", (4, "i")),
    },
    CopyFeatures: {
        "n_changes": ("i8", ("n",)),
        "last_visit": ("f8", ("n",)),
        "first_day": ("f8", ("n",)),
        "has_text": ("b1", ("n",)),
        "features": ("f4", (len(copies.NAMES), "n")),
    },
    Neighbourhood: {
        "row": ("i4", ("n", N_NEIGHBOURS)),
        "weight": ("f4", ("n", N_NEIGHBOURS)),
    },
    TextVectors: {"vector": ("f4", ("n", copies.DIMS))},
    TextSpace: {
        "column_": ("i8", (N_BUCKETS,)),
        "weight_": ("f4", ("t",)),
        "directions_": ("f4", ("t", copies.DIMS)),
    },
    Calibration: {"log_s": ("f8", ("p",)), "hit": ("b1", ("p",))},
    Hazard: {name: ("f8", (len(NAMES),)) for name in ("mean", "scale", "weight")},
    BoostedTrees: {
        "column": ("i8", ("b", DEPTH)),
        "above": ("f4", ("b", DEPTH)),
        "leaf": ("f8", ("b", 2**DEPTH)),
    },
}
#: The other attributes: a class, or the types that a plain value may have.
OTHERS: dict[type, dict[str, tuple[type, ...]]] = {
    FeatureState: {
        "event": (str,),
        "history": (PageHistory,),
        "stamps": (Stamps,),
        "group_days": (GroupDays,),
        "copies": (CopyFeatures,),
        "neighbours": (Neighbourhood,),
    },
    GroupDays: {"today": (int,)},
    CopyFeatures: {"texts": (TextVectors,)},
    TextVectors: {"n_pages": (int,), "space": (TextSpace,), "same": (float,), "n_learned": (int,)},
    TextSpace: {"dims": (int,), "terms": (int,), "characters": (int,), "seed": (int,)},
    Hazard: {"intercept": (float,)},
    Calibration: {"shift": (float,), "slope": (float,)},
    Learner: {
        "seed": (int,),
        "days": (list,),
        "n_hits": (int,),
        "n_hits_trained": (int,),
        "version": (int,),
        "linear": (Hazard, type(None)),
        "trees": (BoostedTrees, type(None)),
    },
}
UNFITTED = {"weight_", "directions_"}  #: what a text space has only once it is fitted


def check_state(state: Any, event: str) -> None:
    """Raise ValueError unless this is a whole state for one kind of event."""
    _require("its class", type(state) is FeatureState)
    sizes: dict[str, int] = {}
    _check(state, sizes)
    n = sizes["n"]
    days, texts = state.group_days, state.copies.texts
    _require("event", state.event == event)
    _require("today", abs(days.today) < MAX_DAY)
    _within("group", days.group, -1, sizes["g"])
    for hits in (days.old_hits, days.new_hits):
        _within("hits", hits[0], 0, n)
    _within("neighbours", state.neighbours.row, -1, n)
    space = texts.space
    known = (texts.n_pages, space.dims, space.characters)
    _require("text vectors", known == (n, copies.DIMS, copies.VECTOR_CHARACTERS))
    _require("text space", bool(texts.n_learned) <= (vars(space).keys() >= UNFITTED))
    _within("words", space.column_, -1, sizes.get("t", 0))
    for name in ("rate", "group_rate", "columns"):
        _finite(name, getattr(state, name))
    for name in ("totals", "settled", "shown", "due", "cumulative", "old_hits", "new_hits"):
        _finite(name, getattr(days, name))


def check_learner(learner: Any) -> None:
    """Raise ValueError unless this is a whole learner."""
    _require("its class", type(learner) is Learner)
    _check(learner, {})
    for day in learner.days:
        _require("a day", isinstance(day, list) and len(day) == 3)
        for array, kind, shape in zip(
            day, ("f4", "f8", "b1"), ((len(NAMES), "v"), ("v",), ("v",)), strict=True
        ):
            _array("a day", array, kind, shape, {"v": np.size(day[2])})
    if learner.linear is not None:
        for name in ("mean", "weight", "intercept"):
            _finite(name, getattr(learner.linear, name))
    if learner.trees is not None:
        _within("column", learner.trees.column, 0, len(NAMES))
        _finite("leaf", learner.trees.leaf)


def check_calibration(calibration: Any) -> None:
    """Raise ValueError unless this is a whole calibration."""
    _require("its class", type(calibration) is Calibration)
    _check(calibration, {})
    for name in ("log_s", "shift", "slope"):
        _finite(name, getattr(calibration, name))


def _check(part: Any, sizes: dict[str, int]) -> None:
    """Check the attributes of an object and of the objects in it."""
    arrays, others = ARRAYS.get(type(part), {}), OTHERS.get(type(part), {})
    missing = {*arrays, *others} - vars(part).keys()
    _require("its parts", vars(part).keys() <= {*arrays, *others} and missing <= UNFITTED)
    for name, (kind, shape) in arrays.items():
        if name not in missing:
            _array(name, getattr(part, name), kind, shape, sizes)
    for name, kinds in others.items():
        value = getattr(part, name)
        _require(name, type(value) in kinds)
        if type(value) in ARRAYS:
            _check(value, sizes)


def _array(
    name: str, array: Any, kind: str, shape: tuple[int | str, ...], sizes: dict[str, int]
) -> None:
    _require(name, isinstance(array, np.ndarray))
    right = array.dtype.kind == "i" if kind == "i" else array.dtype == np.dtype(kind)
    _require(name, right and array.ndim == len(shape))
    for size, wanted in zip(array.shape, shape, strict=True):
        expected = sizes.setdefault(wanted, size) if isinstance(wanted, str) else wanted
        _require(name, size == expected)


def _within(name: str, index: NDArray[Any], least: int, end: int) -> None:
    _require(name, bool(((index >= least) & (index < end)).all()))


def _finite(name: str, values: Any) -> None:
    _require(name, bool(np.isfinite(values).all()))


def _require(name: str, holds: bool) -> None:  # noqa: FBT001
    if not holds:
        raise ValueError(f"{name} has another type, shape or range")
