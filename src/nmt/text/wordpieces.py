"""Pieces that a word is cut into from its start, each time the longest that fits.

They are learned by joining two neighbors again and again, the pair with the best score: word-pieces
(Schuster and Nakajima 2012), by likelihood, which GNMT used, and so did AIAYN for English-French;
or by frequency, as BPE is (NPFL138's lecture 9, BPE and WordPieces comparison).
"""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from itertools import count, pairwise

import numpy as np
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Metaspace

from nmt.errors import UserError
from nmt.progress import progress

PAD, UNK, BOS, EOS = range(4)
SYMBOLS = ["<pad>", "<unk>", "<s>", "</s>"]
SPACED = [f" {symbol}" for symbol in SYMBOLS]  # in files: no word has a space, but may be "<s>"
CONTROL = (PAD, BOS, EOS)
START = "▁"  # begins a piece at the start of a word, as in sentencepiece; no text has it


class WordPieces:
    """A word-piece vocabulary with the interface of nmt.text.subwords.Subwords."""

    def __init__(self, model: bytes):
        self.checksum = hashlib.sha256(model).hexdigest()
        ids_by_piece = json.loads(model)["model"]["vocab"]
        self.size = len(ids_by_piece)
        if sorted(ids_by_piece.values()) != list(range(self.size)):
            raise ValueError("the ids of its pieces are not 0, 1, 2 ...")
        # Of a file, which may be a stranger's, only the pieces are taken.
        self.tokenizer = tokenizer_of(ids_by_piece)

    def encode(self, lines: list[str]) -> list[list[int]]:
        """Return the ids of each line; the library chooses the number of threads."""
        encodings = self.tokenizer.encode_batch(lines, add_special_tokens=False)
        return [encoding.ids for encoding in encodings]

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids, without control symbols and with " ⁇ " for an unknown word."""
        ids = [token_id for token_id in ids if token_id not in CONTROL]
        pieces = self.pieces(ids)
        text = "".join(
            " ⁇ " if token_id == UNK else piece for token_id, piece in zip(ids, pieces, strict=True)
        )
        return text.replace(START, " ").removeprefix(" ")

    def pieces(self, ids: list[int]) -> list[str]:
        """Return the word-pieces as strings, with "▁" where a word begins."""
        return [(self.tokenizer.id_to_token(token_id) or "").strip() for token_id in ids]


def tokenizer_of(ids_by_piece: dict[str, int]) -> Tokenizer:
    """Return the library's tokenizer with these pieces."""
    model = WordPiece(
        ids_by_piece,
        unk_token=SPACED[UNK],
        max_input_chars_per_word=1000,
        continuing_subword_prefix="",
    )
    made = Tokenizer(model)
    made.pre_tokenizer = Metaspace(START)
    return made


# The score of joining a and b: of f(ab), f(a), f(b), N pieces in all, and whether a is b.


def frequency(both: np.ndarray, *_: object) -> np.ndarray:
    """Return f(ab), as for BPE."""
    return both


def ratio(both: np.ndarray, a: np.ndarray, b: np.ndarray, *_: object) -> np.ndarray:
    """Return f(ab) / (f(a) f(b)): how much likelier one occurrence becomes, but for a factor N."""
    return both / (a * b)


def likelihood_gain(
    both: np.ndarray, a: np.ndarray, b: np.ndarray, total: int, alike: np.ndarray
) -> np.ndarray:
    """Return by how many nats the whole text becomes likelier.

    Its log-likelihood under a unigram model is the sum of f log(f / N) over the pieces (NPFL138's
    lecture 9, WordPieces; 10-701, Wordpiece embeddings). Rounded: what is equal must be so on every
    machine.
    """
    parts = np.where(alike, f_log_f(a - 2 * both), f_log_f(a - both) + f_log_f(b - both))
    before = np.where(alike, f_log_f(a), f_log_f(a) + f_log_f(b))
    fewer = f_log_f(np.array(total)) - f_log_f(total - both)
    return (f_log_f(both) + parts - before + fewer).round(3)


def f_log_f(counts: np.ndarray) -> np.ndarray:
    """Return f log f, 0 where there are none."""
    return counts * np.log(np.maximum(counts, 1))


