"""The commit that is checked out."""

import subprocess

from nmt import provenance
from nmt.provenance import commit


def test_the_commit_and_whether_it_was_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "REPOSITORY", tmp_path)
    assert commit() == "unknown"

    def git(*arguments):
        settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", *settings, *arguments], cwd=tmp_path, check=True)

    git("init", "--quiet")
    (tmp_path / "file").write_text("1")
    git("add", ".")
    git("commit", "--quiet", "--message=Begin")
    clean = commit()
    assert len(clean) == 10
    (tmp_path / "untracked").touch()
    assert commit() == clean
    (tmp_path / "file").write_text("2")
    assert commit() == f"{clean}+changes"
