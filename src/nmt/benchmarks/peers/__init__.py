"""Other toolkits' Transformers, to be compared with ours; one module knows one toolkit.

Model, loss and search are the toolkit's own, with its defaults except for sizes, Post-LN where it
has it, one table for all embeddings, and dropout only where the paper has it, as far as the toolkit
can be told: JoeyNMT and torch also drop attention weights and hidden units, OpenNMT-py the latter.
A module's `program` is the toolkit's training as its users start it (nmt.benchmarks.programs). All
need the packages of envs/peers.txt; each toolkit is imported when its model is built.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from nmt.configuration import Model, Transformer
from nmt.data.batch import Batch
from nmt.errors import UserError
from nmt.models.protocol import PAD

TOOLKITS = ("fairseq", "joeynmt", "opennmt", "sockeye", "transformers", "torch")
# Those that have a search and a training program, too
WHOLE_TOOLKITS = tuple(name for name in TOOLKITS if name != "torch")
# Compared in search with this project in float32
SEARCH_TOOLKITS = ("this-bfloat16", "ctranslate2", "ctranslate2-int8", *WHOLE_TOOLKITS)
MAX_TOKENS = 512  # of a sentence, for toolkits that need a limit


@dataclass(frozen=True)
class Peer:
    """A toolkit's model with its loss and its beam search.

    loss: of a batch, summed over target tokens, label smoothing included.

    search: the best translations of sources (B, S) with a beam, all of exactly `length` tokens
    (EOS not counted): search(source, length, beam) -> B lists. None where the toolkit has no
    search.
    """

    model: nn.Module
    loss: Callable[[Batch], Tensor]
    search: Callable[[Tensor, int, int], list[list[int]]] | None


def comparable_model(config: Model, name: str) -> Transformer:
    """Return the configuration of a Transformer that all toolkits can build.

    name: of the experiment or model. Raises UserError for any other.
    """
    if not isinstance(config, Transformer):
        raise UserError(
            f"{name} is not a Transformer: other toolkits are compared on Transformers only."
        )
    required = {"norm": "post", "activation": "relu", "positions": "sinusoidal", "tie": "all"}
    for key, value in required.items():
        if getattr(config, key) != value:
            raise UserError(
                f"other toolkits are built with {key} {value}, but {name} has"
                f" {getattr(config, key)}."
            )
    return config


def build(toolkit: str, config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return a toolkit's Transformer with random weights and one vocabulary for both sides."""
    module = importlib.import_module(f"nmt.benchmarks.peers.{toolkit}")
    return module.build(config, vocabulary_size, smoothing)


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """Return torch's loss, for toolkits that leave the loss to their users.

    logits: (B, T, V). targets: (B, T).
    """
    return F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="sum",
    )


def lengths(tokens: Tensor) -> Tensor:
    """Return the lengths of sentences without padding: (B, S) -> (B,)."""
    return (tokens != PAD).sum(1)
