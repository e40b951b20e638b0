"""One stack for source and target, one behind the other: Wang et al. 2021, "Language Models are
Good Translators".
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.attention import causal_mask, padding_mask
from nmt.models.dropout import Dropout
from nmt.models.positions import positions
from nmt.models.protocol import PAD, Hidden
from nmt.models.transformer import Cache, EncoderLayer, last_norm, table

# B sentences, S source length, P = S + 1 with its tag, T target length, D d_model, R = B * beam
# rows


@dataclass
class Memory:
    caches: list[Cache]  # of each layer
    hidden: Tensor  # (B, P, D)
    padding: Tensor  # (B, P), true at padding, which stands before each sentence
    lengths: Tensor  # (B,): tag and EOS counted


@dataclass
class State:
    caches: list[Cache]
    mask: Tensor  # (R, 1, 1, P)
    position: Tensor  # (R,): of the next target token

    def reorder(self, rows: Tensor) -> None:
        rows = rows.flatten()
        self.mask, self.position = self.mask[rows], self.position[rows]
        for cache in self.caches:
            cache.reorder(rows)


def to_the_right(sequence: Tensor, padding: Tensor) -> tuple[Tensor, Tensor]:
    """Moves padding from behind each row to before it, so that the target follows the source
    without a gap.

    (B, S) or (B, S, D), padding (B, S) -> the same
    """
    place = torch.arange(padding.size(1), device=padding.device)
    order = (place - padding.sum(1, keepdim=True)) % padding.size(1)
    moved = (
        sequence.gather(1, order)
        if sequence.dim() == 2
        else torch.take_along_dim(sequence, order[..., None], 1)
    )
    return moved, padding.gather(1, order)


class DecoderOnly(nn.Module):
    """<tag> source EOS <tag> target EOS; the target's tag is BOS, the source's a vector of its own.

    All attention is causal, so that the source can be learned as well (L_AE); with `prefix` the
    source sees all of itself, and cannot.
    """

    def __init__(self, config: configuration.DecoderOnly, source_size: int, target_size: int):
        super().__init__()
        d_model = config.d_model
        self.embedding = table(target_size, d_model)
        self.source_tag = nn.Parameter(torch.empty(d_model).normal_(std=d_model**-0.5))
        self.output = nn.Linear(d_model, target_size, bias=False)
        if config.tie == "all":
            self.output.weight = self.embedding.weight
        else:
            nn.init.normal_(self.output.weight, std=d_model**-0.5)
        self.positions = positions(config)
        self.scale, self.prefix = math.sqrt(d_model), config.prefix
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.norm = last_norm(config)

    def embed(self, tokens: Tensor, start: int | Tensor) -> Tensor:
        return self.dropout(self.positions(self.embedding(tokens) * self.scale, start))

    def encode(self, source: Tensor) -> Memory:
        """(B, S) -> what the target will see of the source."""
        tag = self.positions((self.source_tag * self.scale).expand(len(source), 1, -1))
        x = torch.cat([self.dropout(tag), self.embed(source, 1)], 1)
        padding = F.pad(source == PAD, (1, 0))
        lengths = (~padding).sum(1)
        x, _ = to_the_right(x, padding)
        _, padding = to_the_right(padding, padding)
        mask = padding_mask(padding, x.dtype)
        if not self.prefix:
            mask = mask + causal_mask(x.size(1), x)
        # A place of padding sees at least itself: a softmax over nothing would be no number.
        mask = mask.expand(-1, -1, x.size(1), -1).clone()
        mask.diagonal(dim1=-2, dim2=-1).zero_()
        caches = [Cache() for _ in self.layers]
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, mask, cache)
        return Memory(caches, x, padding, lengths)

    def decode(self, memory: Memory, target_in: Tensor, maps: list[Tensor] | None = None) -> Tensor:
        """(B, T) -> (B, T, D)"""
        x = self.embed(target_in, memory.lengths)
        own = causal_mask(target_in.size(1), x)
        source = padding_mask(memory.padding, x.dtype)
        mask = torch.cat(
            [part.expand(len(x), 1, len(own), -1) for part in (source, own)], -1
        )  # (B, 1, T, P + T)
        for layer, cache in zip(self.layers, memory.caches, strict=True):
            x = layer(x, mask, Cache(cache.past), maps)
        return self.norm(x)

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        memory = self.encode(source)
        hidden = self.decode(memory, target_in)
        if self.prefix:
            return Hidden(hidden)
        padded = F.pad(source, (0, 1), value=PAD)
        predicted, _ = to_the_right(padded, F.pad(source == PAD, (1, 0)))
        return Hidden(hidden, source=(self.norm(memory.hidden), predicted))

    def start(self, memory: Memory, beam: int) -> State:
        caches = [
            Cache(tuple(past.repeat_interleave(beam, 0) for past in cache.past))
            for cache in memory.caches
        ]
        mask = padding_mask(memory.padding, memory.hidden.dtype)
        return State(
            caches, mask.repeat_interleave(beam, 0), memory.lengths.repeat_interleave(beam)
        )

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        x = self.embed(tokens[:, None], state.position)
        mask = F.pad(state.mask, (0, state.caches[0].length + 1 - state.mask.size(-1)))
        for layer, cache in zip(self.layers, state.caches, strict=True):
            x = layer(x, mask, cache)
        state.position = state.position + 1
        return self.norm(x[:, 0]), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """What falls on the source's tokens, in proportion: the tag and the target have their share
        too.
        """
        maps: list[Tensor] = []
        memory = self.encode(source)
        self.decode(memory, target_in, maps)
        place = (
            memory.padding.sum(1, keepdim=True)
            + 1
            + torch.arange(source.size(1), device=source.device)
        )
        place = place.clamp(max=memory.padding.size(1) - 1)[:, None, None]  # (B, 1, 1, S)
        found = {}
        for number, weights in enumerate(maps, start=1):
            own = torch.take_along_dim(weights, place, -1).masked_fill(
                (source == PAD)[:, None, None], 0
            )
            found[f"layer {number}"] = own / own.sum(-1, keepdim=True)
        return found
