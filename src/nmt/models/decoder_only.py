"""One Transformer stack for the source followed by the target.

Wang et al. 2021, "Language Models are Good Translators".
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.attention import by_layer, recorded
from nmt.models.dropout import Dropout
from nmt.models.layout import Layout, layout, mask_of
from nmt.models.positions import position_encoding
from nmt.models.protocol import BOS, PAD, Cache, HiddenStates, Model, State
from nmt.models.transformer_layers import EncoderLayer, final_norm, token_embedding

# B rows, K the most sentences of a row (1 unless they are packed), S source length, P = K + S with
# the tags, T target length, D d_model, H heads, R = B * beam rows


class DecoderOnly(Model):
    """A single stack that reads <tag> source EOS <tag> target EOS.

    The target's tag is BOS, the source's a vector of its own. All attention is causal, so that the
    source can be learned as well (L_AE); with `prefix` the source sees all of itself, and cannot.
    The source is (B, P, D) in all layers, the target (B, T, D); `output` maps (B, T, D) to logits
    (B, T, V).
    """

    repeatable = True

    def __init__(self, config: configuration.DecoderOnly, source_size: int, target_size: int):
        super().__init__()
        d_model = config.d_model
        self.embedding = token_embedding(target_size, d_model)
        self.source_tag = nn.Parameter(torch.empty(d_model).normal_(std=d_model**-0.5))
        self.output = nn.Linear(d_model, target_size, bias=False)
        self.output.weight = self.embedding.weight
        self.positions = position_encoding(config)
        self.scale = math.sqrt(d_model)
        self.prefix = config.prefix
        self.dropout = Dropout(config.dropout)
        self.layers: Any = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.norm = final_norm(config, config.final_norm)

    def embed(self, rows: Sequences, tags: int) -> Tensor:
        """Embed tokens, of which the first columns are tags of the source: (B, T) -> (B, T, D)."""
        x = self.embedding(rows.tokens[:, tags:])
        x = torch.cat([self.source_tag.expand(len(x), tags, -1), x], 1) * self.scale
        return self.dropout(self.positions(x, rows.positions, rows.end))

    def decode(self, source: Source, target: Sequences) -> tuple[Tensor, int]:
        """Run teacher forcing; return states of source and target (B, P + T, D), and P."""
        before = with_tags(source)
        rows = followed_by(before, target)
        columns = before.tokens.size(1)
        x = self.embed(rows, source.most_segments)
        prefix = columns if self.prefix else 0
        where = layout(rows, rows, x.dtype, causal=True, prefix=prefix)
        for layer in self.layers:
            x = layer(x, where)
        return self.norm(x), columns

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, D).

        Without prefix the source's states (B, P, D) and the tokens that they predict come as well.
        """
        hidden, columns = self.decode(source, target)
        of_source = None if self.prefix else (hidden[:, :columns], predicted(source))
        return HiddenStates(hidden[:, columns:], of_source)

    def start(self, source: Source) -> State:
        """Return the state before the first step.

        Caches hold the source too. Each row has the mask that hides the source's padding, (R, 1, 1,
        P), and the position of BOS, (R, 1).
        """
        rows = with_tags(source)
        x = self.embed(rows, tags=1)
        where = layout(rows, rows, x.dtype, causal=not self.prefix)
        caches: list[Cache] = [[] for _ in self.layers]
        for layer, cache in zip(self.layers, caches, strict=True):
            x = layer(x, where, cache)
        visible = segments_of(rows) == 0
        mask = mask_of(visible[:, None, None], x.dtype)
        return State(source.tokens, (), (mask, visible.sum(1, keepdim=True)), caches)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, 1, D) -> (R, D)."""
        mask, first = state.own
        columns = mask.size(-1)
        end = state.caches[0][0].size(2)
        source = torch.arange(columns, device=tokens.device)
        steps = torch.arange(end - columns, device=tokens.device)
        so_far = mask_of(steps <= state.length, mask.dtype)
        where = Layout(
            torch.cat([mask, so_far.expand(len(tokens), 1, 1, -1)], -1),
            queries=first + state.length,
            keys=torch.cat([source.expand(len(tokens), -1), first + steps], 1),
            columns=columns + state.length[None],
        )
        x = self.embed(Sequences(tokens[:, None], where.queries, None, end), tags=0)
        for layer, cache in zip(self.layers, state.caches, strict=True):
            x = layer(x, where, cache)
        state.length = state.length + 1
        return self.norm(x[:, 0])

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return attention (B, H, T, S) to the source's tokens, of each layer.

        Weights sum to less than one: the tags and the target have their share too.
        """
        maps = self.self_attention(source, target)["joint"]
        targets, sources = target.tokens.size(1), source.tokens.size(1)
        return {name: weights[:, :, -targets:, 1 : 1 + sources] for name, weights in maps.items()}

    def self_attention(self, source: Source, target: Sequences) -> dict[str, dict[str, Tensor]]:
        """Return all attention (B, H, P + T, P + T) of tags, source and target, by layer."""
        with recorded(layer.self_attention for layer in self.layers) as maps:
            self.decode(source, target)
        return {"joint": by_layer(maps)}


def segments_of(rows: Sequences) -> Tensor:
    """Return the segments of rows that may be without padding: (B, T)."""
    return torch.zeros_like(rows.tokens) if rows.segments is None else rows.segments


def with_tags(source: Source) -> Sequences:
    """Return the source behind the tags of a row's sentences, each at position 0: (B, P)."""
    tags = source.most_segments
    segments = None
    if source.segments is not None:
        numbers = torch.arange(tags, device=source.device).expand(len(source.tokens), -1)
        segments = torch.cat([numbers, source.segments], 1)
    tokens = F.pad(source.tokens, (tags, 0), value=BOS)
    return Sequences(tokens, F.pad(source.positions + 1, (tags, 0)), segments, source.end + 1)


def followed_by(source: Sequences, target: Sequences) -> Sequences:
    """Return rows (B, P + T) in which each target sentence goes on behind its source."""
    own = segments_of(target)[:, :, None] == segments_of(source)[:, None]  # (B, T, P)
    positions = target.positions + own.sum(-1)
    return Sequences(
        torch.cat([source.tokens, target.tokens], 1),
        torch.cat([source.positions.expand_as(source.tokens), positions], 1),
        torch.cat([segments_of(source), segments_of(target)], 1),
        source.end + target.end,
    )


def predicted(source: Source) -> Tensor:
    """Return the source tokens that the states of tags and source tokens predict: (B, P)."""
    segments = segments_of(source)
    numbers = torch.arange(source.most_segments, device=source.device)[:, None]
    is_first = (segments[:, None] == numbers) & (source.positions == 0)[..., None, :]  # (B, K, S)
    first = (source.tokens[:, None] * is_first).sum(-1)
    following = F.pad(source.tokens[:, 1:], (0, 1), value=PAD)
    is_same = F.pad(segments[:, 1:], (0, 1), value=-1) == segments
    return torch.cat([first, following.where(is_same, PAD)], 1)
