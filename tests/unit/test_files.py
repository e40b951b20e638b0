"""Files and folders that are replaced whole or not at all."""

import os

import pytest

from nmt import files
from nmt.files import written_whole


def make(folder, content):
    with written_whole(folder) as beside:
        beside.mkdir()
        (beside / content).write_text(content)


def test_a_folder_is_replaced_whole(tmp_path):
    for content in ("old", "new"):
        make(tmp_path / "made", content)
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "new"]


def test_all_that_is_written_may_be_read_by_whom_the_umask_lets(tmp_path):
    with written_whole(tmp_path / "folder") as beside:
        beside.mkdir()
        (beside / "inside").touch(0o600)
    with written_whole(tmp_path / "alone") as beside:
        beside.touch(0o600)
    (tmp_path / "usual").touch()
    usual = (tmp_path / "usual").stat().st_mode
    assert [(tmp_path / name).stat().st_mode for name in ("folder/inside", "alone")] == [
        usual,
        usual,
    ]


def test_a_file_does_not_replace_a_folder(tmp_path):
    with pytest.raises(IsADirectoryError) as refused, written_whole(tmp_path) as beside:
        beside.touch()
    assert refused.value.filename == str(tmp_path)
    assert list(tmp_path.parent.glob(".*partial")) == []


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    make(tmp_path / "made", "old")
    replace = os.replace

    def refusing(source, target):
        if str(source).endswith(".partial") and not str(source).endswith("old.partial"):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", refusing)
    with pytest.raises(OSError, match="no"):
        make(tmp_path / "made", "new")
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "old"]