SCORES: dict[str, Callable[..., np.ndarray]] = {
    "greedy-bpe": frequency,
    "wordpiece": likelihood_gain,
    "wordpiece-ratio": ratio,
}


class Pairs:
    """Words as pieces, how often pieces and pairs of neighbors occur, and in which words."""

    def __init__(self, words: dict[str, int], alphabet: list[str]):
        self.names = list(alphabet)
        self.numbers = {piece: number for number, piece in enumerate(alphabet)}
        self.counts = list(words.values())
        self.words = [
            [self.numbers[piece] for piece in (START + word[0], *word[1:])] for word in words
        ]
        self.pieces = np.zeros(len(alphabet), np.int64)
        self.slots: dict[tuple[int, int], int] = {}
        self.ends = np.zeros((1024, 2), np.int64)  # left and right piece of each slot
        self.both = np.zeros(1024, np.int64)
        self.where: dict[tuple[int, int], set[int]] = defaultdict(set)
        self.count(range(len(words)), 1)

    def count(self, indices: Collection[int], sign: int) -> None:
        """Count some words, or take them off."""
        pieces, pairs = Counter[int](), Counter[tuple[int, int]]()
        for index in indices:
            word, count = self.words[index], sign * self.counts[index]
            for piece in word:
                pieces[piece] += count
            for pair in pairwise(word):
                pairs[pair] += count
                self.where[pair].add(index)
        for piece, count in pieces.items():
            self.pieces[piece] += count
        for pair, count in pairs.items():
            slot = self.slots.setdefault(pair, len(self.slots))
            if slot == len(self.both):
                self.both = np.concatenate([self.both, np.zeros_like(self.both)])
                self.ends = np.concatenate([self.ends, np.zeros_like(self.ends)])
            self.both[slot] += count
            self.ends[slot] = pair

    def best(self, score: Callable[..., np.ndarray]) -> tuple[int, int] | None:
        """Return the pair with the highest score, the first of equals, None where none is left."""
        used = self.both.nonzero()[0]
        if not len(used):
            return None
        both = self.both[used]
        left, right = self.ends[used].T
        a, b = self.pieces[left].astype(float), self.pieces[right].astype(float)
        best = score(both.astype(float), a, b, self.pieces.sum(), left == right).argmax()
        return int(left[best]), int(right[best])

    def join(self, pair: tuple[int, int]) -> None:
        """Make a piece of a pair, wherever it occurs: a new one, unless others make it too."""
        name = self.names[pair[0]] + self.names[pair[1]]
        new = self.numbers.setdefault(name, len(self.names))
        if new == len(self.names):
            self.names.append(name)
            self.pieces = np.append(self.pieces, 0)
        indices = self.where.pop(pair)
        self.count(indices, -1)
        for index in indices:
            joined: list[int] = []
            for piece in self.words[index]:
                if joined and (joined[-1], piece) == pair:
                    joined[-1] = new
                else:
                    joined.append(piece)
            self.words[index] = joined
        self.count(indices, 1)


def learn_wordpieces(kind: str, size: int, characters: list[str], words: dict[str, int]) -> bytes:
    """Return the model of a vocabulary that contains all the characters.

    words: how often each occurs; other characters than those are left out with their words. The
    same words, in any order, and size give the same model byte for byte. Raises UserError when the
    text has too many characters or too few pieces for the size.
    """
    alphabet = [*characters, *(START + character for character in characters)]
    known = {word: words[word] for word in sorted(words) if set(characters).issuperset(word)}
    pairs = Pairs(known, alphabet)
    for _ in progress(count(), "join pieces", None, "pairs"):
        pair = pairs.best(SCORES[kind])
        if pair is None or len(pairs.names) >= size - len(SYMBOLS):
            break
        pairs.join(pair)
    ids_by_piece = {piece: number for number, piece in enumerate([*SPACED, *pairs.names])}
    if len(ids_by_piece) != size:
        raise UserError(
            f"a vocabulary of {size} word-pieces cannot be learned from this text of"
            f" {len(characters)} different characters. Give another size, as with --config"
            f" vocabulary_size=N: {len(ids_by_piece)} are possible."
        )
    return tokenizer_of(ids_by_piece).to_str().encode()
