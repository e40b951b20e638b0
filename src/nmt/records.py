"""The record of what a workflow made, by which a copy of its results is recognized.

Snakemake repeats a step when an input is newer than an output, or when its own records in
.snakemake/metadata tell of other parameters or inputs. A copy of results may have neither times nor
records. So results/record.json holds both, with a checksum of each file. The Snakefile calls
`adopt` first, which gives them back to whatever is what it was, and Snakemake decides as it would
have done where the results were made.

All paths are relative to the folder that Snakemake works in.
"""

import json
import os
from base64 import urlsafe_b64decode
from pathlib import Path, PurePosixPath

from nmt.errors import UserError
from nmt.files import read_json, sha256, write_json, write_text
from nmt.progress import progress

RECORD = Path("results/record.json")
METADATA = Path(".snakemake/metadata")
LOCKS = Path(".snakemake/locks")  # which has files while Snakemake is running
BENCHMARKS = Path("results/benchmarks")
HOW = "run src/record.py where the results were made, and copy it"


def is_inside(name: str) -> bool:
    """Return whether a path, joined to a folder, stays inside it."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def record() -> None:
    """Write the record of all that Snakemake has made here, and of what it was made from.

    Files whose size and time are as recorded are not read again. What has no record of Snakemake
    here stays as it is recorded: it is a copy that was not adopted.
    """
    entries = read_record() if RECORD.exists() else {}
    made = {output_of(path): path for path in METADATA.rglob("*") if path.is_file()}
    sources: dict[str, None] = {}
    for output, path in progress(made.items(), "record", len(made), "outputs"):
        if not Path(output).exists():
            continue
        content = read_json(path)
        entries[output] = {
            "metadata": [str(path.relative_to(METADATA)), content],
            "files": described(Path(output), entries.get(output)),
        }
        sources.update(dict.fromkeys(content.get("input") or []))
    for source in sources:
        if source not in made and is_inside(source) and Path(source).is_file():
            files = described(Path(source), entries.get(source))
            # Its time is the first at which it was seen: a copy of it may be newer.
            if source not in entries or digests(entries[source]["files"]) != digests(files):
                entries[source] = {"metadata": None, "files": files}
    if entries:
        write_json(RECORD, entries)


def adopt() -> tuple[list[str], list[str]]:
    """Give times and Snakemake's records back to whatever is as recorded.

    Returns the outputs that were adopted, and the files that are not as recorded. Where results are
    as they were made, only times are compared. What Snakemake has made since is left alone, and so
    is all while it is running. Raises UserError when the record is damaged.
    """
    if not RECORD.exists() or any(LOCKS.glob("*")):
        return [], []
    entries = read_record()
    copied = {name: entry for name, entry in entries.items() if is_copy(Path(name), entry)}
    times = [time for entry in entries.values() for _, time, _ in entry["files"].values()]
    adopted = []
    changed = []
    for name, entry in progress(copied.items(), "adopt", len(copied), "outputs"):
        files = entry["files"]
        present = described(Path(name), None)
        differing = [file for file in files if present.get(file, [""])[-1] != files[file][-1]]
        for file, (_, time, _) in files.items():
            if not differing:
                os.utime(file, ns=(time, time))
        for file in present if differing else ():
            if os.stat(file).st_mtime_ns <= max(times):  # What was made from it is older than it.
                os.utime(file)
        changed += differing
        if entry["metadata"]:
            path, content = entry["metadata"]
            write_text(METADATA / path, json.dumps(content))
            adopted += [] if differing else [name]
    # To Snakemake an output is as old as the older of itself and the job's benchmark.
    for benchmark in BENCHMARKS.rglob("*.tsv") if copied else ():
        benchmark.touch()
    return adopted, changed


def is_copy(path: Path, entry: dict) -> bool:
    """Return whether a recorded file or folder has other times, or is unknown to Snakemake.

    Of what Snakemake has made since, its own record is another.
    """
    if not path.exists():
        return False
    if entry["metadata"]:
        name, content = entry["metadata"]
        if not (METADATA / name).exists():
            return True
        if read_json(METADATA / name) != content:
            return False
    recorded = {file: [size, time] for file, (size, time, _) in entry["files"].items()}
    return recorded != {
        str(file): [file.stat().st_size, file.stat().st_mtime_ns] for file in files_of(path)
    }


def read_record() -> dict:
    """Return the entries of the record; raises UserError when it is damaged."""
    remedy = f"delete it, {HOW}"
    entries = read_json(RECORD, remedy=remedy)
    for entry in entries.values():
        if not isinstance(entry, dict) or not {"metadata", "files"} <= entry.keys():
            raise UserError(f"{RECORD} is damaged: {remedy}.")
        for name in [*(entry["metadata"] or [])[:1], *entry["files"]]:
            if not is_inside(name):
                raise UserError(f"{RECORD} names {name!r}, which is outside this folder: {remedy}.")
    return entries


def output_of(path: Path) -> str:
    """Return the output whose record a file of Snakemake is: its name in base64 is the path.

    Long names are divided into folders that begin with @.
    """
    parts = [part.removeprefix("@") for part in path.relative_to(METADATA).parts]
    return urlsafe_b64decode("".join(parts)).decode()


def described(path: Path, entry: dict | None) -> dict[str, list]:
    """Return size, time and SHA-256 of a file, or of each file in a folder, by their paths.

    entry: what is recorded of it; files of the same size and time are not read again.
    """
    known = entry["files"] if entry else {}
    files = {}
    for file in files_of(path):
        status = file.stat()
        size, time, digest = known.get(str(file), [None, None, None])
        if (size, time) != (status.st_size, status.st_mtime_ns):
            digest = sha256(file)
        files[str(file)] = [status.st_size, status.st_mtime_ns, digest]
    return files


def files_of(path: Path) -> list[Path]:
    """Return a file alone, or all files in a folder: none of one that is empty."""
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def digests(files: dict[str, list]) -> dict[str, str]:
    """Return the SHA-256 of each file."""
    return {file: digest for file, (_, _, digest) in files.items()}
