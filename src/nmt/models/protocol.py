"""The interface of models: all that training, search, scoring and figures know of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map

from nmt.data.sequences import Sequences, Source
from nmt.text.subwords import BOS, EOS, PAD  # noqa: F401 - ids fixed when vocabularies are learned

# B sentences, S source length, T target length, D width of hidden states, V vocabulary,
# R = B * beam rows


Cache = list[Tensor]  # keys and values


@dataclass
class HiddenStates:
    """The result of teacher forcing: the states that `output` maps to logits, and loss terms.

    target: (B, T, D).
    source: the hidden states (B, P, D) and the tokens that they predict (B, P), of models that
    predict the source too; P = S + 1 with the tag before it.
    penalty: a scalar that is added to the mean loss of a target token: the load-balancing loss of
    experts.
    """

    target: Tensor
    source: tuple[Tensor, Tensor] | None = None
    penalty: Tensor | None = None


class State:
    """What a model carries from step to step for B sentences of `beam` rows each.

    The rows of one sentence are adjacent.

    shared: what the rows of a sentence share: tensors, or anything else that can be indexed with
    sentences, in lists and tuples. own: what each row has for itself: tensors in lists and tuples.
    caches: of each layer of self-attention the keys (R, H, t, d_k) and values (R, H, t, d_v) of the
    positions so far, and zeros for those to come before the next call of `reorder`.
    length: (), the steps taken. At first they are none, and there is one row for each of `rows`.
    """

    def __init__(self, rows: Tensor, shared: Any, own: Any, caches: Iterable[Cache] = ()):
        self.sentences, self.beam = len(rows), 1
        self.shared, self.own, self.caches = shared, own, list(caches)
        self.length = torch.zeros((), dtype=torch.long, device=rows.device)

    def reorder(self, rows: Tensor, steps: int = 1) -> None:
        """Keep rows (B', beam') of the R present: the hypotheses of the sentences still open.

        All rows of one line come from one sentence; the same row may be kept several times.
        steps: how many will be taken before the next call.
        """
        if len(rows) != self.sentences:
            kept = rows[:, 0] // self.beam
            self.shared = tree_map(lambda part: part[kept], self.shared)
        rows_kept = rows.flatten()
        self.own = tree_map(lambda part: part[rows_kept], self.own)
        for cache in self.caches:  # one after the other, to hold no two of all
            cache[:] = [with_room(part, rows_kept, steps) for part in cache]
        self.sentences, self.beam = rows.shape


@torch.no_grad()
def with_room(past: Tensor, rows: Tensor, positions: int) -> Tensor:
    """Return some rows of a cache with room for n more positions: (R', H, t + n, d).

    The first of these is written before it is read; what is read before it is written are zeros.
    Without any more the rows, as many as before, are moved in place.
    """
    if not positions:
        return past.copy_(past[rows])
    _, heads, length, width = past.shape
    copy = past.new_empty(len(rows), heads, length + positions, width)
    torch.index_select(past, 0, rows, out=copy[:, :, :length])
    copy[:, :, length + 1 :] = 0
    return copy


class StepModel(nn.Module, ABC):
    """What search needs of a model or of an ensemble: cached decoding, one position at a time.

    `output` maps the hidden states of a step (R, D) to logits over the target vocabulary (R, V).
    """

    output: Callable[[Tensor], Tensor]
    repeatable = False  # whether a GPU can repeat a step without the CPU
    # The most tokens of a source or a translation, tags and EOS not counted; None: no limit
    reach: int | None = None

    @abstractmethod
    def start(self, source: Source) -> State:
        """Encode the sources; return the state before the first step, a row for each sentence.

        It must be reordered before it is stepped.
        """

    @abstractmethod
    def step(self, tokens: Tensor, state: Any) -> Tensor:
        """Decode one position, and change the state: last tokens (R,) -> hidden states (R, D)."""


class Model(StepModel):
    """The base class of all families, which can be trained too.

    Target inputs begin with BOS and are padded with PAD.
    """

    output: nn.Linear
    __call__: Callable[..., HiddenStates]  # what `forward` returns

    @abstractmethod
    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> hidden states (B, T, D)."""

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return named attention maps (B, heads, T, S), {} without attention.

        Each holds the weights of every target position over the source. They sum to one, but for a
        model that looks at both sides at once.
        """
        return {}

    def self_attention(self, source: Source, target: Sequences) -> dict[str, dict[str, Tensor]]:
        """Return named self-attention maps of "encoder" and "decoder", {} without self-attention.

        The encoder's are (B, heads, S, S), the decoder's (B, heads, T, T): the weights of every
        target position over the target inputs up to it. Those of a single stack are "joint": (B,
        heads, S + T + 1, S + T + 1), with a tag before each side.
        """
        return {}
