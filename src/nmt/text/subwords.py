"""Subword vocabularies learned by sentencepiece, shared by both languages or one for each.

The paper shares one vocabulary (AIAYN section 5.1).
"""

import hashlib
import io
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers.decoders import ByteLevel as ByteDecoder
from tokenizers.normalizers import ByteLevel
from tokenizers.pre_tokenizers import ByteLevel as ByteAlphabet

from nmt.configuration import BYTES, Vocabulary
from nmt.errors import UserError
from nmt.files import MOST_LINE_BYTES, read_json, read_lines
from nmt.text.counting import count_characters, count_words, sampled_lines
from nmt.text.wordpieces import (
    BOS,
    EOS,
    PAD,
    SCORES,
    SYMBOLS,
    UNK,
    WordPieces,
    learn_wordpieces,
)

SUBWORD_FILES = ("source.model", "target.model")
CHECKSUMS = "SHA256SUMS"  # as sha256sum --check reads it
BYTE_SPACE = "Ġ"  # GPT-2's character of the byte of a space
BYTE_LEVEL = "byte-level"  # names the normalization of a model whose characters are bytes
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


class Subwords:
    """A learned vocabulary: text to ids and back, without begin and end of sentence symbols.

    Word-pieces (nmt.text.wordpieces) have the same interface.
    """

    def __init__(self, model: bytes):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.checksum = hashlib.sha256(model).hexdigest()
        self.size: int = self.processor.get_piece_size()
        self.pieces(list(range(self.size)))  # raises ValueError where one is not UTF-8

    def encode(self, lines: list[str]) -> list[list[int]]:
        """Return the ids of each line, none for an empty line."""
        return self.processor.encode(lines, num_threads=1)

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, without control symbols and with " ⁇ " for the unknown one."""
        return self.processor.decode(ids)

    def pieces(self, ids: list[int]) -> list[str]:
        """Return the subwords as strings, with "▁" where a word begins."""
        return self.processor.id_to_piece(ids)


class ByteSubwords:
    """BPE that starts from bytes, with the interface of Subwords.

    A subword may begin or end inside a character, and nothing is unknown. sentencepiece sees each
    byte of the text's UTF-8 as a character, those of GPT-2 (Radford et al. 2019).
    """

    def __init__(self, subwords: Subwords):
        self.subwords = subwords
        self.checksum, self.size, self.pieces = subwords.checksum, subwords.size, subwords.pieces

    def encode(self, lines: list[str]) -> list[list[int]]:
        """Return the ids of each line, none for an empty line."""
        return self.subwords.encode([as_bytes(line) for line in lines])

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, without control symbols and with � for what is no UTF-8."""
        return ByteDecoder().decode([self.subwords.decode(ids).replace(" ", BYTE_SPACE)])


def as_bytes(text: str) -> str:
    """Return a text with a character for each byte of its UTF-8; spaces stay."""
    return ByteLevel().normalize_str(text).replace(BYTE_SPACE, " ")


Segmenter = Subwords | WordPieces | ByteSubwords


