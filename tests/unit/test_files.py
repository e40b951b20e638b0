"""Files and folders are replaced whole or not at all."""

import errno
import os
import subprocess
import sys

import pytest

from nmt import files
from nmt.command import explain
from nmt.errors import UserError
from nmt.files import atomic_write, link, lock, read_json, write_text


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


def test_nothing_is_everybody_s_to_write_whatever_the_umask(tmp_path):
    program = (
        "import os; os.umask(0)\n"
        "from pathlib import Path; from nmt.files import write_text\n"
        "write_text('written/whole', ''); open('opened', 'w'); Path('folder').mkdir()"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes == {"written": 0o775, "whole": 0o664, "opened": 0o664, "folder": 0o775}


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_a_file_system_without_locks_costs_a_warning(tmp_path, monkeypatch, caplog, number):
    def no_locks(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    with open(tmp_path / "lock", "w") as file:
        assert lock(file) is None
    assert f"{tmp_path}/lock has no locks ({os.strerror(number)})" in caplog.text


def test_a_lock_that_fails_otherwise_is_an_error(tmp_path, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(files.fcntl, "flock", fails)
    with open(tmp_path / "lock", "w") as file, pytest.raises(OSError, match="broken"):
        lock(file)


@pytest.mark.parametrize("number", [errno.EPERM, errno.ENOTSUP, errno.EXDEV])
def test_a_file_system_without_hard_links_gets_copies(tmp_path, monkeypatch, number):
    def refuse(*_):
        raise OSError(number, os.strerror(number))

    write_text(tmp_path / "one", "text")
    monkeypatch.setattr(files.os, "link", refuse)
    link(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "two").read_text() == "text"


def test_a_second_name_that_is_taken_is_an_error(tmp_path):
    for name in ("one", "two"):
        write_text(tmp_path / name, name)
    with pytest.raises(FileExistsError):
        link(tmp_path / "one", tmp_path / "two")
    assert (tmp_path / "two").read_text() == "two"


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


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    target = tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    link = tmp_path / "link"
    link.symlink_to(target)
    for content in ("new", "newer"):  # the target is not there at first
        files.write_text(link, content)
        assert link.is_symlink()
        assert target.read_text() == content
    assert names_below(target.parent) == ["target"]


def test_links_in_a_circle_are_an_error_and_stay(tmp_path, record_property):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match="Too many levels of symbolic links") as error:
        files.write_text(tmp_path / "a", "new")
    sentence = f"{tmp_path}/a is a link that leads back to itself: delete it, or choose another"
    assert explain(error.value) == f"{sentence} path."
    record_property("printed", f"error: {explain(error.value)}")
    assert sorted(names_below(tmp_path)) == ["a", "b"]


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    files.write_text(pipe, "through it")
    assert os.read(reader, 100) == b"through it"
    os.close(reader)
    assert pipe.is_fifo()


def test_what_killed_processes_left_is_removed_and_what_living_ones_write_is_not(tmp_path):
    process = subprocess.Popen(["true"])
    process.wait()
    left = tmp_path / f".out.{files.HOST}.{process.pid}.partial"
    left_old = tmp_path / f".out.{files.HOST}.{process.pid}.old.partial"
    living = tmp_path / f".out.{files.HOST}.{os.getppid()}.partial"
    other_output = tmp_path / f".out.more.{files.HOST}.{process.pid}.partial"
    elsewhere = tmp_path / ".out.other-machine.1.partial"
    long_ago = tmp_path / ".out.other-machine.2.partial"
    for path in (left_old, living, other_output, elsewhere, long_ago):
        path.touch()
    left.mkdir()
    os.utime(long_ago, (0, 0))
    files.write_text(tmp_path / "out", "new")
    expected = sorted([living.name, elsewhere.name, other_output.name, "out"])
    assert sorted(names_below(tmp_path)) == expected


def test_what_lacks_a_key_names_its_file_and_what_brings_it_back(tmp_path):
    folder = tmp_path / "b{x}"  # no format string
    folder.mkdir()
    path = folder / "file.json"
    path.write_text('{"scores": [{"bleu": 1}], "licence": {"text": ""}}')
    value = read_json(path, ["scores"], "make it again")
    assert value.get("seed") is None
    for lookup in (
        lambda: value["seed"],
        lambda: value["scores"][0]["chrf"],
        lambda: read_json(path, ["seed"], "make it again"),
    ):
        with pytest.raises(UserError, match=r"file\.json is damaged \(it has no '\w+'\): make it"):
            lookup()
    path.write_text("[]")
    with pytest.raises(UserError, match="has no keys and values"):
        read_json(path)


def test_a_leftover_that_is_gone_meanwhile_stops_nothing(tmp_path, monkeypatch):
    leftover = tmp_path / ".made.json.another.7.partial"
    leftover.touch()

    def glob(*_):
        leftover.unlink()
        return [leftover]

    monkeypatch.setattr(files.Path, "glob", glob)
    files.write_json(tmp_path / "made.json", {"a": 1})
    assert read_json(tmp_path / "made.json") == {"a": 1}
