"""Batches of a token budget, of sentences of similar lengths.

This module has the part of torch's BatchSampler (`Batches.epoch`) and of its DataLoader
(`Batches.stream`). Which sentences an update learns from depends on seed, epoch and the update's
number alone, so training can go on in the middle of an epoch, and on any number of ranks.
"""

import hashlib
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch

from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch, padded
from nmt.data.grouping import group
from nmt.data.order import Epoch, longer_sides, micro_batch_starts, sorted_by_length
from nmt.data.partition import Partition
from nmt.data.sharing import SharedArrays
from nmt.data.source import Source
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.text.subwords import BOS, EOS, PAD

EVALUATION_TOKENS = 4096  # per side, few enough for any machine that can train the model


class Batches:
    """Micro-batches of a token budget, which have every sentence once an epoch.

    A micro-batch has sentences of similar lengths, and at most `budget` source tokens and `budget`
    target tokens, padding included. An update learns from `per_update` micro-batches, whose lengths
    may differ. Sentences are known by their indices in `tokens`.

    Raises UserError when a sentence alone is over the budget.
    """

    def __init__(self, tokens: ParallelTokens, budget: int, seed: int, per_update: int = 1):
        self.tokens = tokens
        self.budget = budget
        self.seed = seed
        self.per_update = per_update
        self.shared = SharedArrays()
        self.longer_sides = longer_sides(tokens)
        self.longest = int(self.longer_sides.max())
        if self.longest > budget:
            divided = f" in {per_update} micro-batches" if per_update > 1 else ""
            raise UserError(
                f"a sentence of {self.longest} tokens does not fit batch_tokens"
                f" {budget * per_update}{divided}: raise it."
            )

    @classmethod
    def for_training(cls, tokens: ParallelTokens, training: Training, seed: int) -> "Batches":
        """Return the batches that an experiment is trained on."""
        count = training.micro_batches
        return cls(tokens, training.batch_tokens // count, seed, count)

    @classmethod
    def for_evaluation(cls, tokens: ParallelTokens) -> "Batches":
        """Return the batches that a loss is measured on.

        They are small, however large those of training are; a sentence that is longer than
        EVALUATION_TOKENS is alone in its batch.
        """
        longest = max(side.lengths.max(initial=0) + 1 for side in (tokens.source, tokens.target))
        return cls(tokens, max(EVALUATION_TOKENS, int(longest)), seed=0)

    @property
    def source_lengths(self) -> np.ndarray:
        """Tokens of each source sentence, EOS counted: (n,)."""
        return self.tokens.source.lengths + 1

    @property
    def target_lengths(self) -> np.ndarray:
        """Tokens of each target sentence, EOS counted: (n,)."""
        return self.tokens.target.lengths + 1

    def in_order(self) -> list[np.ndarray]:
        """Return the sentences' indices, batch by batch, the shortest first: for the dev set."""
        indices = self.by_length(np.arange(len(self.tokens)))
        return np.split(indices, self.micro_batch_starts(indices)[1:-1])

    def epoch(self, number: int, ranks: int = 1) -> Epoch:
        """Return the sentences' indices of an epoch, by update and micro-batch.

        Sentences of equal lengths are shuffled, and so are micro-batches. ranks: their number;
        with several, the ranks of a node share one copy of the order in memory.
        """
        fingerprint = self.tokens.meta.get("fingerprint")
        if ranks == 1 or fingerprint is None:
            return Epoch(**self.make_epoch(number), per_update=self.per_update)
        order = f"{fingerprint} {self.budget} {self.seed} {number}"
        key = hashlib.sha256(order.encode()).hexdigest()[:16]
        arrays = self.shared.get(key, lambda: self.make_epoch(number))
        self.shared.forget(kept=2)  # this epoch's order and the next one's
        return Epoch(**arrays, per_update=self.per_update)

    def make_epoch(self, number: int) -> dict[str, np.ndarray]:
        """Return the arrays of an epoch's order."""
        rng = np.random.default_rng([self.seed, number])
        # Equals rng.permutation(n), but takes half the memory where int32 suffices
        dtype = np.int32 if len(self.tokens) < 2**31 else np.int64
        indices = self.by_length(rng.permutation(np.arange(len(self.tokens), dtype=dtype)))
        starts = self.micro_batch_starts(indices)
        return {"indices": indices, "starts": starts, "shuffled": rng.permutation(len(starts) - 1)}

    def by_length(self, indices: np.ndarray) -> np.ndarray:
        """Return the indices of all sentences sorted by the longer side, which fills the budget."""
        return sorted_by_length(indices, self.tokens, self.longest)

    def micro_batch_starts(self, indices: np.ndarray) -> np.ndarray:
        """Return where the micro-batches begin, each with as many sentences as the budget allows.

        With their end: (micro-batches + 1,).
        """
        return micro_batch_starts(self.longer_sides[indices], self.budget)

    def load(self, indices: np.ndarray) -> Batch:
        """Return the batch of these sentences."""
        lengths = torch.from_numpy(self.tokens.source.lengths_of(indices) + 1)
        source = Source(padded(self.tokens.source, indices), lengths)
        target = padded(self.tokens.target, indices)
        first = torch.full((len(indices), 1), BOS)
        without_end = target.masked_fill(target == EOS, PAD)[:, :-1]
        return Batch(source, torch.cat([first, without_end], dim=1), target)

    def target_tokens(self, indices: np.ndarray) -> int:
        """Return the number of target tokens of these sentences, EOS counted."""
        return int(self.tokens.target.lengths_of(indices).sum()) + len(indices)

    def source_tokens(self, indices: np.ndarray) -> int:
        """Return the number of source tokens of these sentences, EOS counted."""
        return int(self.tokens.source.lengths_of(indices).sum()) + len(indices)

    def padded_tokens(self, indices: np.ndarray) -> int:
        """Return the number of tokens of these sentences as one batch, with EOS and padding.

        Both sides are counted.
        """
        if not len(indices):
            return 0
        sides = (self.tokens.source, self.tokens.target)
        return sum(len(indices) * (int(side.lengths_of(indices).max()) + 1) for side in sides)

    def padding(self) -> float:
        """Return the fraction of an epoch's tokens that is padding."""
        batches = itertools.chain.from_iterable(self.epoch(1))
        padded_tokens = sum(map(self.padded_tokens, batches))
        return 1 - int(self.source_lengths.sum() + self.target_lengths.sum()) / padded_tokens

    def split_into_chunks(
        self, batches: list[np.ndarray], partition: Partition
    ) -> list[np.ndarray]:
        """Return an update's micro-batches, each split into the partition's chunks.

        The last update of an epoch may have fewer micro-batches: empty ones make up for them.
        """
        empty = [np.array([], dtype=np.int64)] * (self.per_update - len(batches))
        return [
            batch[i :: partition.chunks]
            for batch in [*batches, *empty]
            for i in range(partition.chunks)
        ]

    def assign_to_ranks(
        self, batches: list[np.ndarray], partition: Partition
    ) -> list[dict[int, np.ndarray]]:
        """Return each rank's chunks of an update's micro-batches, by number."""
        chunks = dict(enumerate(self.split_into_chunks(batches, partition)))
        ranks = [
            {i: chunks[i] for i in range(rank, len(chunks), partition.world_size)}
            for rank in range(partition.world_size)
        ]
        if not partition.least_tokens:
            return ranks
        return [
            self.group_for_device(list(chunks_of_rank.values()), rank, partition)
            for rank, chunks_of_rank in enumerate(ranks)
        ]

    def group_for_device(
        self, chunks: list[np.ndarray], rank: int, partition: Partition
    ) -> dict[int, np.ndarray]:
        """Return a rank's chunks as groups that its device takes least time for."""
        own = np.concatenate(chunks)
        if not len(own):
            return {rank: own}
        sides = (self.tokens.source, self.tokens.target)
        source, target = (side.lengths_of(own) + 1 for side in sides)
        groups = group(source, target, partition.least_tokens)
        return {rank + i * partition.world_size: own[part] for i, part in enumerate(groups)}

    def load_or_idle(self, indices: np.ndarray, all_indices: np.ndarray) -> Batch:
        """Return the batch of these sentences, or if there are none a batch without a loss.

        Every rank has to take part in every update. One without sentences computes the first of the
        update's (`all_indices`) with a target that is all padding, from which nothing is learned.
        """
        if len(indices):
            return self.load(indices)
        idle = self.load(all_indices[:1])
        return Batch(idle.source, idle.target_in, torch.full_like(idle.target_out, PAD))

    def stream(
        self, epoch: int, update_in_epoch: int, partition: Partition, device: torch.device
    ) -> Iterator[UpdateBatch]:
        """Yield one rank's batches without end, beginning after an update of an epoch.

        update_in_epoch: the number of that update, 0 for the beginning of the epoch. A thread makes
        the next batch while one is used.
        """
        return prefetched(self.updates(epoch, update_in_epoch, partition, device))

    def updates(
        self, epoch: int, update_in_epoch: int, partition: Partition, device: torch.device
    ) -> Iterator[UpdateBatch]:
        """Yield the same batches as `stream`, each made when it is asked for.

        The next epoch's order is made by a thread in the second half of an epoch.
        """
        with ThreadPoolExecutor(1) as thread:
            order = thread.submit(self.epoch, epoch, partition.world_size)
            while True:
                updates = order.result()
                for number in range(update_in_epoch, len(updates)):
                    if number == max(update_in_epoch, len(updates) // 2):
                        order = thread.submit(self.epoch, epoch + 1, partition.world_size)
                    yield self.update_batch(epoch, number, updates[number], partition, device)
                if update_in_epoch >= len(updates):
                    order = thread.submit(self.epoch, epoch + 1, partition.world_size)
                epoch += 1
                update_in_epoch = 0

    def update_batch(
        self,
        epoch: int,
        number: int,
        batches: list[np.ndarray],
        partition: Partition,
        device: torch.device,
    ) -> UpdateBatch:
        """Return what one rank learns from in an update.

        number: of the update in its epoch, from 0. batches: its micro-batches' sentences.
        """
        sentences = np.concatenate(batches)
        ranks = self.assign_to_ranks(batches, partition)
        own = ranks[partition.rank]
        return UpdateBatch(
            epoch=epoch,
            update_in_epoch=number + 1,
            sentences=sentences,
            source_tokens=self.source_tokens(sentences),
            target_tokens=self.target_tokens(sentences),
            padded_tokens=sum(
                self.padded_tokens(chunk) for rank in ranks for chunk in rank.values()
            ),
            micro_batches={
                i: self.load_or_idle(chunk, sentences).to(device) for i, chunk in own.items()
            },
        )


def prefetched(batches: Iterator[UpdateBatch]) -> Iterator[UpdateBatch]:
    """Yield the batches; a thread makes the next one while one is used."""
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(next, batches)
        while True:
            batch = future.result()
            future = thread.submit(next, batches)
            yield batch
