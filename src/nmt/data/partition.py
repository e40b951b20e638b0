"""How an update is divided among ranks, and into micro-batches that a device takes at a time."""

from dataclasses import dataclass

from nmt.data.packing import Packing


@dataclass(frozen=True)
class Partition:
    """One rank's part of every update.

    Each of the experiment's micro-batches is split into `chunks`, which are numbered in order. A
    rank computes those with the numbers rank, rank + world_size and so on, one after the other.
    least_tokens: if not 0, a rank's sentences are put together again into micro-batches of so many
    tokens of both sides: a device on which fewer take as long wants fewer micro-batches.
    packing: if not None, a rank's sentences are packed into rows instead.
    """

    rank: int = 0
    world_size: int = 1
    chunks: int = 1
    least_tokens: int = 0
    packing: Packing | None = None
