"""A reproduction in one archive, and what can be taken from it."""

import gzip
import os
import re
import shutil
import tarfile
import time
import zlib
from pathlib import Path

from nmt.archive.manifest import read_manifest
from nmt.errors import UserError, nearest
from nmt.files import atomic_write, read_json, sha256, temporary_folder
from nmt.records import is_inside

# What an archive has only when it is asked for, by where it is
PARTS = {
    "checkpoints": re.compile(r"runs/[^/]+/[^/]+/[^/]+/checkpoints/"),
    "models": re.compile(r"runs/[^/]+/[^/]+/[^/]+/model/"),
    "corpora": re.compile(r"corpora/"),
}
MANIFEST = "manifest.json"


def part_of(name: str, manifest: dict) -> str | None:
    """Return the part of PARTS that a file belongs to.

    None is for all that tables, figures and pages are made from, which an archive always has: the
    text of the splits that a table shows is among it, the lengths of training sentences, and how
    many pairs were dropped.
    """
    if re.fullmatch(r"corpora/[^/]+/[^/]+/tokens/[^/]+/(meta\.json|\w+_offsets\.npy)", name):
        return None
    if re.fullmatch(r"corpora/[^/]+/clean/train\.json", name):
        return None
    tables = manifest["configuration"]["tables"].values()
    splits = "|".join(re.escape(table["split"]) for table in tables)
    if re.fullmatch(rf"corpora/[^/]+/raw/({splits})\.[^/.]+", name):
        return None
    return next((part for part, pattern in PARTS.items() if pattern.match(name)), None)


def may_be_left_out(name: str, manifest: dict) -> bool:
    """Return whether an archive may lack the file."""
    return part_of(name, manifest) is not None


def pack(folder: Path, output: Path, parts: list[str]) -> int:
    """Write a reproduction's files as a .tar.gz, the same bytes each time; return their number.

    folder: that of tables and figures. Raises UserError for files that are not those of the
    manifest.
    """
    manifest = read_manifest(folder / MANIFEST)
    results = folder.resolve().parent
    names = [
        name
        for name in manifest["files"]
        if (part := part_of(name, manifest)) is None or part in parts
    ]
    for name in names:
        path = results / name
        if not path.is_file() or sha256(path) != manifest["files"][name]["sha256"]:
            raise UserError(
                f"{path} is not the file of {folder / MANIFEST}: let snakemake make both again."
            )
    own = f"{manifest['reproduction']}/{MANIFEST}"
    with (
        atomic_write(output) as temporary,
        open(temporary, "wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in [own, *sorted(names)]:
            add(archive, name, results / name)
    return len(names) + 1


def add(archive: tarfile.TarFile, name: str, path: Path) -> None:
    """Add a file without time and owner, which differ from machine to machine."""
    member = tarfile.TarInfo(name)
    member.size = path.stat().st_size
    member.mode = 0o644
    with open(path, "rb") as file:
        archive.addfile(member, file)


def unpack(archive: Path, results: Path, run: str | None = None) -> list[str]:
    """Take all files of an archive, or those of one training; return their names.

    run: EXPERIMENT/seed-SEED. Nothing is written unless every file is that of the manifest, and
    none that is there already is another.
    """
    try:
        with tarfile.open(archive, "r:gz") as opened:
            return unpack_opened(opened, archive, results, run)
    except FileNotFoundError:
        raise UserError(f"{archive} is not there.") from None
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise UserError(f"{archive} is damaged or no archive of pack.py ({error}).") from None


def unpack_opened(
    opened: tarfile.TarFile, archive: Path, results: Path, run: str | None
) -> list[str]:
    """Take files of an open archive, as `unpack` does."""
    members = iter(opened)
    first = next(members, None)
    begins = first is not None and re.fullmatch(rf"[\w.+,=-]+/{MANIFEST}", first.name)
    if first is None or not begins or not is_inside(first.name):
        raise UserError(f"{archive} is no archive of pack.py: it does not begin with a manifest.")
    results.mkdir(parents=True, exist_ok=True)
    with temporary_folder(results, "unpacked") as folder:
        copy(opened, first, folder)
        manifest = read_manifest(folder / first.name)
        names = [first.name]
        for member in members:
            if member.name not in manifest["files"] or not member.isreg():
                raise UserError(f"{archive}: {member.name!r} is not in its manifest.")
            copy(opened, member, folder)
            if sha256(folder / member.name) != manifest["files"][member.name]["sha256"]:
                raise UserError(f"{archive}: {member.name} is not the file of its manifest.")
            names.append(member.name)
        if run is not None:
            names = training_files(names, run, archive, manifest)
            require_same_data(names[-1], manifest, folder, results)
        move(names, folder, results)
    return names


def copy(opened: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """Write a member's bytes below the folder; its name is checked before."""
    content = opened.extractfile(member)
    if content is None:
        raise UserError(f"{member.name} is no file: this is no archive of pack.py.")
    path = folder / member.name
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        shutil.copyfileobj(content, file)


def training_files(names: list[str], run: str, archive: Path, manifest: dict) -> list[str]:
    """Return the files that a training leaves, training.json last."""
    folder = f"runs/{manifest['configuration']['corpus']}/{run}/"
    if folder.rstrip("/") not in manifest["runs"]:
        runs = [name.split("/", 2)[2] for name in manifest["runs"]]
        raise UserError(f"{archive} has no training {run!r}: {nearest(run, runs)}")
    first_source = manifest["files"][f"{folder}training.json"]["from"][0]
    if first_source.endswith("/training.json"):
        shared = first_source.split("/", 2)[2].removesuffix("/training.json")
        raise UserError(f"{run} takes the training of {shared}: unpack that one.")
    checkpoints = [name for name in names if name.startswith(f"{folder}checkpoints/")]
    if not checkpoints:
        raise UserError(
            f"{archive} was packed without checkpoints, which a training consists of: pack it"
            " --with checkpoints."
        )
    return [*checkpoints, f"{folder}metrics.jsonl", f"{folder}training.json"]


def require_same_data(training: str, manifest: dict, folder: Path, results: Path) -> None:
    """Raise UserError unless the data here is what the training has seen.

    The data has to be here before the training is: Snakemake would train again after newer data.
    """
    settings = read_json(folder / training)["settings"]
    tokens, dev = manifest["files"][training]["from"][:2]
    for key, place in (("tokens", tokens), ("dev", dev)):
        meta = results / place / "meta.json"
        if not meta.exists():
            raise UserError(
                f"{meta} is not there: prepare the data first with `snakemake --until binarize`."
            )
        if read_json(meta)["fingerprint"] != settings.get(key):
            raise UserError(f"{results / place} is other data than {training} was trained on.")


def move(names: list[str], folder: Path, results: Path) -> None:
    """Give all files their places, and them and their folders one time.

    Raises UserError, before the first is moved, when another file is in a place.
    """
    for name in names:
        place = results / name
        if place.exists() and sha256(place) != sha256(folder / name):
            raise UserError(f"{place} is there already, and another: move it away first.")
    now = time.time()
    for name in names:
        place = results / name
        place.parent.mkdir(parents=True, exist_ok=True)
        os.utime(folder / name, (now, now))
        (folder / name).replace(place)
    # To Snakemake a folder that is an output is as old as itself.
    for place in {(results / name).parent for name in names}:
        os.utime(place, (now, now))
