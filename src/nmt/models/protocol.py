"""The interface of models: all that training, search, scoring and figures know of them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_map

from nmt.data.sequences import Sequences, Source
from nmt.text.subwords import BOS, EOS, PAD  # noqa: F401 - ids fixed when vocabularies are learned

# B sentences, S source length, T target length, D width of hidden states, V vocabulary,
# R = B * beam rows


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


@dataclass
class State:
    """What a model carries from step to step for B sentences of `beam` rows each.

    At the start each sentence has one row. The rows of one sentence are adjacent.

    shared: what the rows of a sentence share. own: what each row has for itself. Both are tensors,
    or anything else that can be indexed with rows, in lists and tuples. length: the steps taken.
    """

    sentences: int
    shared: Any
    own: Any
    length: int = 0
    beam: int = 1

    def reorder(self, rows: Tensor) -> None:
        """Keep rows (B', beam') of the R present: the hypotheses of the sentences still open.

        All rows of one line come from one sentence; the same row may be kept several times.
        """
        if len(rows) != self.sentences:
            kept = rows[:, 0] // self.beam
            self.shared = tree_map(lambda part: part[kept], self.shared)
        self.own = tree_map(lambda part: part[rows.flatten()], self.own)
        self.sentences, self.beam = rows.shape


class StepModel(nn.Module, ABC):
    """What search needs of a model or of an ensemble: cached decoding, one position at a time.

    `output` maps the hidden states of a step (R, D) to logits over the target vocabulary (R, V).
    """

    output: Callable[[Tensor], Tensor]

    @abstractmethod
    def start(self, source: Source) -> State:
        """Encode the sources; return the state before the first step, a row for each sentence."""

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
