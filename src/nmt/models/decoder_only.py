"""One Transformer stack for the source followed by the target.

Wang et al. 2021, "Language Models are Good Translators".
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.attention import KeyValueCache, by_layer, causal_mask, padding_mask
from nmt.models.dropout import Dropout
from nmt.models.layers import Layers
from nmt.models.order import align_right
from nmt.models.positions import position_encoding
from nmt.models.protocol import PAD, HiddenStates, Model, Source
from nmt.models.transformer_layers import EncoderLayer, final_norm, token_embedding

# B sentences, S source length, P = S + 1 with its tag, T target length, D d_model, H heads,
# R = B * beam rows


@dataclass
class EncodedSource:
    """The encoded source.

    hidden: (B, P, D). padding: (B, P), true at padding, which is before each sentence.
    shift: (B,), how much padding that is: by so much its positions are behind the columns.
    """

    caches: list[KeyValueCache]
    hidden: Tensor
    padding: Tensor
    shift: Tensor


@dataclass
class State:
    """The stack's state between two steps.

    mask: (R, 1, 1, P). shift: (R,), as EncodedSource has it.
    """

    caches: list[KeyValueCache]
    mask: Tensor
    shift: Tensor

    def reorder(self, rows: Tensor) -> None:
        """Keep rows (B', beam') of the R."""
        rows = rows.flatten()
        self.mask = self.mask[rows]
        self.shift = self.shift[rows]
        for cache in self.caches:
            cache.reorder(rows)


class DecoderOnly(Model):
    """A single stack that reads <tag> source EOS <tag> target EOS.

    The target's tag is BOS, the source's a vector of its own. All attention is causal, so that the
    source can be learned as well (L_AE); with `prefix` the source sees all of itself, and cannot.
    The source is (B, P, D) in all layers, the target (B, T, D); `output` maps (B, T, D) to logits
    (B, T, V).
    """

    def __init__(self, config: configuration.DecoderOnly, source_size: int, target_size: int):
        super().__init__()
        d_model = config.d_model
        self.embedding = token_embedding(target_size, d_model)
        self.source_tag = nn.Parameter(torch.empty(d_model).normal_(std=d_model**-0.5))
        self.output = nn.Linear(d_model, target_size, bias=False)
        if config.tie == "all":
            self.output.weight = self.embedding.weight
        else:
            nn.init.normal_(self.output.weight, std=d_model**-0.5)
        self.positions = position_encoding(config)
        self.scale = math.sqrt(d_model)
        self.prefix = config.prefix
        self.dropout = Dropout(config.dropout)
        self.layers = Layers(EncoderLayer(config) for _ in range(config.layers))
        self.norm = final_norm(config)

    def embed(self, tokens: Tensor, start: int, shift: Tensor | None = None) -> Tensor:
        """Embed tokens (B, T) at positions `start` and on, minus shift (B,): (B, T, D)."""
        return self.dropout(self.positions(self.embedding(tokens) * self.scale, start, shift))

    def encode(self, source: Source) -> EncodedSource:
        """Encode the source: (B, S) -> keys and values of each layer, and states (B, P, D)."""
        tokens = source.tokens
        tag = self.positions((self.source_tag * self.scale).expand(len(tokens), 1, -1))
        x = torch.cat([self.dropout(tag), self.embed(tokens, 1)], 1)
        padding = F.pad(source.padding, (1, 0))
        x = align_right(x, padding)
        padding = align_right(padding, padding)
        mask = padding_mask(padding, x.dtype)
        if not self.prefix:
            mask = mask + causal_mask(x.size(1), x)
        # A position of padding sees at least itself: a softmax over nothing would be NaN.
        mask = mask.expand(-1, -1, x.size(1), -1).clone()
        mask.diagonal(dim1=-2, dim2=-1).zero_()
        caches = [KeyValueCache() for _ in self.layers]
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, mask, cache)
        return EncodedSource(caches, x, padding, padding.sum(1))

    def decode(
        self, encoded: EncodedSource, target_in: Tensor, maps: list[Tensor] | None = None
    ) -> Tensor:
        """Run teacher forcing: (B, T) -> (B, T, D).

        Attention's weights (B, H, T, P + T) are appended to `maps`, layer by layer.
        """
        x = self.embed(target_in, encoded.padding.size(1), encoded.shift)
        causal = causal_mask(target_in.size(1), x)
        source = padding_mask(encoded.padding, x.dtype)
        shape = len(x), 1, target_in.size(1), -1
        mask = torch.cat([source.expand(shape), causal.expand(shape)], -1)  # (B, 1, T, P + T)
        for layer, cache in zip(self.layers, encoded.caches, strict=True):
            x = layer(x, mask, KeyValueCache(cache.past), maps)
        return self.norm(x)

    def forward(self, source: Source, target_in: Tensor) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, D).

        Without prefix the source's states (B, P, D) and the tokens that they predict come as well.
        """
        encoded = self.encode(source)
        hidden = self.decode(encoded, target_in)
        if self.prefix:
            return HiddenStates(hidden)
        padded = F.pad(source.tokens, (0, 1), value=PAD)
        predicted = align_right(padded, F.pad(source.padding, (1, 0)))
        return HiddenStates(hidden, source=(self.norm(encoded.hidden), predicted))

    def start(self, encoded: EncodedSource) -> State:
        """Return the state before the first step, with the source's keys and values."""
        caches = [KeyValueCache(cache.past) for cache in encoded.caches]
        return State(caches, padding_mask(encoded.padding, encoded.hidden.dtype), encoded.shift)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Decode one position: (R,) -> (R, 1, D) -> (R, D)."""
        x = self.embed(tokens[:, None], state.caches[0].length, state.shift)
        mask = F.pad(state.mask, (0, state.caches[0].length + 1 - state.mask.size(-1)))
        for layer, cache in zip(self.layers, state.caches, strict=True):
            x = layer(x, mask, cache)
        return self.norm(x[:, 0]), state

    def attention(self, source: Source, target_in: Tensor) -> dict[str, Tensor]:
        """Return attention (B, H, T, S) to the source's tokens, of each layer.

        Weights are normalized over these tokens: the tag and the target have their share too.
        """
        maps: list[Tensor] = []
        encoded = self.encode(source)
        self.decode(encoded, target_in, maps)
        token = torch.arange(source.tokens.size(1), device=source.device)
        position = encoded.padding.sum(1, keepdim=True) + 1 + token
        position = position.clamp(max=encoded.padding.size(1) - 1)[:, None, None]  # (B, 1, 1, S)
        padding = source.padding[:, None, None]
        to_source = [
            torch.take_along_dim(weights, position, -1).masked_fill(padding, 0) for weights in maps
        ]
        return by_layer([weights / weights.sum(-1, keepdim=True) for weights in to_source])
