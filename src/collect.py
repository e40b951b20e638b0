"""Collect what tables and figures read of runs into a few compressed files.

OUTPUT gets runs.jsonl.gz, a line for each run with its JSON files: settings, scores, costs;
curves.jsonl.gz, a line for each line of its metrics, in six digits; and CORPUS.tar.xz, the
translations of rows as declared, without those whose names have overrides.
typeset.py and plot.py read OUTPUT as they read the folder of runs itself.
"""

import argparse
import gzip
import io
import json
import lzma
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmt import command
from nmt.files import atomic_write, read_json
from nmt.paper.results import COLLECTED_CURVES, COLLECTED_RUNS
from nmt.training.metrics import read_metrics

# Attention has files of its own size, and is drawn where the models are.
FILES = ("training.json", "*.perplexity.json", "*.scores.json", "*.sweep.json", "gradients.json")
# What figures and tables read of a line of metrics
CURVES = (
    *("update", "target_tokens", "seconds", "flops", "mfu", "learning_rate", "gradient_norm"),
    *("nll", "dev_perplexity", "dev_bleu"),
)


def main(args: argparse.Namespace) -> None:
    """Write all files."""
    folders = sorted(path for path in args.runs.glob("*/*/*") if path.is_dir())
    runs = {folder.relative_to(args.runs).as_posix(): folder for folder in folders}
    for name, lines in ((COLLECTED_RUNS, run_lines(runs)), (COLLECTED_CURVES, curve_lines(runs))):
        write_bytes(args.output / name, gzip.compress(json_lines(lines), mtime=0))
    for corpus in sorted(path for path in args.runs.iterdir() if path.is_dir()):
        paths = sorted(corpus.glob("*/*/*.translations.txt"))
        names = {path.relative_to(corpus).as_posix(): path for path in paths}
        declared = {name: path for name, path in names.items() if "+" not in name}
        if declared:
            write_bytes(args.output / f"{corpus.name}.tar.xz", lzma.compress(archive(declared)))


def run_lines(runs: dict[str, Path]) -> Iterator[dict]:
    """Yield the JSON files of each run that has some."""
    for run, folder in runs.items():
        paths = sorted(path for pattern in FILES for path in folder.glob(pattern))
        if paths:
            yield {"run": run, "files": {path.name: read_json(path) for path in paths}}


def curve_lines(runs: dict[str, Path]) -> Iterator[dict]:
    """Yield the lines of the metrics of each run."""
    for run, folder in runs.items():
        for line in read_metrics(folder / "metrics.jsonl"):
            numbers = {key: line[key] for key in CURVES if line.get(key) is not None}
            yield {"run": run, **{key: rounded(value) for key, value in numbers.items()}}


def rounded(value: float) -> float:
    """Return a number with six digits, a whole one as it is."""
    return value if isinstance(value, int) else float(f"{value:.6g}")


def json_lines(values: Iterable[dict]) -> bytes:
    """Return JSON, a value on each line."""
    lines = [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]
    return "".join(f"{line}\n" for line in lines).encode()


def archive(paths: dict[str, Path]) -> bytes:
    """Return a tar archive of the files, by their names in it."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, path in paths.items():
            member = tarfile.TarInfo(name)
            member.size = path.stat().st_size
            tar.addfile(member, io.BytesIO(path.read_bytes()))
    return content.getvalue()


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(content)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_runs(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    command.run(main, parser)
