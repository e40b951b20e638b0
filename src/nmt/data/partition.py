"""How an update is divided among ranks."""

from dataclasses import dataclass

from nmt.configuration import Training


@dataclass(frozen=True)
class Partition:
    """How the micro-batches of an update are divided among ranks.

    Each of the experiment's micro-batches is split into `chunks`, smaller micro-batches, which are
    numbered in order. A rank computes those with the numbers rank, rank + world_size and so on, one
    after the other. least_tokens: if not 0, a rank's sentences are regrouped into fewer, larger
    micro-batches, as is best where one of fewer tokens takes as long as one of this many
    (nmt.data.grouping).
    """

    rank: int = 0
    world_size: int = 1
    chunks: int = 1
    least_tokens: int = 0

    @classmethod
    def coarsest(
        cls,
        training: Training,
        rank: int,
        world_size: int,
        device_tokens: int = 0,
        least_tokens: int = 0,
    ) -> "Partition":
        """Return the partition with the fewest chunks that gives all ranks equally many of them.

        device_tokens: about the largest number of tokens per side in a chunk, which holds whole
        sentences; 0: no limit. Where there is one, chunks are not put together again.
        """
        chunks = 1
        while True:
            count = training.micro_batches * chunks
            fits = not device_tokens or training.batch_tokens <= count * device_tokens
            if count % world_size == 0 and fits:
                return cls(rank, world_size, chunks, 0 if device_tokens else least_tokens)
            chunks += 1
