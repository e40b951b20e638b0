"""Small models of every family: a new family is tested by being listed here."""

from collections.abc import Iterable

import numpy as np
import torch

from nmt.configuration import GNMT, ByteNet, ConvS2S, DecoderOnly, RNNSearch, Seq2Seq, Transformer
from nmt.data.batch import pad_sources
from nmt.data.sequences import Sequences, Source
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.models.build import build
from nmt.models.protocol import BOS, EOS, PAD

VOCABULARY = 23
SELF_ATTENTION = {"layers": 2, "d_model": 16, "d_ff": 24, "heads": 4, "dropout": 0.1}


def transformer(**changes) -> Transformer:
    """Return the settings of a small Transformer."""
    return Transformer(**SELF_ATTENTION | changes)


def decoder_only(**changes) -> DecoderOnly:
    """Return the settings of a small decoder-only model."""
    return DecoderOnly(**SELF_ATTENTION | changes)


def stacked(**changes) -> Seq2Seq:
    """Return the settings of small stacks of LSTMs."""
    settings = {"layers": 2, "d_embedding": 10, "d_hidden": 12, "dropout": 0.1}
    return Seq2Seq(**settings | changes)


FAMILIES = {
    "transformer": transformer(),
    "transformer-narrow-keys": transformer(d_k=3),
    "transformer-learned": transformer(positions="learned"),
    "transformer-none": transformer(positions="none"),
    "transformer-relative": transformer(positions="relative", d_k=5),
    "transformer-sines-cosines": transformer(positions="sines-cosines"),
    "transformer-xl": transformer(positions="transformer-xl", d_k=5),
    "transformer-neighborhood": transformer(neighborhood=2),
    "transformer-rotary": transformer(positions="rotary"),
    "transformer-alibi": transformer(positions="alibi", d_model=18, heads=6),
    "transformer-pre-norm": transformer(norm="pre", activation="gelu", tie="decoder"),
    "transformer-untied": transformer(tie="none"),
    "transformer-biases": transformer(attention_bias=True, final_norm=True),
    "decoder-only": decoder_only(),
    "decoder-only-prefix": decoder_only(prefix=True, norm="pre"),
    "decoder-only-rotary": decoder_only(positions="rotary"),
    "decoder-only-alibi": decoder_only(positions="alibi"),
    "decoder-only-relative": decoder_only(positions="relative"),
    "decoder-only-xl": decoder_only(positions="transformer-xl"),
    "decoder-only-none": decoder_only(positions="none"),
    "decoder-only-learned": decoder_only(positions="learned"),
    "seq2seq": stacked(),
    "seq2seq-orthogonal": stacked(init="orthogonal"),
    "seq2seq-forwards": stacked(reverse_source=False),
    "luong-dot": stacked(attention="global", score="dot"),
    "luong-general-feeding": stacked(attention="global", score="general", input_feeding=True),
    "luong-concat": stacked(attention="global", score="concat", reverse_source=False),
    "luong-location": stacked(attention="global", score="location"),
    "luong-scaled-dot": stacked(attention="global", score="scaled-dot"),
    "luong-local": stacked(attention="local-p", score="general", input_feeding=True),
    "luong-local-dot": stacked(attention="local-p", score="dot"),
    "luong-local-concat": stacked(attention="local-p", score="concat", reverse_source=False),
    "rnnsearch": RNNSearch(d_embedding=10, d_hidden=12, dropout=0.1),
    "rnnencdec": RNNSearch(d_embedding=10, d_hidden=12, dropout=0.1, attention="none"),
    "rnn-stack": RNNSearch(
        layers=2, d_embedding=10, d_hidden=12, dropout=0.1, attention="scaled-dot", readout="state"
    ),
    "rnn-stack-none": RNNSearch(
        layers=2, d_embedding=10, d_hidden=12, dropout=0.1, attention="none", readout="state"
    ),
    "gnmt": GNMT(layers=3, d_model=10, dropout=0.1),
    "gnmt-current": GNMT(layers=3, d_model=10, dropout=0.1, context="current"),
    "gnmt-projected": GNMT(layers=3, d_model=10, d_cell=14, dropout=0.1),
    "moe": GNMT(
        layers=2, d_model=10, d_cell=14, dropout=0.1, experts=4, experts_used=2, d_expert=6
    ),
    "convs2s": ConvS2S(
        encoder=[(8, 3, 2), (12, 1, 1)],
        decoder=[(8, 3, 1), (12, 2, 1)],
        d_embedding=10,
        d_output=9,
        dropout=0.1,
    ),
    "bytenet": ByteNet(d_hidden=8, sets=1, dropout=0.1),
}


def random_model(family: str, seed: int = 0):
    """Return a float64 model in evaluation mode.

    Its parameters are large enough that every effect shows.
    """
    torch.manual_seed(seed)
    model = build(FAMILIES[family], VOCABULARY, VOCABULARY).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn_like(parameter))
    return model


def random_sentences(lengths: list[int], seed: int = 0) -> list[list[int]]:
    """Return a sentence of each length, of random tokens."""
    generator = torch.Generator().manual_seed(seed)
    return [
        torch.randint(EOS + 1, VOCABULARY, (length,), generator=generator).tolist()
        for length in lengths
    ]


def parallel_tokens(source_lengths: Iterable[int], target_lengths: Iterable[int]) -> ParallelTokens:
    """Return pairs of sentences of these lengths, of random tokens, the same every time."""
    rng = np.random.default_rng(1)

    def side(lengths: Iterable[int]) -> Ragged:
        offsets = np.cumsum([0, *lengths])
        return Ragged(rng.integers(EOS + 1, VOCABULARY, offsets[-1]).astype(np.uint32), offsets)

    return ParallelTokens(side(source_lengths), side(target_lengths), {})


def random_pairs(count: int) -> ParallelTokens:
    """Return so many pairs of 1 to 14 random tokens a side."""
    return parallel_tokens(*np.random.default_rng(1).integers(1, 15, (2, count)))


def rows(
    sentences: list[list[int]], first: tuple[int, ...] = (), last: tuple[int, ...] = ()
) -> torch.Tensor:
    """Return first + tokens + last of each sentence, padded: (B, longest)."""
    sequences = [[*first, *tokens, *last] for tokens in sentences]
    longest = max(map(len, sequences))
    return torch.tensor([tokens + [PAD] * (longest - len(tokens)) for tokens in sequences])


def sources(sentences: list[list[int]]) -> Source:
    """Return a batch of sources."""
    return pad_sources(sentences)


def target_inputs(sentences: list[list[int]]) -> Sequences:
    """Return a batch of target inputs: (B, T)."""
    return Sequences.of(rows(sentences, first=(BOS,)))


def target_outputs(sentences: list[list[int]]) -> torch.Tensor:
    """Return the batch of tokens that target inputs predict: (B, T)."""
    return rows(sentences, last=(EOS,))