def segmenter(model: bytes) -> Segmenter:
    """Return the vocabulary of a sentencepiece model, or of word-pieces, which are JSON."""
    if model.startswith(b"{"):
        return WordPieces(model)
    subwords = Subwords(model)
    normalization = sentencepiece_model_pb2.ModelProto.FromString(model).normalizer_spec.name
    return ByteSubwords(subwords) if normalization == BYTE_LEVEL else subwords


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

        Raises UserError when one is missing or is not the one of the folder's checksums.
        """
        remedy = REMEDY.format(folder=folder)
        try:
            models = [(folder / name).read_bytes() for name in SUBWORD_FILES]
            sums = (folder / CHECKSUMS).read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError as error:
            raise UserError(
                f"{error.filename} is not there: give a folder of subwords, or a model's."
            ) from None
        loaded = []
        for name, model in zip(SUBWORD_FILES, models, strict=True):
            if f"{hashlib.sha256(model).hexdigest()}  {name}" not in sums:
                raise UserError(f"{folder / name} is damaged, as {CHECKSUMS} tells: {remedy}.")
            try:
                loaded.append(segmenter(model))
            except (RuntimeError, ValueError, KeyError, TypeError, AttributeError):
                raise UserError(f"{folder / name} has no subwords: {remedy}.") from None
        source, target = loaded
        return cls(source, source if target.checksum == source.checksum else target)


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


def subwords_of(model: Path, vocabulary: Vocabulary) -> list[bytes]:
    """Return those of a translation model; raises UserError where its vocabulary is another."""
    SubwordPair.load(model)
    own = read_json(model / "configuration.json", ["vocabulary"])["vocabulary"]
    for key, value in vocabulary.model_dump().items():
        if own.get(key) != value:
            raise UserError(f"initialize_from: {key} of {model} is {own.get(key)}, here {value}.")
    return [(model / name).read_bytes() for name in SUBWORD_FILES]


def learn_pair(vocabulary: Vocabulary, source: Path, target: Path, jobs: int) -> list[bytes]:
    """Return the models of source and target; raises UserError as `learn` does."""
    if vocabulary.source_size is None:
        return 2 * [learn(vocabulary, [source, target], jobs)]
    source_vocabulary = vocabulary.model_copy(update={"size": vocabulary.source_size})
    return [learn(source_vocabulary, [source], jobs), learn(vocabulary, [target], jobs)]


def learn(vocabulary: Vocabulary, inputs: list[Path], jobs: int) -> bytes:
    """Return the model of one vocabulary learned from preprocessed text files.

    The same text and size give the same model byte for byte, whatever the number of processes
    `jobs`.

    Raises UserError when there is no text, or the text has too many characters or too few subwords
    for the size.
    """
    count = sum(1 for path in inputs for _ in read_lines(path))
    step = max(1, math.ceil(count / MAX_LINES))
    words = count_words(inputs, step, jobs)
    if not words:
        raise UserError(
            f"there is no text in {', '.join(map(str, inputs))}: a vocabulary cannot be learned"
            " from it."
        )
    counts = count_characters(words)
    rarest = sum(counts.values()) / CHARACTERS_PER_RAREST
    characters = sorted(character for character, count in counts.items() if count >= rarest)
    if vocabulary.kind in SCORES:
        return learn_wordpieces(vocabulary.kind, vocabulary.size, characters, words)
    if vocabulary.kind == "bytes":
        return bytes_alone()
    if vocabulary.kind == "unigram":  # learns from whole lines
        return train_sentencepiece(vocabulary, characters, sampled_lines(inputs, step), "text")
    if vocabulary.kind == "byte-bpe":
        words = Counter({as_bytes(word): count for word, count in words.items()})
        characters = sorted({*ByteAlphabet.alphabet()} - {BYTE_SPACE})
    counted = (f"{word}\t{count}" for word, count in words.items())
    return train_sentencepiece(vocabulary, characters, counted, "tsv")


def train_sentencepiece(
    vocabulary: Vocabulary, characters: list[str], lines: Iterable[str], form: str
) -> bytes:
    """Return the model that sentencepiece learns from the lines, which contains all the characters.

    form: "text", or "tsv" for lines that each have a word, a tab and the word's count; the model is
    the same.

    Raises UserError when the text has too many characters or too few subwords for the size.
    """
    model = io.BytesIO()
    # The bytes of one character are of several scripts.
    options: dict[str, Any] = (
        {"split_by_unicode_script": False} if vocabulary.kind == "byte-bpe" else {}
    )
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            minloglevel=2,
            model_type=vocabulary.kind.removeprefix("byte-"),
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
            max_sentence_length=MOST_LINE_BYTES,  # longer lines it skips silently
            # The sums of unigram training depend on the order of threads; BPE has no use for them.
            num_threads=1,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            **options,
        )
    except RuntimeError as error:  # "Internal: file(line) [condition] What is wrong."
        reason = str(error).rpartition("] ")[2].strip()
        raise UserError(
            f"a vocabulary of {vocabulary.size} subwords cannot be learned from this text of"
            f" {len(characters)} different characters. Give another size, as with --config"
            f" vocabulary_size=N. {reason}"
        ) from None
    # The same file whether it is learned from lines or from counted words
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    proto.trainer_spec.ClearField("input_format")
    proto.trainer_spec.input_sentence_size = MAX_LINES
    if vocabulary.kind == "byte-bpe":
        proto.normalizer_spec.name = BYTE_LEVEL
    return proto.SerializeToString(deterministic=True)


def bytes_alone() -> bytes:
    """Return the model whose subwords are the 256 bytes, spaces among them (ByT5, Xue et al. 2022).

    To sentencepiece all characters are unknown, and spelled in bytes.
    """
    model = sentencepiece_model_pb2.ModelProto()
    kinds = model.SentencePiece
    for number, symbol in enumerate(SYMBOLS):
        model.pieces.add(piece=symbol, type=kinds.UNKNOWN if number == UNK else kinds.CONTROL)
    for byte in range(BYTES):
        model.pieces.add(piece=f"<0x{byte:02X}>", type=kinds.BYTE)
    spec = model.trainer_spec
    spec.model_type, spec.byte_fallback, spec.vocab_size = spec.CHAR, True, len(model.pieces)
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = PAD, UNK, BOS, EOS
    spaces = model.normalizer_spec
    spaces.name, spaces.add_dummy_prefix, spaces.escape_whitespaces = "identity", False, False
    return model.SerializeToString(deterministic=True)
