"""Other programs that do a step from text to tokens, and how their outputs compare with ours."""

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmt.benchmarks.worker import SOURCE
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.files import read_lines


@dataclass(frozen=True)
class Peer:
    """A program that does one of our steps.

    step: ours. program: looked for in PATH. command: for the shell, in the benchmark's folder.
    agreement: returns a sentence about its output and ours, and raises UserError if it has none.
    """

    step: str
    program: str
    command: str
    agreement: Callable[[Path], str]


def peers(size: int, jobs: int, moses: Path | None, python: str | None) -> dict[str, Peer]:
    """Return the peers that are installed, by name.

    moses: the folder of mosesdecoder. python: the Python that has fairseq.
    """
    of_text = {
        "spm_train": Peer(
            "learn_vocabulary",
            "spm_train",
            f"spm_train --input=text.en,text.de --model_prefix=peer --vocab_size={size}"
            f" --model_type=bpe --normalization_rule_name=identity --num_threads={jobs}"
            " --input_sentence_size=5000000 --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3",
            lambda folder: pieces_in_common(folder),
        ),
        "subword-nmt learn-bpe": Peer(
            "learn_vocabulary",
            "subword-nmt",
            f"cat text.en text.de | subword-nmt learn-bpe -s {size} > peer.codes",
            lambda folder: f"{count_lines(folder / 'peer.codes') - 1:,} merges",
        ),
        "spm_encode": Peer(
            "binarize",
            "spm_encode",
            "for l in en de; do spm_encode --model=subwords/source.model --output_format=id"
            " < text.$l > peer.$l.ids; done",
            lambda folder: same_ids(folder),
        ),
        "subword-nmt apply-bpe": Peer(
            "binarize",
            "subword-nmt",
            f"for l in en de; do subword-nmt apply-bpe -c peer.codes --num-workers {jobs}"
            " < text.$l > peer.bpe.$l; done",
            lambda folder: same_lines(folder, "peer.bpe.en", "text.en"),
        ),
    }
    if moses is not None:
        scripts = shlex.quote(str(moses.resolve() / "scripts" / "tokenizer"))
        of_text["Moses"] = Peer(
            "normalize en",
            "perl",
            f"perl {scripts}/normalize-punctuation.perl -l en < raw.en"
            f" | perl {scripts}/remove-non-printing-char.perl > peer.text.en",
            lambda folder: equal_lines(folder, "peer.text.en", "text.en"),
        )
    if python is not None:
        of_text["fairseq-preprocess"] = Peer(
            "binarize",
            python,
            f"rm -rf peer.fairseq && PYTHONPATH={shlex.quote(str(SOURCE))} {shlex.quote(python)}"
            " -m nmt.benchmarks.peers.fairseq_program preprocess -s en -t de --trainpref peer.bpe"
            f" --destdir peer.fairseq --joined-dictionary --workers {jobs}",
            lambda folder: f"{count_lines(folder / 'peer.fairseq/dict.en.txt'):,} entries",
        )
    return {name: peer for name, peer in of_text.items() if shutil.which(peer.program)}


def count_lines(path: Path) -> int:
    """Return the number of lines."""
    return sum(1 for _ in read_lines(path))


def same_lines(folder: Path, theirs: str, ours: str) -> str:
    """Return how many lines both files have; raises UserError when they differ in it."""
    counts = [count_lines(folder / name) for name in (theirs, ours)]
    if counts[0] != counts[1]:
        raise UserError(f"{theirs} has {counts[0]} lines, {ours} has {counts[1]}.")
    return f"{counts[0]:,} lines"


def equal_lines(folder: Path, theirs: str, ours: str) -> str:
    """Return which share of the lines is equal but for white space."""
    same_lines(folder, theirs, ours)
    lines = zip(read_lines(folder / theirs), read_lines(folder / ours), strict=True)
    equal = [" ".join(their.split()) == our for their, our in lines]
    return f"{np.mean(equal):.2%} of lines equal"


def same_ids(folder: Path) -> str:
    """Return that the ids of all kept pairs are ours; raises UserError when they are not."""
    tokens = ParallelTokens.load(folder / "tokens")
    kept = 0
    theirs = [read_lines(folder / f"peer.{language}.ids") for language in ("en", "de")]
    for source, target in zip(*theirs, strict=True):
        if kept == len(tokens):
            break
        pair = [np.array(line.split(), np.uint32) for line in (source, target)]
        if np.array_equal(pair[0], tokens.source[kept]) and np.array_equal(
            pair[1], tokens.target[kept]
        ):
            kept += 1
    if kept < len(tokens):
        raise UserError(f"spm_encode has other ids than ours from pair {kept + 1} on.")
    return "ids equal"


def pieces_in_common(folder: Path) -> str:
    """Return which share of our subwords spm_train has learned, too."""
    from nmt.text.subwords import Subwords

    models = [
        Subwords((folder / name).read_bytes()) for name in ("peer.model", "subwords/source.model")
    ]
    theirs, ours = (set(model.pieces(list(range(model.size)))) for model in models)
    return f"{len(theirs & ours) / len(ours):.2%} of subwords equal"
