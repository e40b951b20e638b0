"""What training, search, scoring and figures know of a model: nothing but this."""

from dataclasses import dataclass
from typing import Protocol

from torch import Tensor, nn

from nmt.text.subwords import BOS, EOS, PAD  # noqa: F401 - ids fixed when vocabularies are learned

# B sentences, S source length, T target length, V vocabulary, R = B * beam rows


@dataclass
class Hidden:
    """What teacher forcing gives: states that `output` maps to logits, and what some families add
    to the loss.
    """

    target: Tensor  # (B, T, width of output)
    # Of models of the source too: their hidden states (B, S, width of output) and the tokens these
    # predict (B, S)
    source: tuple[Tensor, Tensor] | None = None
    penalty: Tensor | None = None  # on the mean loss of a target token: the balance of experts


class State(Protocol):
    """What a model carries from step to step for B sentences of `beam` rows each, sentence by
    sentence.
    """

    def reorder(self, rows: Tensor) -> None:
        """Keeps rows (B', beam) of the R present: the surviving beams of the sentences still open.

        All rows of one line come from one sentence.
        """


class Model(Protocol):
    """`output` maps the hidden states that teacher forcing and steps give to logits over the target
    vocabulary.

    Sources end with EOS, target inputs begin with BOS, and both are filled up with PAD.
    """

    output: nn.Linear

    def __call__(self, source: Tensor, target_in: Tensor) -> Hidden:
        """Teacher forcing: (B, S), (B, T)."""

    def encode(self, source: Tensor) -> object:
        """(B, S) -> memory, whatever the model needs of the source."""

    def start(self, memory: object, beam: int) -> State:
        """The state before the first step, each sentence `beam` times."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """One position: the rows' last tokens (R,) -> what `output` tells the next from (R, D), and
        the state.
        """

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """Named maps, each (B, heads, T, S): every target position's weights over the source; {}
        without attention.
        """
