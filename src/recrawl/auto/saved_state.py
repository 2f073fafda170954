"""Saves the learned state beside the store, in numbered files of arrays, and loads the newest.

A file is loaded only if this user wrote it in this folder, and only if every array in it has the
type, the shape and the range that the compiled code relies on. Else everything is learned again
from the store: a store of somebody else, or one that was moved, takes longer the first time.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.auto import copies, features, group_days, trees
from recrawl.auto.calibration import Calibration
from recrawl.auto.check_saved import check_calibration, check_learner, check_state
from recrawl.auto.copies import CopyFeatures
from recrawl.auto.features import FeatureState
from recrawl.auto.group_days import GroupDays
from recrawl.auto.hazard import Hazard
from recrawl.auto.learner import Learner
from recrawl.auto.neighbourhood import Neighbourhood
from recrawl.auto.page_history import PageHistory
from recrawl.auto.stamps import Stamps
from recrawl.auto.trees import BoostedTrees
from recrawl.files import DAMAGED, signed_file, verified_file
from recrawl.neighbours.vectors import TextSpace, TextVectors

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.auto.model import HitModel

log = logging.getLogger(__name__)
#: The version of the format, and what the shapes of arrays depend on. Other files are not loaded.
FORMAT = [
    7,
    group_days.DAYS_KEPT,
    features.N_NEIGHBOURS,
    copies.DIMS,
    trees.DEPTH,
    *features.NAMES,
]
FILES_KEPT = 3
_CLASSES = {
    c.__name__: c
    for c in (
        FeatureState,
        Learner,
        PageHistory,
        Stamps,
        CopyFeatures,
        Neighbourhood,
        GroupDays,
        TextSpace,
        TextVectors,
        Hazard,
        BoostedTrees,
        Calibration,
    )
}


def save(model: HitModel, folder: Path, event: str) -> Path:
    """Write the model as the next version; only the last FILES_KEPT versions stay."""
    folder.mkdir(exist_ok=True)
    old = versions(folder, event)
    number = int(old[-1].stem.rpartition("-")[2]) + 1 if old else 1
    arrays: dict[str, Any] = {}
    tree = [_to_json(part, arrays) for part in (model.state, model.learner, model.calibration)]
    about = {"format": FORMAT, "tree": tree}
    file = folder / f"auto-{event}-{number:06}.npz"
    with signed_file(file) as stream:
        np.savez(stream, about=np.array(json.dumps(about)), **arrays)
    for outdated in old[: 1 - FILES_KEPT]:
        outdated.unlink(missing_ok=True)
    return file


def load(model: HitModel, folder: Path, event: str, today: int) -> None:
    """Load the newest version that is complete, of this format and not of a later day.

    Without one the model stays as it is.
    """
    for file in reversed(versions(folder, event)):
        try:
            with verified_file(file) as stream, np.load(stream, allow_pickle=False) as arrays:
                about = json.loads(str(arrays["about"]))
                if about["format"] != FORMAT:
                    continue
                parts = [_from_json(part, arrays) for part in about["tree"]]
            state, learner, calibration = parts
            check_state(state, event)
            check_learner(learner)
            check_calibration(calibration)
        except (*DAMAGED, AttributeError) as error:
            log.warning(
                "%s is not used: %s. An older version is, or everything is learned again.",
                file,
                error,
            )
            continue
        if state.group_days.today > today:
            continue  # saved by a plan for a later day; today it was not known
        learner.seed = model.learner.seed
        model.state, model.learner, model.calibration = state, learner, calibration
        return


def versions(folder: Path, event: str) -> list[Path]:
    """The saved files for one kind of event, oldest first."""
    return sorted(folder.glob(f"auto-{event}-{'[0-9]' * 6}.npz"))


def _to_json(value: Any, arrays: dict[str, Any]) -> Any:
    """The value as JSON; its arrays go to `arrays` and are named by number."""
    if isinstance(value, np.ndarray):
        arrays[name := f"a{len(arrays)}"] = value
        return {"array": name}
    if type(value).__name__ in _CLASSES:
        inside = {name: _to_json(part, arrays) for name, part in vars(value).items()}
        return {"kind": type(value).__name__, "inside": inside}
    if isinstance(value, list | tuple):
        return [_to_json(part, arrays) for part in value]
    return value


def _from_json(value: Any, arrays: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    made = object.__new__(_CLASSES[value["kind"]])
    vars(made).update({name: _from_json(part, arrays) for name, part in value["inside"].items()})
    return made
