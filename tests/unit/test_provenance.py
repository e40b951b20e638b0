"""What git says of the repository's files."""

import subprocess

import pytest

from nmt import provenance
from nmt.provenance import commit, files_changed_since


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository whose second commit changed src/models/b.py, and its first commit."""
    monkeypatch.setattr(provenance, "REPOSITORY", tmp_path)
    files_changed_since.cache_clear()
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"]

    def git(*arguments):
        subprocess.run(["git", *settings, *arguments], cwd=tmp_path, check=True)

    (tmp_path / "src" / "models").mkdir(parents=True)
    git("init", "--quiet")
    commits = []
    for text in ("1", "2"):
        (tmp_path / "src" / "models" / "b.py").write_text(text)
        (tmp_path / "src" / "a.py").write_text("1")
        git("add", ".")
        git("commit", "--quiet", "--message=text")
        commits.append(commit())
    yield commits[0]
    files_changed_since.cache_clear()


def test_files_that_changed_since_a_commit(repository):
    assert files_changed_since(repository, ("src/models",)) == ["src/models/b.py"]
    assert files_changed_since(repository, ("src/a.py",)) == []
    assert files_changed_since(commit(), ("src",)) == []


@pytest.mark.parametrize("name", ["abcdef0123", "unknown", "0123456789+", "--output=harm"])
def test_of_what_is_no_commit_nothing_is_said(repository, name, tmp_path):
    assert files_changed_since(name, ("src",)) == []
    assert not (tmp_path / "harm").exists()
