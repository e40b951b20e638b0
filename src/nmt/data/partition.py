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

    @classmethod
    def coarsest(
        cls,
        micro_batches: int,
        tokens: int,
        rank: int,
        world_size: int,
        device_tokens: int = 0,
        least_tokens: int = 0,
    ) -> "Partition":
        """Return the partition with the fewest chunks that gives all ranks equally many of them.

        micro_batches, tokens: of an update, and the most tokens of a side that one of them has.

        device_tokens: about the largest number of tokens per side in a chunk, which holds whole
        sentences; 0: no limit. Where there is one, chunks are not put together again.
        """
        chunks = 1
        while micro_batches * chunks % world_size or (
            device_tokens and tokens > chunks * device_tokens
        ):
            chunks += 1
        return cls(rank, world_size, chunks, 0 if device_tokens else least_tokens)
