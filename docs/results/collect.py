"""Collect what tables and figures read of runs into a few compressed files.

OUTPUT gets runs.jsonl.gz, a line for each run with its JSON files (settings, scores, costs) and its
metrics, in six digits; and CORPUS.tar.xz for some, the translations of rows as declared, without
those whose names have overrides. What it has of other runs stays. typeset.py and plot.py read it as
they read the folder of runs itself.
"""

import argparse
import gzip
import io
import json
import tarfile
from pathlib import Path
from typing import Any

from nmt import command
from nmt.files import atomic_write, read_json, read_lines
from nmt.paper.results import COLLECTED
from nmt.training.metrics import read_metrics

# Attention has files of its own size, and is drawn where the models are.
FILES = ("training.json", "*.perplexity.json", "*.scores.json")
# What figures and tables read of a line of metrics
CURVES = (
    *("update", "target_tokens", "seconds", "flops", "mfu", "learning_rate"),
    *("nll", "dev_perplexity", "dev_bleu", "training_bleu"),
)


def main(args: argparse.Namespace) -> None:
    """Write all files."""
    path = args.output / COLLECTED
    known = map(json.loads, read_lines(path)) if path.exists() else []
    runs = {line["run"]: line["files"] for line in known}
    for folder in args.runs.glob("*/*/*"):
        if (folder / "training.json").exists() or list(folder.glob("*.scores.json")):
            runs[folder.relative_to(args.runs).as_posix()] = files_of(folder)
    lines = (
        json.dumps({"run": run, "files": files}, ensure_ascii=False, separators=(",", ":")) + "\n"
        for run, files in sorted(runs.items())
    )
    with atomic_write(path) as temporary:
        temporary.write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    for corpus in args.archives or ():
        folder = args.runs / corpus
        names = {path.relative_to(folder).as_posix(): path for path in folder.glob("*/*/*.txt")}
        declared = {name: path for name, path in names.items() if "+" not in name}
        write_archive(args.output / f"{corpus}.tar.xz", declared)


def files_of(folder: Path) -> dict[str, Any]:
    """Return the JSON files of a run, and the lines of its metrics, by name."""
    paths = sorted(path for pattern in FILES for path in folder.glob(pattern))
    files: dict[str, Any] = {path.name: read_json(path) for path in paths}
    lines = read_metrics(folder / "metrics.jsonl")
    if lines:
        files["metrics.jsonl"] = [
            {key: rounded(line[key]) for key in CURVES if line.get(key) is not None}
            for line in lines
        ]
    return files


def rounded(value: float) -> float:
    """Return a number with six digits, a whole one as it is."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def write_archive(path: Path, files: dict[str, Path]) -> None:
    """Add files to an archive by their names in it, the same whenever and by whomever."""
    texts = {}
    if path.exists():
        with tarfile.open(path) as tar:
            texts = {member.name: tar.extractfile(member).read() for member in tar}
    texts |= {name: file.read_bytes() for name, file in files.items()}
    with atomic_write(path) as temporary, tarfile.open(temporary, "w:xz") as tar:
        for name, text in sorted(texts.items()):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_runs(parser)
    command.require(parser, "FOLDER", output="of the compressed files")
    command.require(parser, "CORPUS", "*", archives="whose translations are kept")
    command.run(main, parser)
