"""Word-pieces (Schuster and Nakajima 2012), learned by the library tokenizers.

GNMT used them, and so did the paper for English-French.
"""

import hashlib
import json
from collections.abc import Iterator

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import WordPieceTrainer

from nmt.errors import UserError

PAD, UNK, BOS, EOS = range(4)
SYMBOLS = ["<pad>", "<unk>", "<s>", "</s>"]
CONTROL = (PAD, BOS, EOS)
INSIDE = "▁▁"  # marks a piece inside a word; preprocessed text has no "▁"


class WordPieces:
    """A word-piece vocabulary with the interface of nmt.text.subwords.Subwords.

    A word is split from left to right, each time at the longest piece that fits.
    """

    unknown_is_a_word = True

    def __init__(self, model: bytes):
        self.checksum = hashlib.sha256(model).hexdigest()
        ids_by_piece = json.loads(model)["model"]["vocab"]
        self.size = len(ids_by_piece)
        if sorted(ids_by_piece.values()) != list(range(self.size)):
            raise ValueError("the ids of its pieces are not 0, 1, 2 ...")
        # Words of the text that are spelled as symbols are words: no word has a space.
        spaced = {
            f" {piece}" if token_id < len(SYMBOLS) else piece: token_id
            for piece, token_id in ids_by_piece.items()
        }
        # Of a file, which may be a stranger's, only the pieces are taken.
        self.tokenizer = tokenizer_of(spaced, f" {SYMBOLS[UNK]}")

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
        return text.replace("▁", " ").removeprefix(" ")

    def pieces(self, ids: list[int]) -> list[str]:
        """Return the word-pieces as strings, with sentencepiece's "▁" where a word begins."""
        return [self.piece(token_id) for token_id in ids]

    def piece(self, token_id: int) -> str:
        """Return one word-piece as sentencepiece would write it."""
        if token_id < len(SYMBOLS):
            return SYMBOLS[token_id]
        token = self.tokenizer.id_to_token(token_id)
        assert token is not None
        return token.removeprefix(INSIDE) if token.startswith(INSIDE) else "▁" + token


def tokenizer_of(ids_by_piece: dict[str, int], unknown: str) -> Tokenizer:
    """Return the library's tokenizer with these pieces."""
    model = WordPiece(
        ids_by_piece,
        unk_token=unknown,
        max_input_chars_per_word=1000,
        continuing_subword_prefix=INSIDE,
    )
    made = Tokenizer(model)
    made.pre_tokenizer = WhitespaceSplit()
    return made


def learn_wordpieces(size: int, characters: list[str], lines: Iterator[str]) -> bytes:
    """Return the model of a word-piece vocabulary that contains all the characters.

    The same text and size give the same model byte for byte. Raises UserError when the text has too
    many characters or too few word-pieces for the size.
    """
    alphabet = [*characters, *(INSIDE + character for character in characters)]
    # As special tokens they have fixed ids: otherwise the library numbers them in an order that
    # differs from run to run, and breaks ties between pairs by it.
    trainer = WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SYMBOLS, *alphabet],
        continuing_subword_prefix=INSIDE,
        show_progress=False,
    )
    trained = tokenizer_of({}, SYMBOLS[UNK])
    trained.train_from_iterator(lines, trainer)
    ids_by_piece = dict(sorted(trained.get_vocab().items(), key=lambda item: item[1]))
    if len(ids_by_piece) != size:
        raise UserError(
            f"a vocabulary of {size} word-pieces cannot be learned from this text of"
            f" {len(characters)} different characters. Give another size, as with --config"
            f" vocabulary_size=N: {len(ids_by_piece)} are possible."
        )
    return tokenizer_of(ids_by_piece, SYMBOLS[UNK]).to_str().encode()
