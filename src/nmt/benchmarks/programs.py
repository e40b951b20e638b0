"""Training programs of this project and of other toolkits: the command of each, and its data.

Every program trains a Transformer of the same sizes for one epoch of the same subwords, with its
own loading, batches, optimizer and logging. Other toolkits read the subwords as words, so that all
have one vocabulary.
"""

import importlib
import json
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nmt.benchmarks.text_speed import measured
from nmt.benchmarks.worker import SOURCE
from nmt.configuration import Experiment, Transformer
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens, write_tokens
from nmt.errors import UserError
from nmt.files import read_lines, write_lines
from nmt.provenance import REPOSITORY
from nmt.text.subwords import SubwordPair

SIDES = ("source", "target")
SYMBOLS = ("<pad>", "<unk>", "<s>", "</s>")
# The dev set of programs that must have one, and the part whose time is subtracted
SMALL = "small"


@dataclass(frozen=True)
class Part:
    """The first pairs of a parallel text; all programs work in the folder of its files.

    name: of the files. updates: of an epoch here. target_tokens: in an epoch, EOS counted.
    """

    name: str
    updates: int
    target_tokens: int

    def files(self, kind: str) -> list[str]:
        """Return the names of both sides' files: text, ids, or words (one for each subword)."""
        return [f"{self.name}.{kind}.{side}" for side in SIDES]


@dataclass(frozen=True)
class Setting:
    """What programs train, the experiment of this name, on which text.

    python: the Python that has other toolkits. folder: that of the text's files.
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
        """What the experiment's model is."""
        assert isinstance(self.experiment.model, Transformer)
        return self.experiment.model

    def run(self, module: str) -> str:
        """Return how the shell runs a module of another toolkit, up to its first argument."""
        threads = f"OMP_NUM_THREADS={self.threads} PYTHONPATH={shlex.quote(str(SOURCE))}"
        return f"{threads} {shlex.quote(self.python)} -m {module}"

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write lines to a file of the folder."""
        write_lines(self.folder / name, lines)


def write_part(setting: Setting, name: str, texts: tuple[Path, Path], pairs: int) -> Part:
    """Write the first pairs of a parallel text as text, tokens, ids and words.

    Raises UserError when the text has fewer.
    """
    files = [setting.folder / f"{name}.text.{side}" for side in SIDES]
    for path, file in zip(texts, files, strict=True):
        lines = list(islice(read_lines(path), pairs))
        if len(lines) < pairs:
            raise UserError(f"{path} has only {len(lines)} lines: lower --pairs.")
        write_lines(file, lines)
    folder = setting.folder / f"{name}.tokens"
    source, target = files
    write_tokens(folder, SubwordPair.load(setting.subwords), source, target, None, jobs=1)
    tokens = ParallelTokens.load(folder)
    for side, ragged in zip(SIDES, (tokens.source, tokens.target), strict=True):
        sentences = [list(map(str, ragged[i].tolist())) for i in range(pairs)]
        setting.write(f"{name}.ids.{side}", map(" ".join, sentences))
        words = (" ".join(f"w{token}" for token in sentence) for sentence in sentences)
        setting.write(f"{name}.words.{side}", words)
    batches = Batches.for_training(tokens, setting.experiment.training, seed=1)
    return Part(name, len(batches.epoch(1)), int(batches.target_lengths.sum()))


def write_vocabulary(setting: Setting) -> None:
    """Write the words of all subwords in the toolkits' forms: plain, and with their numbers."""
    words = [f"w{token}" for token in range(setting.vocabulary_size) if token >= len(SYMBOLS)]
    setting.write("words", words)
    setting.write("words.counted", (f"{word} 1" for word in words))
    numbers = {word: number for number, word in enumerate([*SYMBOLS, *words])}
    setting.write("words.json", [json.dumps(numbers)])


def command_line(program: str, setting: Setting, part: Part) -> str:
    """Return how the shell runs an epoch of a part in the folder.

    program: `this`, `this-bfloat16` or a toolkit.
    """
    if not program.startswith("this"):
        module = importlib.import_module(f"nmt.benchmarks.peers.{program}")
        return module.training_command(setting, part)
    precision = "+precision-bfloat16" if program == "this-bfloat16" else ""
    arguments = {
        "catalog": setting.catalog,
        "experiment": f"{setting.name}{precision}+updates-{part.updates}",
        "corpus": setting.corpus,
        "tokens": f"{part.name}.tokens",
        "dev-tokens": f"{SMALL}.tokens",
        "dev-reference": f"{SMALL}.text.target",
        "subwords": setting.subwords,
        "output": "this",
        "threads": setting.threads,
    }
    options = [f"--{key}={value}" for key, value in arguments.items()]
    train = [sys.executable, str(REPOSITORY / "src" / "train.py"), *options]
    return f"rm -rf this && {shlex.join(train)}"


def target_tokens(program: str, setting: Setting, part: Part) -> int:
    """Return the target tokens that a program has learned from, EOS counted."""
    if program == "opennmt":
        from nmt.benchmarks.peers.opennmt import target_tokens

        return target_tokens(setting, part)
    return part.target_tokens


def measure(program: str, setting: Setting, small: Part, whole: Part) -> dict[str, float]:
    """Run a program on both parts, and return its seconds and its speed between their ends."""
    seconds, tokens = [], []
    for part in (small, whole):
        line = command_line(program, setting, part)
        seconds.append(measured(line, setting.folder).seconds)
        tokens.append(target_tokens(program, setting, part))
    return {
        "target_tokens_per_second": (tokens[1] - tokens[0]) / (seconds[1] - seconds[0]),
        "start_seconds": seconds[0],
        "target_tokens": tokens[1] - tokens[0],
    }
