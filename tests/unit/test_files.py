"""Files and folders are replaced whole or not at all."""

import os

import pytest

from nmt import files
from nmt.files import atomic_write


def make(folder, content):
    with atomic_write(folder) as temporary:
        temporary.mkdir()
        (temporary / content).write_text(content)


def names_below(folder):
    return [path.name for path in folder.rglob("*")]


def test_a_folder_is_replaced_whole(tmp_path):
    for content in ("old", "new"):
        make(tmp_path / "made", content)
    assert names_below(tmp_path) == ["made", "new"]


def test_all_files_get_the_permissions_of_the_umask(tmp_path):
    with atomic_write(tmp_path / "folder") as temporary:
        temporary.mkdir()
        (temporary / "inside").touch(0o600)
    with atomic_write(tmp_path / "alone") as temporary:
        temporary.touch(0o600)
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "folder" / "inside").stat().st_mode == usual
    assert (tmp_path / "alone").stat().st_mode == usual


def test_a_file_does_not_replace_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError) as error, atomic_write(tmp_path) as temporary:
        temporary.touch()
    assert error.value.filename == str(tmp_path)
    assert list(tmp_path.parent.glob(".*partial")) == []


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    make(tmp_path / "made", "old")
    replace = os.replace

    def failing_replace(source, target):
        name = str(source)
        if name.endswith(".partial") and not name.endswith("old.partial"):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", failing_replace)
    with pytest.raises(OSError, match="no"):
        make(tmp_path / "made", "new")
    assert names_below(tmp_path) == ["made", "old"]
