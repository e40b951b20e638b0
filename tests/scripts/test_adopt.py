"""record.py and adopt.py through their command lines; tests/workflow has real results."""

import json
import os
import shutil
from base64 import urlsafe_b64encode

import pytest

from nmt.files import write_json

LONG = "results/" + "long/" * 60 + "name"


@pytest.fixture
def results(tmp_path):
    """Return a folder where Snakemake has made two outputs from a file in it and one beside it."""
    folder = tmp_path / "original"
    for output in ("results/folder/file", LONG):
        (folder / output).parent.mkdir(parents=True)
        (folder / output).write_text(output)
        name = output.removesuffix("/file")
        encoded = urlsafe_b64encode(name.encode()).decode()
        parts = [encoded[i : i + 254] for i in range(0, len(encoded), 254)]
        path = folder.joinpath(".snakemake/metadata", *(f"@{part}" for part in parts[:-1]))
        path.mkdir(parents=True, exist_ok=True)
        inputs = ["data/text", str(folder / "data" / "text"), "../text"]
        content = {"rule": "make", "input": inputs}
        (path / parts[-1]).write_text(json.dumps(content))
    (folder / "data").mkdir()
    (folder / "data" / "text").write_text("text")
    (tmp_path / "text").write_text("text")
    for path in folder.rglob("*"):
        os.utime(path, (1e9, 1e9))
    return folder


def contents(folder):
    metadata = folder / ".snakemake" / "metadata"
    return {
        path.relative_to(metadata): json.loads(path.read_text())
        for path in metadata.rglob("*")
        if path.is_file()
    }


def times(folder):
    names = ("results/folder/file", LONG, "data/text")
    return [(folder / name).stat().st_mtime for name in names]


@pytest.fixture
def recorded(results, run_script):
    process = run_script("record", cwd=results)
    assert (process.returncode, process.stderr) == (0, "")
    return results


def copied(folder, *left_out):
    """Copy a folder without its times, as cp -r does."""
    ignore = shutil.ignore_patterns(*left_out)
    return shutil.copytree(
        folder, folder.parent / "copy", ignore=ignore, copy_function=shutil.copyfile
    )


@pytest.fixture
def copy(recorded):
    """Return a copy of the recorded folder with new times and without .snakemake."""
    return copied(recorded, ".snakemake")


ADOPTED = "Copied results: 2 outputs are as results/record.json has them, and stay.\n"


@pytest.mark.parametrize("left_out", [".snakemake", "nothing"])
def test_times_and_records_come_back(recorded, run_script, left_out):
    copy = copied(recorded, left_out)
    assert min(times(copy)) > 1.5e9
    process = run_script("adopt", cwd=copy)
    assert (process.returncode, process.stderr) == (0, ADOPTED)
    assert times(copy) == [1e9] * 3
    assert contents(copy) == contents(recorded)
    again = run_script("adopt", cwd=copy)
    assert (again.returncode, again.stderr) == (0, "")


def test_records_come_back_where_times_were_kept(recorded, tmp_path, run_script):
    copy = tmp_path / "copy"
    shutil.copytree(recorded, copy, ignore=shutil.ignore_patterns(".snakemake"))
    assert run_script("adopt", cwd=copy).stderr == ADOPTED
    assert contents(copy) == contents(recorded)


def test_what_differs_is_named_and_newer(copy, run_script):
    (copy / "results" / "folder" / "file").write_text("other")
    (copy / "data" / "text").write_text("other")
    os.utime(copy / "data" / "text", (1e8, 1e8))
    process = run_script("adopt", cwd=copy)
    assert process.returncode == 0
    assert "1 outputs are as" in process.stderr
    assert (
        "Edited since Snakemake used or made them: results/folder/file, data/text."
        in process.stderr
    )
    file, long, text = times(copy)
    assert long == 1e9
    assert min(file, text) > 1.5e9
    run_script("adopt", cwd=copy)
    assert times(copy) == [file, long, text]


def test_what_was_made_since_and_while_snakemake_runs_is_left(recorded, run_script):
    copy = copied(recorded)
    for path in (copy / ".snakemake" / "metadata").rglob("*"):
        if path.is_file() and "@" not in str(path):
            path.write_text(json.dumps({"rule": "make", "input": [], "endtime": 2}))
    (copy / ".snakemake" / "locks").mkdir()
    lock = copy / ".snakemake" / "locks" / "0.input.lock"
    lock.touch()
    assert run_script("adopt", cwd=copy).stderr == ""
    assert min(times(copy)) > 1.5e9
    lock.unlink()
    assert "1 outputs are as" in run_script("adopt", cwd=copy).stderr
    assert [time == 1e9 for time in times(copy)] == [False, True, True]


def test_the_record_of_a_copy_that_was_not_adopted_stays(copy, run_script):
    before = (copy / "results" / "record.json").read_text()
    assert run_script("record", cwd=copy).returncode == 0
    assert (copy / "results" / "record.json").read_text() == before


def test_a_changed_output_is_recorded_again(results, copy, run_script):
    (results / LONG).write_text("new")
    (results / "data" / "text").write_text("new")
    assert run_script("record", cwd=results).returncode == 0
    shutil.copyfile(results / "results" / "record.json", copy / "results" / "record.json")
    process = run_script("adopt", cwd=copy)
    assert f"Edited since Snakemake used or made them: {LONG}, data/text." in process.stderr


def test_a_folder_that_was_emptied_is_no_fault(recorded, run_script):
    (recorded / "results" / "folder" / "file").unlink()
    copy = copied(recorded, ".snakemake")
    for folder, script in ((recorded, "record"), (copy, "adopt")):
        process = run_script(script, cwd=folder)
        assert (process.returncode, "Traceback" in process.stderr) == (0, False)
    assert "Edited since" not in run_script("adopt", cwd=recorded).stderr


def test_nothing_made_leaves_nothing(tmp_path, run_script):
    process = run_script("record", cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")
    assert not list(tmp_path.iterdir())


def test_without_a_record_nothing_is_adopted(tmp_path, run_script):
    process = run_script("adopt", cwd=tmp_path)
    assert (process.returncode, process.stderr) == (0, "")


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil"])
def test_a_record_that_names_a_file_outside_the_folder_is_refused(tmp_path, run_failing, name):
    for entry in ({"metadata": [name, {}], "files": {}}, {"metadata": None, "files": {name: []}}):
        write_json(tmp_path / "results" / "record.json", {"results/a": entry})
        error = run_failing("adopt", cwd=tmp_path)
        assert f"results/record.json names '{name}', which is outside this folder" in error


@pytest.mark.parametrize("content", [b"[]", b"\xff", b'{"results/a": []}', b'{"results/a": {}}'])
def test_a_damaged_record_is_named(tmp_path, run_failing, content):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "record.json").write_bytes(content)
    for script in ("record", "adopt"):
        error = run_failing(script, cwd=tmp_path)
        assert "error: results/record.json is " in error
        assert "run src/record.py where the results were made" in error
