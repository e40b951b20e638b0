"""Subwords, learned by sentencepiece over both languages together (AIAYN section 5.1) or over each
by itself.
"""

import io
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TextIO

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from nmt.configuration import Vocabulary
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.progress import progress
from nmt.text.wordpieces import BOS, EOS, PAD, UNK, WordPieces, learn_wordpieces

# A character that comes less than once in so many is left to the unknown symbol, so that the
# thousands of stray characters in a web crawl do not use up the vocabulary. In less text than this
# every character is kept.
CHARACTERS_PER_RAREST = 10_000_000
# Text beyond so many lines is sampled: BPE learns the same from 5 million, and holds them in
# memory.
MAX_LINES = 5_000_000
MAX_LINE_BYTES = (
    10_000_000  # sentencepiece silently skips longer lines; its own limit of 4192 is soon met
)


class Subwords:
    """A learned vocabulary: text to ids and back, without the begin and end of sentence symbols.

    Word-pieces (nmt.text.wordpieces) are used in the same way.
    """

    def __init__(self, model: bytes):
        self.processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.size: int = self.processor.get_piece_size()

    @classmethod
    def load(cls, path: str | Path) -> "Subwords":
        """Raises UserError when the file is missing or is not a sentencepiece model with our
        ids.
        """
        try:
            model = Path(path).read_bytes()
            if not model:
                raise RuntimeError  # which sentencepiece would load, with messages of its own
            if model.startswith(b"{"):
                return WordPieces(model, str(path))
            subwords = cls(model)
        except FileNotFoundError:
            raise UserError(f"{path} is not there: learn the vocabulary first.") from None
        except RuntimeError:
            raise UserError(
                f"{path} is not a sentencepiece model: delete it and learn the vocabulary again."
            ) from None
        processor = subwords.processor
        ids = (processor.pad_id(), processor.unk_id(), processor.bos_id(), processor.eos_id())
        if ids != (PAD, UNK, BOS, EOS):
            raise UserError(
                f"{path}: pad, unk, bos and eos are {ids}, must be {(PAD, UNK, BOS, EOS)}: learn it"
                " again."
            )
        return subwords

    def encode(self, lines: list[str], jobs: int = 1) -> list[list[int]]:
        """Ids of each line, by `jobs` threads. An empty line has none."""
        return self.processor.encode(lines, num_threads=jobs)

    def decode(self, ids: list[int]) -> str:
        """The text; control symbols vanish and an unknown one shows as " ⁇ "."""
        return self.processor.decode(ids)

    def pieces(self, ids: list[int]) -> list[str]:
        """The subwords themselves, "▁" marking where a word begins."""
        return self.processor.id_to_piece(ids)

    @cached_property
    def unknown_is_a_word(self) -> bool:
        """Whether the unknown symbol stands for a whole word; it has no mark that tells."""
        learned = sentencepiece_model_pb2.ModelProto.FromString(
            self.processor.serialized_model_proto()
        )
        return learned.trainer_spec.model_type == learned.trainer_spec.WORD


@dataclass(frozen=True)
class SubwordPair:
    """Of source and target, in a folder as source.model and target.model: the same where they are
    learned jointly.
    """

    source: Subwords
    target: Subwords

    @classmethod
    def load(cls, folder: Path) -> "SubwordPair":
        """Raises UserError as Subwords.load does."""
        return cls(*(Subwords.load(folder / name) for name in PAIR))


PAIR = ("source.model", "target.model")


def learn_pair(
    vocabulary: Vocabulary, source: Path, target: Path, jobs: int, log: TextIO | None = None
) -> list[bytes]:
    """The models of source and target. Raises UserError as `learn` does."""
    if vocabulary.source_size is None:
        return 2 * [learn(vocabulary, [source, target], jobs, log)]
    own = vocabulary.model_copy(update={"size": vocabulary.source_size})
    return [learn(own, [source], jobs, log), learn(vocabulary, [target], jobs, log)]


def learn(
    vocabulary: Vocabulary, inputs: list[Path], jobs: int, log: TextIO | None = None
) -> bytes:
    """Learns one vocabulary from all files of `inputs`; returns its model.

    The same text and size give the same model byte for byte, whatever the number of threads: where
    text is sampled, sentencepiece has a fixed seed of its own. Its messages go to `log`, or
    nowhere.

    Raises UserError when there is no text, or the text has too many characters or too few subwords
    for the size.
    """
    characters = count_characters(inputs)
    if not characters:
        raise UserError(
            f"there is no text in {', '.join(map(str, inputs))}: a vocabulary cannot be learned"
            " from it."
        )
    rarest = sum(characters.values()) / CHARACTERS_PER_RAREST
    kept = sorted(character for character, count in characters.items() if count >= rarest)
    smallest = smallest_size(vocabulary, len(kept))
    if vocabulary.size < smallest:
        raise UserError(
            f"a vocabulary of {vocabulary.size} is too small for the {len(kept)} different"
            f" characters of the text: the smallest possible is {smallest}."
        )
    if vocabulary.kind == "wordpiece":
        return learn_wordpieces(
            vocabulary.size, kept, lines_of(inputs, "learn the vocabulary from")
        )
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines_of(inputs, "learn the vocabulary from"),
            model_writer=model,
            logstream=log,
            minloglevel=2 if log is None else 0,
            model_type=vocabulary.kind,
            vocab_size=vocabulary.size,
            normalization_rule_name="identity",  # what the text should be like is nmt.text.preprocessing's business
            required_chars="" if vocabulary.kind == "word" else "".join(kept),
            character_coverage=0.98,  # the lowest there is: `required_chars` decides
            byte_fallback=vocabulary.byte_fallback,
            hard_vocab_limit=vocabulary.kind
            not in (
                "char",
                "word",
            ),  # of those there may be fewer than asked for
            input_sentence_size=MAX_LINES,
            shuffle_input_sentence=True,
            max_sentence_length=MAX_LINE_BYTES,
            num_threads=(
                1 if vocabulary.kind == "unigram" else jobs
            ),  # its sums depend on their order
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
        )
    except RuntimeError as error:
        too_high = re.search(r"Vocabulary size too high .* <= (\d+)", str(error))
        if too_high is None:
            raise
        raise UserError(
            f"a vocabulary of {vocabulary.size} is larger than the text supports: "
            f"the largest possible is {too_high[1]}."
        ) from None
    learned = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    learned.trainer_spec.num_threads = 1  # the one thing in the file that tells of the machine
    return learned.SerializeToString(deterministic=True)


def smallest_size(vocabulary: Vocabulary, characters: int) -> int:
    """That has every character, the control symbols, and what else the kind needs."""
    match vocabulary.kind:
        case "word":
            return EOS + 2
        case "wordpiece":
            return EOS + 1 + 2 * characters  # at the beginning of words and inside them
        case _:
            return EOS + 1 + len("▁") + characters + (256 if vocabulary.byte_fallback else 0)


def lines_of(inputs: list[Path], what: str) -> Iterator[str]:
    return progress(chain.from_iterable(map(read_lines, inputs)), what, None, "lines")


def count_characters(inputs: list[Path]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines_of(inputs, "count the characters of"):
        counts.update(line)
    del counts[" "]
    return counts
