"""What git says of the repository's files."""

import subprocess

import pytest

from nmt import provenance
from nmt.provenance import commit, files_changed_since

SAME = "^Same: "


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A repository, and a function that writes src/models/b.py and commits with a message."""
    monkeypatch.setattr(provenance, "REPOSITORY", tmp_path)
    files_changed_since.cache_clear()
    settings = ["-c", "user.name=a", "-c", "user.email=a@example.org"]

    def git(*arguments):
        subprocess.run(["git", *settings, *arguments], cwd=tmp_path, check=True)

    def change(text, message="Change b"):
        (tmp_path / "src" / "models" / "b.py").write_text(text)
        git("add", ".")
        git("commit", "--quiet", f"--message={message}")
        return commit()

    (tmp_path / "src" / "models").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("1")
    git("init", "--quiet")
    yield change
    files_changed_since.cache_clear()


def test_files_that_changed_since_a_commit(repository):
    first, second = repository("1"), repository("2")
    assert files_changed_since(first, ("src/models",), SAME) == ["src/models/b.py"]
    assert files_changed_since(first, ("src/a.py",), SAME) == []
    assert files_changed_since(second, ("src",), SAME) == []


def test_a_commit_that_says_so_does_not_count(repository):
    first, second = repository("1"), repository("2")
    repository("3", "Rename\n\nSame: shown by a command\n")
    assert files_changed_since(first, ("src",), SAME) == ["src/models/b.py"]  # the second did
    assert files_changed_since(second, ("src",), SAME) == []
    assert files_changed_since(second, ("src",), "^Another line: ") == ["src/models/b.py"]


def test_what_is_not_committed_counts(repository):
    first = repository("1")
    repository("2", "Rename\n\nSame: shown by a command\n")
    (provenance.REPOSITORY / "src" / "models" / "b.py").write_text("3")
    assert files_changed_since(first, ("src",), SAME) == ["src/models/b.py"]


def test_what_was_changed_back_does_not_count(repository):
    first = repository("1")
    repository("2")
    repository("1")
    assert files_changed_since(first, ("src",), SAME) == []


@pytest.mark.parametrize("name", ["abcdef0123", "unknown", "0123456789+", "--output=harm"])
def test_of_what_is_no_commit_nothing_is_said(repository, name, tmp_path):
    repository("1")
    assert files_changed_since(name, ("src",), SAME) == []
    assert not (tmp_path / "harm").exists()
