"""Word-pieces (Schuster and Nakajima 2012), as GNMT and the paper's English-French used, by the
library tokenizers.
"""

from collections.abc import Iterator

from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import WhitespaceSplit
from tokenizers.trainers import WordPieceTrainer

from nmt.errors import UserError

PAD, UNK, BOS, EOS = range(4)
SYMBOLS = ["<pad>", "<unk>", "<s>", "</s>"]
CONTROL = (PAD, BOS, EOS)
INSIDE = "##"  # how tokenizers marks a piece that does not begin a word


class WordPieces:
    """Used as nmt.text.subwords.Subwords. The longest piece that fits is taken, from left to
    right.
    """

    unknown_is_a_word = True

    def __init__(self, model: bytes, name: str = "the model"):
        """Raises UserError when `model` is not one of word-pieces with our ids; `name` is what the
        message calls it.
        """
        try:
            self.tokenizer = Tokenizer.from_str(model.decode())
        except Exception as error:  # the library raises nothing more particular
            raise UserError(
                f"{name} holds no word-pieces ({error}): delete it and learn it again."
            ) from None
        self.size: int = self.tokenizer.get_vocab_size()
        if [self.tokenizer.id_to_token(number) for number in range(4)] != SYMBOLS:
            raise UserError(f"{name}: the first four pieces must be {SYMBOLS}: learn it again.")

    def encode(self, lines: list[str], jobs: int = 1) -> list[list[int]]:
        return [found.ids for found in self.tokenizer.encode_batch(lines, add_special_tokens=False)]

    def decode(self, ids: list[int]) -> str:
        """The text; control symbols vanish and an unknown word shows as " ⁇ "."""
        text = "".join(
            " ⁇ " if number == UNK else self.pieces([number])[0]
            for number in ids
            if number not in CONTROL
        )
        return text.replace("▁", " ").removeprefix(" ")

    def pieces(self, ids: list[int]) -> list[str]:
        """With the mark of sentencepiece where a word begins."""
        tokens = [self.tokenizer.id_to_token(number) for number in ids]
        return [
            token
            if token in SYMBOLS
            else token[len(INSIDE) :]
            if token.startswith(INSIDE)
            else "▁" + token
            for token in tokens
        ]


def learn_wordpieces(size: int, characters: list[str], lines: Iterator[str]) -> bytes:
    """The same text and size give the same model byte for byte."""
    alphabet = [*characters, *(INSIDE + character for character in characters)]
    # As special tokens they have fixed numbers: the library would else number them in an order of
    # its own each time, and break ties between pairs by it.
    trainer = WordPieceTrainer(
        vocab_size=size,
        special_tokens=[*SYMBOLS, *alphabet],
        continuing_subword_prefix=INSIDE,
        show_progress=False,
    )
    learned = Tokenizer(WordPiece(unk_token=SYMBOLS[UNK]))
    learned.pre_tokenizer = WhitespaceSplit()
    learned.train_from_iterator(lines, trainer)
    pieces = dict(sorted(learned.get_vocab().items(), key=lambda piece: piece[1]))
    tokenizer = Tokenizer(WordPiece(pieces, unk_token=SYMBOLS[UNK], max_input_chars_per_word=1000))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return tokenizer.to_str().encode()
