"""How is what was learned kept? As arrays in a file, of a version of its own, beside the store."""

from __future__ import annotations

import json
import logging
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from recrawl.auto import features as watch
from recrawl.auto import group_days as days
from recrawl.auto import trees as boosted
from recrawl.auto.features import FeatureState
from recrawl.auto.group_days import GroupDays
from recrawl.auto.hazard import Hazard
from recrawl.auto.learner import Learner
from recrawl.auto.neighbourhood import Neighbourhood
from recrawl.auto.page_history import PageHistory
from recrawl.auto.trees import Boosted
from recrawl.files import whole_file
from recrawl.neighbours.vectors import TextSpace, TextVectors

if TYPE_CHECKING:
    from pathlib import Path

    from recrawl.auto.online import Online

log = logging.getLogger(__name__)
#: What the arrays are shaped by, beside the version of the format; others are learned anew.
FORMAT = [5, days.KEPT, watch.NEAR, watch.DIMS, boosted.DEPTH, *watch.NAMES]
KEPT = 3  #: files
_KINDS = {
    k.__name__: k
    for k in (
        FeatureState,
        Learner,
        PageHistory,
        Neighbourhood,
        GroupDays,
        TextSpace,
        TextVectors,
        Hazard,
        Boosted,
    )
}


def save(online: Online, folder: Path, event: str) -> Path:
    """Write all that is known as the next version; older ones but the last few are removed."""
    folder.mkdir(exist_ok=True)
    old = versions(folder, event)
    number = int(old[-1].stem.rpartition("-")[2]) + 1 if old else 1
    arrays: dict[str, Any] = {}
    tree = [_flat(part, arrays) for part in (online.watch, online.learner)]
    about = {"format": FORMAT, "tree": tree}
    file = folder / f"auto-{event}-{number:06}.npz"
    with whole_file(file) as stream:
        np.savez(stream, about=np.array(json.dumps(about)), **arrays)
    for gone in old[: 1 - KEPT]:
        gone.unlink(missing_ok=True)
    return file


def load(online: Online, folder: Path, event: str, today: int) -> None:
    """Take up the newest version that is whole, of this format and no later than a day.

    Without one all is learned anew.
    """
    for file in reversed(versions(folder, event)):
        try:
            with file.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
                about = json.loads(str(arrays["about"]))
                if about["format"] != FORMAT:
                    continue
                seen, learned = (_whole(t, arrays) for t in about["tree"])
            _check(seen, online.watch)
            _check(learned, online.learner)
        except (OSError, EOFError, ValueError, TypeError, LookupError, zipfile.BadZipFile) as error:
            log.warning(
                "%s is damaged: %s. An older version is taken, or all learned anew.", file, error
            )
            continue
        if seen.day.today > today:
            continue  # of a plan for a later day: it would not be what was known on this one
        learned.seed = online.learner.seed
        online.watch, online.learner = seen, learned
        return


def _check(found: object, fresh: object) -> None:
    if vars(found).keys() != vars(fresh).keys():
        raise ValueError("parts are missing")


def versions(folder: Path, event: str) -> list[Path]:
    """The files of one kind of event, the oldest first."""
    return sorted(folder.glob(f"auto-{event}-{'[0-9]' * 6}.npz"))


def _flat(value: Any, arrays: dict[str, Any]) -> Any:
    """The value as JSON, its arrays put aside by number."""
    if isinstance(value, np.ndarray):
        arrays[name := f"a{len(arrays)}"] = value
        return {"array": name}
    if type(value).__name__ in _KINDS:
        inside = {name: _flat(part, arrays) for name, part in vars(value).items()}
        return {"kind": type(value).__name__, "inside": inside}
    if isinstance(value, list | tuple):
        return [_flat(part, arrays) for part in value]
    return value


def _whole(value: Any, arrays: Any) -> Any:
    if isinstance(value, list):
        return [_whole(part, arrays) for part in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    made = object.__new__(_KINDS[value["kind"]])
    vars(made).update({name: _whole(part, arrays) for name, part in value["inside"].items()})
    return made
