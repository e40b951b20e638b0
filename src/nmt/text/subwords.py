"""Subword vocabularies learned by sentencepiece, shared by both languages or one for each.

The paper shares one vocabulary (AIAYN section 5.1).
"""

import hashlib
import io
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TextIO

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from nmt.configuration import Vocabulary
from nmt.errors import UserError
from nmt.text.counting import count_characters, count_words, sampled_lines
from nmt.text.wordpieces import BOS, EOS, PAD, UNK, WordPieces, learn_wordpieces

SUBWORD_FILES = ("source.model", "target.model")
CHECKSUMS = "SHA256SUMS"  # as sha256sum --check reads it
REMEDY = (
    "delete {folder} and run snakemake, or learn_vocabulary.py, which make it again in minutes; no"
    " training that was finished is repeated"
)

# A character that occurs less than once in this many characters becomes the unknown symbol, so that
# the thousands of stray characters in a web crawl do not use up the vocabulary. In shorter text
# every character is kept.
CHARACTERS_PER_RAREST = 10_000_000
# Of longer text every second, third ... line is learned from, so that there are no more than these:
# they bound time and memory, and more change little.
MAX_LINES = 5_000_000
# sentencepiece silently skips longer lines; its default of 4192 bytes is too short.
MAX_LINE_BYTES = 10_000_000


