"""A file is there whole: the new one, or after any failure the old one."""

from __future__ import annotations

import os

import pytest

from recrawl.files import replace, whole_file, write_whole


def test_a_new_file_and_one_in_the_place_of_another(tmp_path):
    file = tmp_path / "kept.json"
    for text in ("first", "sécond"):
        write_whole(file, text)
        assert file.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [file]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "kept.json"
    write_whole(file, "old")

    def fail():
        with whole_file(file) as opened:
            opened.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_nothing_is_replaced_before_it_is_on_disk(tmp_path, monkeypatch):
    file, synced, real = tmp_path / "kept", [], os.fsync

    def fsync(number):
        real(number)
        synced.append(file.exists())

    monkeypatch.setattr(os, "fsync", fsync)
    write_whole(file, "new")
    assert synced == [False, True]  # the file, then the folder with its name
    (tmp_path / "other").write_text("other")
    replace(tmp_path / "other", file)
    assert file.read_text() == "other"


def test_a_link_stays_and_a_device_is_written_to(tmp_path):
    file, link = tmp_path / "kept.json", tmp_path / "link.json"
    link.symlink_to(file)
    write_whole(link, "text")
    assert link.is_symlink()
    assert file.read_text() == "text"
    write_whole("/dev/null", "text")
    read, write = os.pipe()
    write_whole(f"/dev/fd/{write}", "text")
    assert os.read(read, 9) == b"text"


def test_permissions_stay(tmp_path):
    file = tmp_path / "kept.json"
    file.write_text("old")
    file.chmod(0o600)
    write_whole(file, "new")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_text() == "new"
