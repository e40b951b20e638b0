"""Files and folders that are replaced whole or not at all."""

import os

import pytest

from nmt import files
from nmt.files import written_whole


def test_a_folder_is_replaced_whole(tmp_path):
    for content in ("old", "new"):
        with written_whole(tmp_path / "made") as beside:
            beside.mkdir()
            (beside / content).write_text(content)
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "new"]


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "old").write_text("old")
    replace = os.replace

    def refusing(source, target):
        if str(source).endswith(".partial") and not str(source).endswith("old.partial"):
            raise OSError("no")
        replace(source, target)

    monkeypatch.setattr(files.os, "replace", refusing)
    with pytest.raises(OSError, match="no"), written_whole(tmp_path / "made") as beside:
        beside.mkdir()
        (beside / "new").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "old"]
