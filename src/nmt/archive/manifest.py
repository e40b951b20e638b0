"""manifest.json: what every number and figure rests on, down to the bytes of each file."""

import csv
import hashlib
import json
import os
import platform
from importlib.metadata import distributions
from pathlib import Path

import torch

from nmt import provenance
from nmt.archive.chain import Chain
from nmt.configuration import present_spelling
from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS
from nmt.files import read_json, sha256, write_text
from nmt.records import is_inside

SIGNED = "sha256_of_the_rest"


def make_manifest(chain: Chain) -> dict:
    """Return the manifest of a reproduction whose tables, figures and pages have been made."""
    files = {
        name: file_entry(chain.results / name) | {"from": chain.made_from(name)}
        for name in chain.files()
    }
    tables = [name for name in files if "/tables/" in name and name.endswith(".csv")]
    figures = sorted({Path(name).stem for name in files if "/figures/" in name})
    own = chain.reproduction.name
    return {
        "reproduction": own,
        "configuration": json.loads(chain.reproduction.model_dump_json(exclude={"mirror"})),
        "made_in": environment(),
        "runs": {folder: run_entry(chain.results / folder) for folder in trained_runs(chain)},
        "wall_seconds": wall_seconds(chain),
        "cells": {name: cells(chain, name) for name in tables},
        "figures": {
            figure: [name for name in files if name.startswith(f"{own}/figures/{figure}.")]
            for figure in figures
        },
        "files": files,
    }


def file_entry(path: Path) -> dict:
    """Return the size and the checksum of a file."""
    return {"bytes": path.stat().st_size, "sha256": sha256(path)}


def trained_runs(chain: Chain) -> list[str]:
    """Return the folders of runs that have been trained."""
    folders = chain.all_run_folders()
    return [name for name in folders if (chain.results / name / "training.json").exists()]


def run_entry(folder: Path) -> dict:
    """Return the configuration, seed, origin and cost of a training."""
    training = present_spelling(read_json(folder / "training.json"))
    calls = [
        call | {"clean": None if call["commit"] == "unknown" else "+" not in call["commit"]}
        for call in training["made_by"]
    ]
    return {
        "seed": training["settings"]["seed"],
        "settings": training["settings"],
        "made_by": calls,
        "seconds": training["seconds"],
        "device_seconds": training["device_seconds"],
    }


def environment() -> dict:
    """Return commit, packages and hardware of the machine that makes the manifest."""
    commit = provenance.commit()
    packages = {item.metadata["Name"]: item.version for item in distributions()}
    gpus = range(torch.cuda.device_count())
    return {
        "commit": commit,
        "clean": None if commit == "unknown" else not commit.endswith("+"),
        "python": platform.python_version(),
        "packages": dict(sorted(packages.items(), key=lambda item: item[0].lower())),
        "platform": platform.platform(),
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "gpus": [torch.cuda.get_device_name(number) for number in gpus],
    }


def cpu_name() -> str:
    """Return the name of the processor, as Linux has it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def wall_seconds(chain: Chain) -> dict[str, float]:
    """Return the time that each step took, by its file in results/benchmarks."""
    benchmarks = chain.results / "benchmarks"
    seconds = {}
    for folder in dict.fromkeys([chain.reproduction.corpus, chain.reproduction.name]):
        for path in sorted((benchmarks / folder).rglob("*.tsv")):
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.DictReader(file, delimiter="\t"))
            name = path.relative_to(benchmarks).with_suffix("").as_posix()
            seconds[name] = sum(float(row["s"]) for row in rows)
    return seconds


def cells(chain: Chain, name: str) -> list[dict]:
    """Return each number of a table with the files that it was computed from.

    Rows that are only cited rest on no file.
    """
    table = Path(name).stem
    if table not in chain.reproduction.tables:
        return []
    split = chain.reproduction.tables[table].split
    entries = []
    with open(chain.results / name, encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row.get("experiment")]
    for row in rows:
        folders = chain.run_folders(row["experiment"])
        trained = chain.trained_folders(row["experiment"])
        for column, text in row.items():
            if column == "perplexity":
                sources = [f"{folder}/dev.perplexity.json" for folder in folders]
            elif column in METRICS:
                sources = [f"{folder}/{split}.scores.json" for folder in folders]
            elif column in ("parameters_millions", "flops_6nd", "minutes_per_seed"):
                sources = [f"{folder}/training.json" for folder in trained]
            else:
                continue
            if text:
                cell = {"row": row["experiment"], "column": column, "value": float(text)}
                entries.append(cell | {"from": sources})
    return entries


def as_text(manifest: dict) -> str:
    """Return the manifest's file, with a checksum of its own."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return json.dumps({SIGNED: digest} | manifest, indent=1, ensure_ascii=False) + "\n"


def write_manifest(path: Path, manifest: dict) -> None:
    """Write the file."""
    write_text(path, as_text(manifest))


def read_manifest(path: Path) -> dict:
    """Return a manifest.

    Raises UserError when any byte of it was changed, or it names a file of another reproduction, or
    outside the results.
    """
    manifest = read_json(path)
    if SIGNED not in manifest or "files" not in manifest:
        raise UserError(f"{path} is no manifest: make it again with snakemake.")
    del manifest[SIGNED]
    if path.read_bytes() != as_text(manifest).encode():
        raise UserError(
            f"{path} was changed after it was written: bring it back, or make it again with"
            " snakemake."
        )
    own, corpus = manifest["reproduction"], manifest["configuration"]["corpus"]
    folders = (f"{own}/", f"corpora/{corpus}/", f"runs/{corpus}/")
    for name in [f"{own}/", *manifest["files"]]:
        if not is_inside(name) or not name.startswith(folders):
            raise UserError(f"{path} names {name!r}, which is no file of this reproduction.")
    return manifest