class Subwords:
    """A learned vocabulary: text to ids and back, without begin and end of sentence symbols.

    Word-pieces (nmt.text.wordpieces) have the same interface.
    """

    def __init__(self, model: bytes):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.checksum = hashlib.sha256(model).hexdigest()
        self.size: int = self.processor.get_piece_size()

    @classmethod
    def load(cls, path: str | Path) -> "Segmenter":
        """Read a vocabulary: a sentencepiece model, or word-pieces.

        Raises UserError when the file is missing, is no such model, or its control symbols have
        ids other than PAD, UNK, BOS and EOS.
        """
        not_a_model = UserError(
            f"{path} is not a sentencepiece model: delete it and learn the vocabulary again."
        )
        try:
            model = Path(path).read_bytes()
        except FileNotFoundError:
            raise UserError(f"{path} is not there: learn the vocabulary first.") from None
        if not model:  # sentencepiece would load it and print messages of its own
            raise not_a_model
        if model.startswith(b"{"):
            return WordPieces(model, str(path))
        try:
            subwords = cls(model)
        except RuntimeError:
            raise not_a_model from None
        processor = subwords.processor
        ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if ids != (PAD, UNK, BOS, EOS):
            raise UserError(
                f"{path}: pad, unk, bos and eos are {ids}, must be {(PAD, UNK, BOS, EOS)}: learn it"
                " again."
            )
        return subwords

    def encode(self, lines: list[str]) -> list[list[int]]:
        """Return the ids of each line, none for an empty line."""
        return self.processor.encode(lines, num_threads=1)

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, without control symbols and with " ⁇ " for the unknown one."""
        return self.processor.decode(ids)

    def pieces(self, ids: list[int]) -> list[str]:
        """Return the subwords as strings, with "▁" where a word begins."""
        return self.processor.id_to_piece(ids)

    @property
    def unknown_is_a_word(self) -> bool:
        """Whether the unknown symbol stands for a whole word, although it has no "▁"."""
        return self.trainer_spec.model_type == self.trainer_spec.WORD

    @property
    def words_are_independent(self) -> bool:
        """Whether a word is segmented in the same way whatever its neighbors.

        Not by the unigram model, which adds up the scores of a whole line: in the last digit, which
        may decide, the sum of a word's scores depends on what is before it. Nor where subwords are
        words: unknown neighbors become one unknown symbol.
        """
        spec = self.trainer_spec
        if spec.model_type in (spec.UNIGRAM, spec.WORD):
            return False
        return not any("▁" in self.processor.id_to_piece(i)[1:] for i in range(self.size))

    @cached_property
    def trainer_spec(self) -> sentencepiece_model_pb2.TrainerSpec:
        """What the model was learned with."""
        model = self.processor.serialized_model_proto()
        return sentencepiece_model_pb2.ModelProto.FromString(model).trainer_spec


Segmenter = Subwords | WordPieces


@dataclass(frozen=True)
class SubwordPair:
    """The vocabularies of source and target, the same where they are learned jointly."""

    source: Segmenter
    target: Segmenter

    @property
    def checksums(self) -> list[str]:
        """SHA-256 of the model of source and of target."""
        return [self.source.checksum, self.target.checksum]

    @classmethod
    def load(cls, folder: Path) -> "SubwordPair":
        """Read source.model and target.model.

        Raises UserError when they are damaged, and as Subwords.load does.
        """
        check_subwords(folder, REMEDY.format(folder=folder))
        source, target = (folder / name for name in SUBWORD_FILES)
        of_source = Subwords.load(source)
        if target.exists() and target.read_bytes() == source.read_bytes():
            return cls(of_source, of_source)
        return cls(of_source, Subwords.load(target))


def write_subwords(folder: Path, models: list[bytes]) -> None:
    """Write the models of source and target into a folder, with their checksums."""
    lines = []
    for name, model in zip(SUBWORD_FILES, models, strict=True):
        (folder / name).write_bytes(model)
        lines.append(f"{hashlib.sha256(model).hexdigest()}  {name}\n")
    (folder / CHECKSUMS).write_text("".join(lines), encoding="utf-8")


def copy_subwords(source: Path, folder: Path) -> None:
    """Write the models of the folder `source` into another folder, with their checksums."""
    write_subwords(folder, [(source / name).read_bytes() for name in SUBWORD_FILES])


def check_subwords(folder: Path, remedy: str) -> None:
    """Raise UserError when a model is not the one of the folder's checksums.

    Folders of earlier versions have none, and are not checked. remedy: what brings the model back.
    """
    checksums = folder / CHECKSUMS
    if not checksums.exists():
        return
    lines = checksums.read_text(encoding="utf-8", errors="replace").splitlines()
    for name in SUBWORD_FILES:
        path = folder / name
        if not path.exists():
            raise UserError(f"{path} is not there: {remedy}.")
        if f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}" not in lines:
            raise UserError(f"{path} is damaged, as {checksums} tells: {remedy}.")


def learn_pair(
    vocabulary: Vocabulary, source: Path, target: Path, jobs: int, log: TextIO | None = None
) -> list[bytes]:
    """Return the models of source and target; raises UserError as `learn` does."""
    if vocabulary.source_size is None:
        return 2 * [learn(vocabulary, [source, target], jobs, log)]
    source_vocabulary = vocabulary.model_copy(update={"size": vocabulary.source_size})
    return [learn(source_vocabulary, [source], jobs, log), learn(vocabulary, [target], jobs, log)]


def learn(
    vocabulary: Vocabulary, inputs: list[Path], jobs: int, log: TextIO | None = None
) -> bytes:
    """Return the model of one vocabulary learned from all text files in `inputs`.

    The same text and size give the same model byte for byte, whatever the number of processes
    `jobs`. The messages of sentencepiece go to `log`, or nowhere.

    Raises UserError when there is no text, or the text has too many characters or too few subwords
    for the size.
    """
    counts, total = count_characters(inputs, jobs)
    if not counts:
        raise UserError(
            f"there is no text in {', '.join(map(str, inputs))}: a vocabulary cannot be learned"
            " from it."
        )
    min_count = sum(counts.values()) / CHARACTERS_PER_RAREST
    characters = sorted(character for character, count in counts.items() if count >= min_count)
    smallest = smallest_size(vocabulary, len(characters))
    if vocabulary.size < smallest:
        raise UserError(
            f"a vocabulary of {vocabulary.size} is too small for the {len(characters)} different"
            f" characters of the text: the smallest possible is {smallest}."
        )
    step = max(1, math.ceil(total / MAX_LINES))
    if vocabulary.kind == "wordpiece":
        model = learn_wordpieces(vocabulary.size, characters, sampled_lines(inputs, step))
        largest = WordPieces(model).size
        if largest < vocabulary.size:
            raise too_large(vocabulary.size, largest)
        return model
    # The unigram model learns from whole lines; a tab would end a word before its count, and
    # sentencepiece would take its own mark for a space.
    if vocabulary.kind == "unigram" or counts["\t"] or counts["▁"]:
        return train_sentencepiece(vocabulary, characters, sampled_lines(inputs, step), "text", log)
    words = (f"{word}\t{count}" for word, count in count_words(inputs, step, jobs).items())
    return train_sentencepiece(vocabulary, characters, words, "tsv", log)


def train_sentencepiece(
    vocabulary: Vocabulary,
    characters: list[str],
    lines: Iterator[str],
    form: str,
    log: TextIO | None,
) -> bytes:
    """Return the model that sentencepiece learns from the lines, which contains all the characters.

    form: "text", or "tsv" for lines that each have a word, a tab and the word's count; the model is
    the same.

    Raises UserError when the text has too few subwords for the size.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines,
            model_writer=model,
            logstream=log,
            minloglevel=2 if log is None else 0,
            model_type=vocabulary.kind,
            vocab_size=vocabulary.size,
            # Normalization is done before, by nmt.text.preprocessing.
            normalization_rule_name="identity",
            required_chars="" if vocabulary.kind == "word" else "".join(characters),
            # The lowest possible coverage: `required_chars` decides instead.
            character_coverage=0.98,
            byte_fallback=vocabulary.byte_fallback,
            # There may be fewer characters or words than asked for.
            hard_vocab_limit=vocabulary.kind not in ("char", "word"),
            input_format=form,
            shuffle_input_sentence=True,
            max_sentence_length=MAX_LINE_BYTES,
            # The sums of unigram training depend on the order of threads; BPE has no use for them.
            num_threads=1,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
        )
    except RuntimeError as error:
        largest = re.search(r"Vocabulary size too high .* <= (\d+)", str(error))
        if largest is None:
            raise
        raise too_large(vocabulary.size, int(largest[1])) from None
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    # As in models of earlier versions, whose sentencepiece chose the lines
    proto.trainer_spec.ClearField("input_format")
    proto.trainer_spec.input_sentence_size = MAX_LINES
    return proto.SerializeToString(deterministic=True)


def too_large(size: int, largest: int) -> UserError:
    """Return the error of a vocabulary for which the text has too few subwords."""
    return UserError(
        f"a vocabulary of {size} is larger than the text supports: the largest possible is"
        f" {largest}."
    )


def smallest_size(vocabulary: Vocabulary, characters: int) -> int:
    """Return the size of the smallest vocabulary with so many characters.

    It has the control symbols, every character, and what else the kind needs.
    """
    control_symbols = EOS + 1
    match vocabulary.kind:
        case "word":
            return control_symbols + 1
        case "wordpiece":
            return control_symbols + 2 * characters  # at the beginning of words and inside them
        case _:
            byte_pieces = 256 if vocabulary.byte_fallback else 0
            return control_symbols + len("▁") + characters + byte_pieces
