"""Archives of a made-up reproduction, and such as nobody should take."""

import gzip
import io
import os
import tarfile

import pytest

from nmt.archive.manifest import file_entry, read_manifest, write_manifest
from nmt.archive.packing import pack, unpack
from nmt.errors import UserError
from nmt.files import write_text

FILES = {
    "demo/tables/systems.csv": "1,2\n",
    "runs/c/row/seed-1/training.json": "{}\n",
    "runs/c/row/seed-1/model/model.safetensors": "model",
    "runs/c/row/seed-1/checkpoints/1.safetensors": "checkpoint",
    "corpora/c/raw/train.en": "long\n",
    "corpora/c/raw/test.en": "short\n",
    "corpora/c/clean/train.json": "{}\n",
}
SMALL = {name for name in FILES if "/model/" not in name and "/check" not in name} - {
    "corpora/c/raw/train.en"
}


@pytest.fixture
def folder(tmp_path):
    """A folder of results with a manifest."""
    results = tmp_path / "results"
    for name, text in FILES.items():
        write_text(results / name, text)
    manifest = {
        "reproduction": "demo",
        "configuration": {"corpus": "c", "tables": {"systems": {"split": "test"}}},
        "runs": {"runs/c/row/seed-1": {}},
        "cells": {},
        "files": {name: file_entry(results / name) | {"from": []} for name in FILES},
    }
    write_manifest(results / "demo" / "manifest.json", manifest)
    return results / "demo"


def names(archive):
    with tarfile.open(archive) as opened:
        return opened.getnames()


def crafted(path, members):
    """Write an archive of these (name, bytes)."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def test_only_what_was_asked_for_is_packed(folder, tmp_path):
    archive = tmp_path / "a.tar.gz"
    pack(folder, archive, [])
    assert names(archive) == ["demo/manifest.json", *sorted(SMALL)]
    pack(folder, archive, ["models", "checkpoints", "corpora"])
    assert names(archive) == ["demo/manifest.json", *sorted(FILES)]


def test_times_and_owners_do_not_matter(folder, tmp_path):
    pack(folder, tmp_path / "a.tar.gz", [])
    os.utime(folder / "tables" / "systems.csv", (1, 1))
    (folder / "tables" / "systems.csv").chmod(0o600)
    pack(folder, tmp_path / "b.tar.gz", [])
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_a_changed_file_is_not_packed(folder, tmp_path):
    write_text(folder / "tables" / "systems.csv", "1,3\n")
    with pytest.raises(UserError, match=r"systems\.csv is not the file of"):
        pack(folder, tmp_path / "a.tar.gz", [])
    assert not (tmp_path / "a.tar.gz").exists()


def test_all_comes_back_with_one_time(folder, tmp_path):
    pack(folder, tmp_path / "a.tar.gz", [])
    other = tmp_path / "other"
    assert set(unpack(tmp_path / "a.tar.gz", other)) == SMALL | {"demo/manifest.json"}
    assert {name: (other / name).read_text() for name in SMALL} == {
        name: FILES[name] for name in SMALL
    }
    places = {other / name for name in SMALL} | {(other / name).parent for name in SMALL}
    assert len({place.stat().st_mtime_ns for place in places}) == 1
    assert unpack(tmp_path / "a.tar.gz", other)  # once more, over the same files


def test_a_shared_training_is_unpacked_by_its_own_name(folder, tmp_path):
    manifest = read_manifest(folder / "manifest.json")
    shared = [f"runs/c/base/seed-1/{name}" for name in ("training.json", "metrics.jsonl")]
    manifest["files"]["runs/c/row/seed-1/training.json"]["from"] = shared
    write_manifest(folder / "manifest.json", manifest)
    pack(folder, tmp_path / "a.tar.gz", ["checkpoints"])
    with pytest.raises(UserError, match=r"row/seed-1 takes the training of base/seed-1: unpack"):
        unpack(tmp_path / "a.tar.gz", tmp_path / "other", "row/seed-1")
    assert list((tmp_path / "other").iterdir()) == []


def test_nothing_is_replaced_by_another_file(folder, tmp_path):
    pack(folder, tmp_path / "a.tar.gz", [])
    other = tmp_path / "other"
    write_text(other / "demo/tables/systems.csv", "mine\n")
    with pytest.raises(UserError, match=r"systems\.csv is there already"):
        unpack(tmp_path / "a.tar.gz", other)
    files = [path.name for path in other.rglob("*") if path.is_file()]
    assert files == ["systems.csv"]


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "demo/evil", "demo/manifest.json"])
def test_a_member_that_the_manifest_does_not_list_is_refused(folder, tmp_path, name):
    manifest = (folder / "manifest.json").read_bytes()
    archive = crafted(tmp_path / "a.tar.gz", [("demo/manifest.json", manifest), (name, b"x")])
    with pytest.raises(UserError, match="is not in its manifest"):
        unpack(archive, tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("name", ["../../evil", "/tmp/evil", "record.json", "runs/d/row/x"])
def test_a_manifest_that_names_a_file_of_something_else_is_refused(folder, tmp_path, name):
    manifest = read_manifest(folder / "manifest.json")
    write_text(tmp_path / "evil", "x")
    manifest["files"][name] = file_entry(tmp_path / "evil") | {"from": []}
    write_manifest(tmp_path / "made.json", manifest)
    members = [("demo/manifest.json", (tmp_path / "made.json").read_bytes()), (name, b"x")]
    archive = crafted(tmp_path / "a.tar.gz", members)
    with pytest.raises(UserError, match=f"names '{name}', which is no file of this"):
        unpack(archive, tmp_path / "other" / "results")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["results"]


def test_a_manifest_outside_the_results_is_refused(folder, tmp_path):
    manifest = (folder / "manifest.json").read_bytes()
    archive = crafted(tmp_path / "a.tar.gz", [("../manifest.json", manifest)])
    with pytest.raises(UserError, match="does not begin with a manifest"):
        unpack(archive, tmp_path / "other")


def test_a_member_that_is_another_is_refused(folder, tmp_path):
    manifest = (folder / "manifest.json").read_bytes()
    members = [("demo/manifest.json", manifest), ("demo/tables/systems.csv", b"1,3\n")]
    with pytest.raises(UserError, match="is not the file of its manifest"):
        unpack(crafted(tmp_path / "a.tar.gz", members), tmp_path / "other")
    assert list((tmp_path / "other").iterdir()) == []


def test_a_damaged_archive_is_refused(folder, tmp_path):
    archive = tmp_path / "a.tar.gz"
    pack(folder, archive, [])
    whole = archive.read_bytes()
    for content in (whole[: len(whole) // 2], b"no archive", b"", gzip.compress(b"no tar")):
        archive.write_bytes(content)
        with pytest.raises(UserError, match=r"a\.tar\.gz"):
            unpack(archive, tmp_path / "other")
    with pytest.raises(UserError, match="is not there"):
        unpack(tmp_path / "none.tar.gz", tmp_path / "other")


def test_every_byte_of_a_manifest_counts(folder):
    path = folder / "manifest.json"
    whole = path.read_bytes()
    for index in range(0, len(whole), 7):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :])
        with pytest.raises(UserError, match=r"manifest\.json"):
            read_manifest(path)
