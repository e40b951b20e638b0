"""Files and folders are replaced whole or not at all."""

import errno
import os
import subprocess
import sys
from contextlib import suppress

import pytest

from nmt import files
from nmt.errors import UserError
from nmt.files import atomic_write, lock, no_link, read_json, write_text


def make(folder, content):
    with atomic_write(folder) as temporary:
        temporary.mkdir()
        (temporary / content).write_text(content)


def names_below(folder):
    return sorted(path.name for path in folder.rglob("*"))


def test_a_folder_is_replaced_whole(tmp_path):
    for content in ("old", "new"):
        make(tmp_path / "made", content)
    assert names_below(tmp_path) == ["made", "new"]


def test_what_fails_changes_nothing(tmp_path):
    write_text(tmp_path / "file", "old")
    make(tmp_path / "folder", "old")
    with suppress(InterruptedError), atomic_write(tmp_path / "file") as temporary:
        temporary.write_text("new")
        raise InterruptedError
    with suppress(InterruptedError), atomic_write(tmp_path / "folder") as temporary:
        temporary.mkdir()
        raise InterruptedError
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path / "folder") as temporary:
        temporary.touch()
    assert (tmp_path / "file").read_text() == "old"
    assert names_below(tmp_path) == ["file", "folder", "old"]


def test_all_files_get_the_permissions_of_the_umask(tmp_path):
    make(tmp_path / "folder", "inside")
    with atomic_write(tmp_path / "alone") as temporary:
        temporary.touch(0o600)
    (tmp_path / "usual").touch()
    (tmp_path / "usual folder").mkdir()
    mode = {path.name: path.stat().st_mode for path in tmp_path.rglob("*")}
    assert mode["alone"] == mode["inside"] == mode["usual"]
    assert mode["folder"] == mode["usual folder"]


def test_a_link_stays_and_its_target_is_replaced(tmp_path):
    target = tmp_path / "elsewhere" / "target"
    target.parent.mkdir()
    link = tmp_path / "link"
    link.symlink_to(target)
    for content in ("new", "newer"):  # the target is not there at first
        write_text(link, content)
        assert link.is_symlink()
        assert target.read_text() == content
    assert names_below(target.parent) == ["target"]


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "through it")
    assert os.read(reader, 100) == b"through it"
    os.close(reader)
    assert pipe.is_fifo()


def test_what_a_killed_process_left_goes_when_the_file_is_written_again(tmp_path):
    program = (
        "import os, signal; from nmt.files import atomic_write\n"
        "with atomic_write('out') as temporary:\n"
        "    temporary.touch(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=tmp_path).returncode < 0
    assert not (tmp_path / "out").exists()
    write_text(tmp_path / "out", "new")
    assert names_below(tmp_path) == ["out"]


def test_a_file_system_without_locks_costs_a_warning(tmp_path, monkeypatch, caplog):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    with open(tmp_path / "lock", "w") as file:
        assert lock(file)
    assert str(tmp_path / "lock") in caplog.text


def test_neither_a_stranger_s_link_nor_a_pipe_is_followed(tmp_path):
    (tmp_path / "ours").write_text("old")
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", ".file.partial"):
        (tmp_path / name).symlink_to(tmp_path / "ours")
    for name in ("link", "pipe"):
        with pytest.raises(UserError, match=name), open(tmp_path / name, "a", opener=no_link):
            pass
    write_text(tmp_path / "file", "new")
    assert (tmp_path / "ours").read_text() == "old"


@pytest.mark.parametrize("text", ['{"bleu": 1}', "[]", '["seed"]', "7", '{"seed": 1', ""])
def test_damaged_json_names_its_file(tmp_path, text):
    path = tmp_path / "file.json"
    path.write_text(text)
    with pytest.raises(UserError, match=str(path)):
        read_json(path, ["seed"])
    path.write_text('{"seed": 1}')
    assert read_json(path, ["seed"]) == {"seed": 1}
