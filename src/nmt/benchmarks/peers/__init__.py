"""Other toolkits' Transformers, to be measured beside ours: each module knows one toolkit, and
nothing else does.

Model, loss and search are the toolkit's own, with its defaults but for sizes, Post-LN where it has
it, one table for all embeddings, and dropout where the paper has it. They need the packages of
envs/peers.txt; each is imported when it is built.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn import functional as F

from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.errors import UserError
from nmt.models.protocol import PAD

TOOLKITS = ("fairseq", "joeynmt", "opennmt", "sockeye", "marian", "torch")
# What is compared in search with this project in float32
SEARCHES = (
    "this-bfloat16",
    "ctranslate2",
    "ctranslate2-int8",
    *(name for name in TOOLKITS if name != "torch"),
)
LONGEST = 512  # tokens of a sentence, for toolkits that want to know


@dataclass(frozen=True)
class Peer:
    """`loss`: of a batch, summed over target tokens, label smoothing included.

    `search`: the best translations of sources (B, S) with a beam, all of exactly so many tokens
    (EOS not counted): search(source, length, beam) -> B lists. None where the toolkit has no
    search.
    """

    model: nn.Module
    loss: Callable[[Batch], Tensor]
    search: Callable[[Tensor, int, int], list[list[int]]] | None


def build(toolkit: str, config: Transformer, size: int, smoothing: float) -> Peer:
    """With random weights; `size` is that of the joint vocabulary.

    Raises UserError for what only ours has.
    """
    plain = {"norm": "post", "activation": "relu", "positions": "sinusoidal", "tie": "all"}
    for key, value in plain.items():
        if getattr(config, key) != value:
            raise UserError(
                f"other toolkits are built with {key} {value}, not {getattr(config, key)}."
            )
    return importlib.import_module(f"nmt.benchmarks.peers.{toolkit}").build(config, size, smoothing)


def smoothed(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    """For toolkits that leave the loss to their users: torch's. logits (B, T, V), targets (B, T)"""
    options = {"ignore_index": PAD, "label_smoothing": smoothing, "reduction": "sum"}
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **options)


def lengths(tokens: Tensor) -> Tensor:
    """(B, S) -> (B,)"""
    return (tokens != PAD).sum(1)
