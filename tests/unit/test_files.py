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
