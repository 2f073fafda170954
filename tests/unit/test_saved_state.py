"""A kept model of somebody else, or a damaged one, is not used: no crash, no plan made by it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from support import batch

from recrawl.auto import saved_state
from recrawl.auto.model import HitModel
from recrawl.files import _signing_key, signed_file, verified_file
from recrawl.history import Store
from recrawl.model import DAY

NOW = 1_700_000_000 + 2 * DAY


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store, and the file of its model."""
    path = tmp_path_factory.mktemp("kept") / "store"
    with Store.open(path, create=True) as store:
        for number in range(8):
            store.append(batch(number))
        model = HitModel()
        model.learn(store, store.pages(), NOW)
    assert model.learner.trees is not None
    [file] = saved_state.versions(store.models(), "change")
    return store, file


def loads(store) -> bool:
    """Whether a model finds a state that it uses."""
    model = HitModel()
    saved_state.load(model, store.models(), "change", today=10**6)
    return len(model.state.key) > 0


def read(file):
    with verified_file(file) as stream, np.load(stream) as arrays:
        return dict(arrays)


def write(file, arrays):
    with signed_file(file) as stream:
        np.savez(stream, **arrays)


def test_flipped_cut_and_longer_files_are_not_used(kept, caplog):
    store, file = kept
    sound, rng = file.read_bytes(), np.random.default_rng(0)
    assert loads(store)
    assert not caplog.text
    for place in (0, len(sound) - 1, *rng.integers(len(sound), size=30)):
        data = bytearray(sound)
        data[place] ^= 1 << rng.integers(8)
        file.write_bytes(data)
        assert not loads(store), place
    for data in (b"", sound[:31], sound[:32], sound[:-1], sound + b"x", sound[:-32]):
        file.write_bytes(data)
        assert not loads(store)
    assert caplog.text.count("is not used: this user did not write it") == 38
    file.write_bytes(sound)
    assert loads(store)


def test_a_file_of_another_folder_name_or_user_is_not_used(kept, tmp_path, monkeypatch):
    store, file = kept
    shutil.copytree(store.path, tmp_path / "moved")
    assert not loads(Store.open(tmp_path / "moved"))
    other = file.with_name("auto-change-000009.npz")
    shutil.copy(file, other)
    with pytest.raises(ValueError, match="did not write it"), verified_file(other):
        pass
    other.unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert not loads(store)
    assert (tmp_path / "recrawl" / "key").stat().st_mode & 0o777 == 0o600
    assert _signing_key() == _signing_key()


def test_without_a_place_for_a_key_nothing_is_kept_and_all_is_learned(kept, tmp_path, monkeypatch):
    store, _ = kept
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    model = HitModel()
    model.learn(store, store.pages(), NOW)
    assert model.learner.linear is not None
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "recrawl").mkdir()
    (tmp_path / "recrawl" / "key").write_bytes(b"short")
    with pytest.raises(OSError, match="must have 32 bytes"):
        _signing_key()


def test_no_array_of_another_type_shape_or_range_is_used_even_if_signed(kept, caplog):
    """As a file of an older recrawl of this user may have."""
    store, file = kept
    sound = file.read_bytes()
    arrays = read(file)
    used = set()
    for name, array in arrays.items():
        if name == "about":
            continue
        others = [array[..., :-1], array[None], array.astype(np.complex64), array.astype("S9")]
        if array.shape[-1] < 1:
            others = others[1:]
        for other in others:
            write(file, {**arrays, name: other})
            if loads(store):
                used.add((name, other.ndim))
    place_of = {name: place for place, name in places(json.loads(str(arrays["about"]))["tree"])}
    free = {"0.group_days.old_hits", "0.group_days.new_hits"}  # there may be any number of them
    assert {place_of[name] for name, _ in used} <= free
    assert {ndim for _, ndim in used} <= {2}
    file.write_bytes(sound)
    assert "has another type, shape or range" in caplog.text


def places(tree, path=()):
    """Where each array is in the saved tree."""
    if isinstance(tree, list):
        for i, part in enumerate(tree):
            yield from places(part, (*path, str(i)))
    elif isinstance(tree, dict) and "array" in tree:
        yield ".".join(path), tree["array"]
    elif isinstance(tree, dict):
        for name, part in tree["inside"].items():
            yield from places(part, (*path, name))


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("0.group_days.group", 10**6),
        ("0.group_days.group", -2),
        ("0.group_days.totals", np.nan),
        ("0.group_days.due", np.inf),
        ("0.neighbours.row", 300),
        ("0.neighbours.row", -2),
        ("0.copies.texts.space.column_", 10**6),
        ("0.copies.texts.space.column_", -2),
        ("0.rate", np.nan),
        ("0.columns", np.inf),
        ("1.linear.weight", np.nan),
        ("1.trees.column", 99),
        ("1.trees.column", -1),
        ("1.trees.leaf", np.inf),
    ],
)
def test_no_index_or_number_out_of_range_is_used(kept, place, value):
    store, file = kept
    sound, arrays = file.read_bytes(), read(file)
    name = dict(places(json.loads(str(arrays["about"]))["tree"]))[place]
    array = arrays[name].copy()
    array.flat[-1] = value
    write(file, {**arrays, name: array})
    assert not loads(store)
    file.write_bytes(sound)


@pytest.mark.parametrize(
    "change",
    [
        lambda tree: tree[0]["inside"].pop("rate"),
        lambda tree: tree[0]["inside"].update(more=1),
        lambda tree: tree[0]["inside"].update(event="links"),
        lambda tree: tree[0]["inside"].update(history=7),
        lambda tree: tree[0]["inside"]["group_days"]["inside"].update(today=10**9),
        lambda tree: tree[0]["inside"]["group_days"]["inside"].update(today="1"),
        lambda tree: tree[0]["inside"]["copies"]["inside"]["texts"]["inside"].update(n_pages=9),
        lambda tree: tree[1]["inside"].update(linear="x"),
        lambda tree: tree[1]["inside"].update(days=[[]]),
        lambda tree: tree[1]["inside"].update(days=[7]),
        lambda tree: tree.reverse(),
        lambda tree: tree.pop(),
    ],
)
def test_no_tree_of_other_parts_is_used(kept, change):
    store, file = kept
    sound, arrays = file.read_bytes(), read(file)
    about = json.loads(str(arrays["about"]))
    change(about["tree"])
    write(file, {**arrays, "about": np.array(json.dumps(about))})
    assert not loads(store)
    file.write_bytes(sound)
