"""Time, memory and disk of the steps from archives to tokens, and of other programs' like steps."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import yaml

from nmt.benchmarks.synthetic_text import PAIRS_PER_MARKER
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.errors import UserError
from nmt.provenance import REPOSITORY
from nmt.text.subwords import Segmenter, SubwordPair

LANGUAGES = ("en", "de")
VOCABULARY = "made-bpe"
SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds, and megabytes of memory at most, over all its processes."""

    seconds: float
    megabytes: float


def measured(command: str | list[str], folder: Path) -> Cost:
    """Run a command, a list or a line for the shell, and return its cost.

    Raises UserError when the command fails.
    """
    line = command if isinstance(command, str) else shlex.join(command)
    began = time.monotonic()
    with subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,  # so that nothing of the line outlives an interrupted benchmark
    ) as process:
        errors: list[str] = []
        assert process.stderr is not None
        reader = threading.Thread(
            target=lambda pipe: errors.append(pipe.read()), args=[process.stderr]
        )
        reader.start()
        most = 0.0
        try:
            while process.poll() is None:
                most = max(most, megabytes_of(process.pid))
                time.sleep(SECONDS_BETWEEN_LOOKS)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            reader.join()
    seconds = time.monotonic() - began
    if process.returncode:
        raise UserError(f"{line} failed: {errors[0].strip()[-500:]}")
    return Cost(seconds, most)


def megabytes_of(pid: int) -> float:
    """Return the memory of a process and all its descendants, as Linux tells it.

    Of pages that processes share each has its share. Processes that have ended count nothing.
    """
    folder = Path("/proc", str(pid))
    try:
        proportional = re.search(
            r"^Pss: +(\d+)", (folder / "smaps_rollup").read_text(), re.MULTILINE
        )
        children = [path.read_text().split() for path in folder.glob("task/*/children")]
    except OSError:
        return 0.0
    kilobytes = int(proportional[1]) if proportional else 0
    return kilobytes * 1024 / 1e6 + sum(megabytes_of(int(i)) for ids in children for i in ids)


def write_catalog(folder: Path, size: int) -> Path:
    """Write the configuration of the made corpus and its vocabulary, and return its folder."""
    catalog = folder / "catalog"
    (catalog / "experiments").mkdir(parents=True, exist_ok=True)
    part = {
        side: f"made.tgz:text.{name}"
        for side, name in zip(("source", "target"), LANGUAGES, strict=True)
    }
    corpus = {
        "title": "Made text",
        "source": LANGUAGES[0],
        "target": LANGUAGES[1],
        "license": "none",
        "archives": {"made.tgz": {"addresses": ["http://127.0.0.1/"], "mirror": "made.tgz"}},
        "splits": {"train": [part], "dev": [part]},
        "cleaning": {"max_length": 250, "max_ratio": 1.5},
    }
    for name, value in {
        "corpora": {"made": corpus},
        "experiments/rows": {"vocabularies": {VOCABULARY: {"size": size}}},
        "published": [],
    }.items():
        (catalog / f"{name}.yaml").write_text(yaml.safe_dump(value), encoding="utf-8")
    return catalog


def our_steps(folder: Path, size: int, jobs: int) -> dict[str, list[str]]:
    """Return this project's commands by step, in order."""
    catalog = write_catalog(folder, size)
    raw = [folder / f"raw.{language}" for language in LANGUAGES]
    text = [folder / f"text.{language}" for language in LANGUAGES]
    sides = ["--source", text[0], "--target", text[1], "--jobs", jobs]
    steps = {
        "extract": [
            "--corpus",
            "made",
            "--split",
            "train",
            "--archives",
            folder,
            "--source",
            raw[0],
            "--target",
            raw[1],
        ],
        **{
            f"normalize {language}": [
                "--language",
                language,
                "--steps",
                "normalize",
                "--input",
                raw[i],
                "--output",
                text[i],
                "--jobs",
                jobs,
            ]
            for i, language in enumerate(LANGUAGES)
        },
        "learn_vocabulary": ["--vocabulary", VOCABULARY, *sides, "--output", folder / "subwords"],
        "binarize": [
            "--corpus",
            "made",
            "--vocabulary",
            VOCABULARY,
            "--split",
            "train",
            "--subwords",
            folder / "subwords",
            *sides,
            "--output",
            folder / "tokens",
        ],
    }
    needs_none = ("normalize en", "normalize de")
    return {
        step: [
            sys.executable,
            str(REPOSITORY / "src" / f"{step.split()[0]}.py"),
            *([] if step in needs_none else ["--catalog", str(catalog)]),
            *map(str, arguments),
        ]
        for step, arguments in steps.items()
    }


OUTPUTS = {
    "extract": ["raw.en", "raw.de"],
    "normalize en": ["text.en"],
    "normalize de": ["text.de"],
    "learn_vocabulary": ["subwords"],
    "binarize": ["tokens"],
}


def measured_beginning(tokens: Path, rounds: int) -> dict[str, list[Cost]]:
    """Return what each step costs with which a training begins, in processes of their own."""
    costs: dict[str, list[Cost]] = {}
    command = [sys.executable, "-m", "nmt.benchmarks.measure_tokens", "--tokens", str(tokens)]
    for _ in range(rounds):
        process = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        for step, cost in json.loads(process.stdout).items():
            costs.setdefault(step, []).append(Cost(**cost))
    return costs


def megabytes_on_disk(paths: list[Path]) -> float:
    """Return the size of files and of all files in folders."""
    files = [file for path in paths for file in (path.rglob("*") if path.is_dir() else [path])]
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


def markers_together(folder: Path, pairs: int) -> tuple[int, int]:
    """Return how many marked pairs are in the tokens, and how many there were.

    Raises UserError when a marker is in one side alone, or in another place of the other side.
    """
    subwords = SubwordPair.load(folder / "subwords")
    tokens = ParallelTokens.load(folder / "tokens")
    source = markers(tokens.source, subwords.source)
    target = markers(tokens.target, subwords.target)
    if source != target:
        raise UserError(f"{folder}/tokens: markers of source and target are not together.")
    return len(source), -(-pairs // PAIRS_PER_MARKER)


def markers(side: Ragged, subwords: Segmenter) -> dict[int, str]:
    """Return the numbers in a side's sentences, by sentence."""
    pieces = subwords.pieces(list(range(subwords.size)))
    with_digits = [i for i, piece in enumerate(pieces) if re.search(r"\d", piece)]
    mask = np.zeros(subwords.size, bool)
    mask[with_digits] = True
    numbers: dict[int, str] = {}
    for start in range(0, len(side.tokens), 2**24):
        places = np.flatnonzero(mask[side.tokens[start : start + 2**24]]) + start
        sentences = np.unique(np.searchsorted(side.offsets, places, side="right") - 1)
        for sentence in sentences.tolist():
            numbers[sentence] = "".join(
                re.findall(r"\d+", subwords.decode(side[sentence].tolist()))
            )
    return numbers
