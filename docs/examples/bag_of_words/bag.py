"""A bag of words: the next word from the last one and the mean of the source's words."""

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.dropout import Dropout
from nmt.models.protocol import HiddenStates, Model, State

# B sentences, S source length, T target length, D model width, V vocabulary, R = B * beam rows


class Bag(Model):
    """The source is the mean of its embeddings; of the target only the last word is seen."""

    def __init__(self, config: configuration.Bag, source_size: int, target_size: int):
        super().__init__()
        self.source = nn.Embedding(source_size, config.d_model)
        self.target = nn.Embedding(target_size, config.d_model)
        self.mix = nn.Linear(config.d_model, config.d_model)
        self.output = nn.Linear(config.d_model, target_size)
        self.dropout = Dropout(config.dropout)

    def hidden(self, bag: Tensor, last: Tensor) -> Tensor:
        """Return hidden states from bags (..., D) and last words (...): (..., D)."""
        return self.dropout(torch.relu(self.mix(bag + self.target(last))))

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> hidden states (B, T, D)."""
        return HiddenStates(self.hidden(self.encode(source)[:, None], target.tokens))

    def encode(self, source: Source) -> Tensor:
        """Return the mean of the source's embeddings: (B, S) -> (B, D)."""
        real = ~source.padding[..., None]
        return (self.source(source.tokens) * real).sum(1) / real.sum(1)

    def start(self, source: Source) -> State:
        """Return the state before the first step: each row has a bag, (R, D)."""
        return State(source.tokens, (), self.encode(source))

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: last words (R,) -> hidden states (R, D)."""
        return self.hidden(state.own, tokens)
