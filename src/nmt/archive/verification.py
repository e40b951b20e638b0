"""Verification of a reproduction: checksums, and what can be computed again without training."""

import csv
import math
import statistics
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from numbers import Real
from pathlib import Path

import torch

from nmt.archive.packing import may_be_left_out
from nmt.errors import UserError
from nmt.evaluation.scores import score
from nmt.files import read_json, read_lines, sha256
from nmt.models.weights import average, load_tensors
from nmt.serving.folder import TranslationModel

# What reading a damaged file may raise
UNREADABLE = (UserError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
TOLERANCE = 1e-9  # of scores, which are sums of the same numbers in the same order


@dataclass(frozen=True)
class Finding:
    """What one check found.

    outcome: "confirmed", "differs", or "not here" for what cannot be checked without a file.
    """

    outcome: str
    text: str


@dataclass(frozen=True)
class Verification:
    """The checks of a manifest against a folder of results."""

    results: Path
    manifest: dict

    def has(self, *names: str) -> bool:
        """Return whether all files are there; a folder is, when every file of it is."""
        return all((self.results / file).is_file() for name in names for file in self.files(name))

    def files(self, name: str) -> list[str]:
        """Return the files that a name in the manifest means: itself, or all in a folder."""
        if not name.endswith("/"):
            return [name]
        return [file for file in self.manifest["files"] if file.startswith(name)] or [name]

    def checksums(self) -> Iterator[Finding]:
        """Compare the bytes of every file that the manifest lists."""
        listed = self.manifest["files"]
        confirmed = 0
        for name, entry in listed.items():
            path = self.results / name
            if not path.is_file():
                optional = may_be_left_out(name, self.manifest)
                yield Finding("not here" if optional else "differs", f"{name} is not there")
            elif sha256(path) != entry["sha256"]:
                yield Finding("differs", f"{name} is not the file of the manifest")
            else:
                confirmed += 1
        yield Finding("confirmed", f"checksums of {confirmed} of {len(listed)} files")

    def scores(self) -> Iterator[Finding]:
        """Score all translations again."""
        for name, entry in self.manifest["files"].items():
            if not name.endswith(".scores.json"):
                continue
            if not self.has(name, *entry["from"]):
                yield Finding("not here", f"{name}: what it was computed from is not there")
                continue
            translations, references = (
                list(read_lines(self.results / path)) for path in entry["from"][:2]
            )
            recorded = read_json(self.results / name)
            computed = score(translations, [references], recorded["target_language"])
            wrong = [
                metric
                for metric, value in computed.items()
                if metric in recorded and not same_score(asdict(value), recorded[metric])
            ]
            yield finding(not wrong, f"{name}: scores of the translations", ", ".join(wrong))

    def averages(self) -> Iterator[Finding]:
        """Average the checkpoints of all models again."""
        for name, entry in self.manifest["files"].items():
            if not name.endswith("/model/model.safetensors"):
                continue
            folder = (self.results / name).parent
            checkpoints, training, _ = entry["from"]
            if not self.has(name, checkpoints, training):
                yield Finding("not here", f"{name}: the model or its checkpoints are not there")
                continue
            provenance = read_json(folder / "configuration.json")["provenance"]
            paths = [self.results / checkpoints / file for file in provenance["checkpoints"]]
            weights, _ = load_tensors(self.results / name, "make it again with snakemake")
            mean = average(paths)
            same = mean.keys() == weights.keys()
            same = same and all(torch.equal(mean[key], weights[key]) for key in mean)
            yield finding(same, f"{name}: the average of {len(paths)} checkpoints")

    def translations(self, lines: int) -> Iterator[Finding]:
        """Translate some lines of each file again, evenly spread."""
        for name, entry in self.manifest["files"].items():
            if not name.endswith(".translations.txt"):
                continue
            if not self.has(name, *entry["from"]):
                yield Finding("not here", f"{name}: the model or the source is not there")
                continue
            *models, source = entry["from"]
            model = TranslationModel(*(self.results / folder for folder in models))
            sources = list(read_lines(self.results / source))
            recorded = list(read_lines(self.results / name))
            step = max(1, len(sources) // lines)
            sample = range(0, len(sources), step)[:lines]
            texts = model.translate(
                [sources[number] for number in sample], model.experiment.decoding
            )
            wrong = [
                f"line {number + 1}"
                for number, text in zip(sample, texts, strict=True)
                if text != recorded[number]
            ]
            text = f"{name}: translations of {len(sample)} lines by the model"
            yield finding(not wrong, text, ", ".join(wrong))

    def cells(self) -> Iterator[Finding]:
        """Compute the means of all scores in tables again."""
        for name, entries in self.manifest["cells"].items():
            if not self.has(name):
                continue
            table = table_numbers(self.results / name)
            wrong = []
            checked = 0
            for cell in entries:
                column = cell["column"]
                if not self.has(*cell["from"]) or cell["from"][0].endswith("training.json"):
                    continue
                mean = statistics.fmean(
                    score_in(self.results / path, column) for path in cell["from"]
                )
                checked += 1
                if not close(mean, table.get((cell["row"], column))):
                    wrong.append(f"{cell['row']} {column}")
            yield finding(not wrong, f"{name}: {checked} numbers from scores", ", ".join(wrong))


def finding(same: bool, text: str, details: str = "") -> Finding:
    """Return what a comparison found."""
    if same:
        return Finding("confirmed", text)
    return Finding("differs", f"{text}{f': {details}' if details else ''}")


def same_score(computed: dict, recorded: object) -> bool:
    """Return whether a score and its signature are those that were recorded."""
    if not isinstance(recorded, dict) or not isinstance(recorded.get("score"), Real):
        return False
    same = close(computed["score"], recorded["score"])
    return same and computed["signature"] == recorded.get("signature")


def close(value: float, recorded: float | None) -> bool:
    """Return whether two numbers are the same but for rounding."""
    return recorded is not None and math.isclose(
        value, recorded, rel_tol=TOLERANCE, abs_tol=TOLERANCE
    )


def table_numbers(path: Path) -> dict[tuple[str, str], float]:
    """Return the numbers of a table's rows by (row, column)."""
    numbers = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            for column, text in row.items():
                try:
                    numbers[row.get("experiment") or "", column] = float(text)
                except (TypeError, ValueError):
                    continue
    return numbers


def score_in(path: Path, metric: str) -> float:
    """Return a metric's score in a run's file."""
    values = read_json(path)
    return values["perplexity"] if metric == "perplexity" else values[metric]["score"]


def verify(results: Path, manifest: dict, lines: int) -> Iterator[Finding]:
    """Yield all findings. What cannot even be read is one of them."""
    verification = Verification(results, manifest)
    checks = [
        verification.checksums(),
        verification.cells(),
        verification.scores(),
        verification.averages(),
        verification.translations(lines) if lines else iter(()),
    ]
    for check in checks:
        try:
            yield from check
        except UNREADABLE as error:
            # A damaged file, which its checksum has named already
            yield Finding("differs", f"cannot be computed again: {error}")
