"""Training programs of this project and of other toolkits on the same subwords.

Every program trains the same Transformer for one epoch, with its own loading, batches, optimizer
and logging. Other toolkits read each subword as a word, so that all have one vocabulary.
"""

import importlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nmt.benchmarks.peers import comparable_model
from nmt.benchmarks.worker import SOURCE
from nmt.configuration import Experiment, Transformer
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens, write_tokens
from nmt.environment import SETTINGS
from nmt.errors import UserError
from nmt.files import read_lines, write_lines
from nmt.provenance import REPOSITORY
from nmt.text.subwords import SubwordPair

SIDES = ("source", "target")
SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")  # in the order of their ids
# Parts: the dev set, which some programs must have; few pairs, whose time is subtracted; and all
DEV, FEW, ALL = "dev", "few", "all"
DEV_PAIRS = 100


@dataclass(frozen=True)
class Part:
    """The first pairs of a parallel text, in the files NAME.text, NAME.words and NAME.tokens.

    The first two are followed by the side. updates: of an epoch here. target_tokens: in an epoch,
    EOS counted.
    """

    name: str
    pairs: int
    updates: int
    target_tokens: int


@dataclass(frozen=True)
class Comparison:
    """The experiment that all programs train, and on what.

    python: the Python that has the other toolkits. folder: where the parts are, and where programs
    run.
    """

    catalog: Path
    name: str
    experiment: Experiment
    corpus: str
    subwords: Path
    vocabulary_size: int
    threads: int
    python: str
    folder: Path

    @property
    def model(self) -> Transformer:
        """Return the configuration of the model; raises UserError where toolkits lack it."""
        return comparable_model(self.experiment.model, self.name)

    def run(self, module: str) -> str:
        """Return how the shell runs a module of another toolkit, up to its first argument."""
        return f"{shlex.quote(self.python)} -m {module}"

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a file of the folder."""
        write_lines(self.folder / name, lines)


def of_whole_epoch(part: Part) -> int:
    """Return the target tokens of a program that learns from every pair once."""
    return part.target_tokens


@dataclass(frozen=True)
class Program:
    """What trains for an epoch of a part.

    command: for the shell, in the folder. prepare: what is done once before it, and not measured.
    target_tokens: from how many it learns, EOS counted.
    """

    command: Callable[[Part], str]
    prepare: Callable[[Part], None] = lambda part: None
    target_tokens: Callable[[Part], int] = of_whole_epoch


def programs(names: Iterable[str], comparison: Comparison) -> dict[str, Program]:
    """Return programs by name: `this`, `this-bfloat16`, or a toolkit.

    Raises UserError for an experiment that the toolkits do not train.
    """
    training = comparison.experiment.training
    required = {"precision": "float32", "optimizer": "adam", "micro_batches": 1}
    for key, value in required.items():
        if getattr(training, key) != value:
            raise UserError(
                f"other toolkits train with {key} {value}, but {comparison.name} has"
                f" {getattr(training, key)}."
            )
    assert comparison.model
    ours = {"this": "", "this-bfloat16": "+precision-bfloat16"}
    return {
        name: this_project(comparison, ours[name])
        if name in ours
        else importlib.import_module(f"nmt.benchmarks.peers.{name}").program(comparison)
        for name in names
    }


def this_project(comparison: Comparison, overrides: str) -> Program:
    """Return train.py; like other programs, it neither measures nor saves before the end."""

    def command(part: Part) -> str:
        ends = f"+interval-{part.updates}+bleu_interval-0"
        arguments = {
            "catalog": comparison.catalog,
            "experiment": f"{comparison.name}{overrides}+updates-{part.updates}{ends}",
            "corpus": comparison.corpus,
            "tokens": f"{part.name}.tokens",
            "dev-tokens": f"{DEV}.tokens",
            "dev-reference": f"{DEV}.text.target",
            "subwords": comparison.subwords,
            "output": "out.this",
            "threads": comparison.threads,
        }
        options = [f"--{key}={value}" for key, value in arguments.items()]
        train = [sys.executable, str(REPOSITORY / "src" / "train.py"), *options]
        return f"rm -rf out.this && {shlex.join(train)}"

    return Program(command)


def write_part(comparison: Comparison, name: str, texts: tuple[Path, Path], pairs: int) -> Part:
    """Write the first pairs of a parallel text.

    Raises UserError when the text has fewer.
    """
    source, target = (comparison.folder / f"{name}.text.{side}" for side in SIDES)
    for path, file in zip(texts, (source, target), strict=True):
        lines = list(islice(read_lines(path), pairs))
        if len(lines) < pairs:
            raise UserError(f"{path} has only {len(lines)} lines: lower --pairs.")
        write_lines(file, lines)
    folder = comparison.folder / f"{name}.tokens"
    write_tokens(folder, SubwordPair.load(comparison.subwords), source, target, None, jobs=1)
    tokens = ParallelTokens.load(folder)
    for side, ragged in zip(SIDES, (tokens.source, tokens.target), strict=True):
        words = (" ".join(f"w{token}" for token in ragged[i].tolist()) for i in range(pairs))
        comparison.write(f"{name}.words.{side}", words)
    batches = Batches.for_training(tokens, comparison.experiment.training, seed=1)
    return Part(name, pairs, len(batches.epoch(1)), int(batches.target_lengths.sum()))


def write_vocabulary(comparison: Comparison) -> None:
    """Write the words of all subwords: one a line, with counts, and with their ids."""
    ids = range(len(SPECIAL_TOKENS), comparison.vocabulary_size)
    words = [f"w{token}" for token in ids]
    comparison.write("words", words)
    comparison.write("words.counts", (f"{word} 1" for word in words))
    by_word = {word: token for token, word in enumerate([*SPECIAL_TOKENS, *words])}
    comparison.write("words.json", [json.dumps(by_word)])


def seconds(command: str, comparison: Comparison) -> float:
    """Return the time of a command in the shell, with the same environment for all programs.

    Raises UserError when it fails.
    """
    environment = SETTINGS | os.environ
    environment |= {"OMP_NUM_THREADS": str(comparison.threads), "PYTHONPATH": str(SOURCE)}
    with tempfile.TemporaryFile() as output:
        start = time.perf_counter()
        process = subprocess.run(
            ["bash", "-c", command],
            cwd=comparison.folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
        end = time.perf_counter()
        if process.returncode:
            output.seek(0)
            last = output.read().decode(errors="replace").strip()[-500:]
            raise UserError(f"{command} failed: {last}")
    return end - start


def measure(program: Program, comparison: Comparison, few: Part, every: Part) -> dict[str, float]:
    """Train on a few pairs and on all, and return the speed of what all have more.

    So neither starting and ending nor the first updates count, which are slower.
    """
    for part in (few, every):
        program.prepare(part)
    times = [seconds(program.command(part), comparison) for part in (few, every)]
    tokens = program.target_tokens(every) - program.target_tokens(few)
    return {
        "target_tokens_per_second": tokens / (times[1] - times[0]),
        "seconds_of_few": times[0],
        "target_tokens": tokens,
    }
