"""Small models of every family: a new family is tested by being listed here."""

import torch

from nmt.configuration import RNNSearch, Seq2Seq, Transformer
from nmt.models.build import build
from nmt.models.protocol import BOS, EOS, PAD

VOCABULARY = 23

FAMILIES = {
    "transformer": Transformer(layers=2, d_model=16, d_ff=24, heads=4, dropout=0.1),
    "transformer-narrow-keys": Transformer(layers=2, d_model=16, d_ff=24, heads=4, d_k=3, d_v=5, dropout=0.1),
    "transformer-learned-positions": Transformer(
        layers=1, d_model=16, d_ff=24, heads=2, dropout=0.1, positions="learned", max_positions=64
    ),
    "rnnsearch": RNNSearch(d_embedding=10, d_hidden=12, dropout=0.1),
    "seq2seq": Seq2Seq(layers=2, d_embedding=10, d_hidden=12, dropout=0.1),
}


def random_model(family: str, seed: int = 0):
    """A float64 model in evaluation mode, with parameters large enough that every effect shows."""
    torch.manual_seed(seed)
    model = build(FAMILIES[family], VOCABULARY).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def random_sentences(lengths: list[int], seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(EOS + 1, VOCABULARY, (n,), generator=generator).tolist() for n in lengths]


def rows(sentences: list[list[int]], first: tuple[int, ...] = (), last: tuple[int, ...] = ()) -> torch.Tensor:
    """(B, longest): first + tokens + last, filled up with PAD."""
    full = [[*first, *tokens, *last] for tokens in sentences]
    return torch.tensor([tokens + [PAD] * (max(map(len, full)) - len(tokens)) for tokens in full])


def sources(sentences: list[list[int]]) -> torch.Tensor:
    return rows(sentences, last=(EOS,))


def target_inputs(sentences: list[list[int]]) -> torch.Tensor:
    return rows(sentences, first=(BOS,))


def target_outputs(sentences: list[list[int]]) -> torch.Tensor:
    return rows(sentences, last=(EOS,))
