"""Batches of a token budget, of sentences of similar lengths; or of so many sentences.

This module has the part of torch's BatchSampler (`Batches.epoch`) and of its DataLoader
(`Batches.stream`). Which sentences an update learns from depends on seed, epoch and the update's
number alone, so training can go on in the middle of an epoch, and on any number of ranks.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch

from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch, padded_batch
from nmt.data.packing import Packing
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError

EVALUATION_TOKENS = 4096  # per side, few enough for any machine that can train the model

# n sentences


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


class Batches:
    """Micro-batches of a token budget, which have every sentence once an epoch.

    A micro-batch has sentences of similar lengths, and at most `budget` source tokens and `budget`
    target tokens, padding included. An update learns from `per_update` micro-batches, whose lengths
    may differ. Sentences are known by their indices in `tokens`; source_lengths, target_lengths and
    longer_sides (n,) count EOS. With `sentences` an update has so many sentences of any lengths,
    which are divided into micro-batches by length: the gradient is a sum over all of them.

    Raises UserError when a sentence alone is over the budget.
    """

    def __init__(
        self,
        tokens: ParallelTokens,
        budget: int,
        seed: int,
        per_update: int = 1,
        sentences: int | None = None,
    ):
        self.tokens = tokens
        self.seed = seed
        self.per_update = per_update
        self.sentences = sentences
        self.source_lengths = tokens.source.lengths.astype(np.int32) + 1
        self.target_lengths = tokens.target.lengths.astype(np.int32) + 1
        self.longer_sides = np.maximum(self.source_lengths, self.target_lengths)
        longest = int(self.longer_sides.max(initial=0))
        self.budget = -(-sentences // per_update) * longest if sentences else budget
        if longest > self.budget:
            divided = f" in {per_update} micro-batches" if per_update > 1 else ""
            raise UserError(
                f"a sentence of {longest} tokens does not fit batch_tokens"
                f" {budget * per_update}{divided}: raise it."
            )

    @classmethod
    def for_training(cls, tokens: ParallelTokens, training: Training, seed: int) -> "Batches":
        """Return the batches that an experiment is trained on."""
        count = training.micro_batches
        if training.batch_sentences:
            return cls(tokens, 0, seed, count, training.batch_sentences)
        assert training.batch_tokens
        return cls(tokens, training.batch_tokens // count, seed, count)

    @classmethod
    def for_evaluation(cls, tokens: ParallelTokens) -> "Batches":
        """Return the batches that a loss is measured on.

        They are small, however large those of training are; a sentence that is longer than
        EVALUATION_TOKENS is alone in its batch.
        """
        longest = max(side.lengths.max(initial=0) + 1 for side in (tokens.source, tokens.target))
        return cls(tokens, max(EVALUATION_TOKENS, int(longest)), seed=0)

    def in_order(self) -> list[np.ndarray]:
        """Return the sentences' indices, batch by batch, the shortest first: for the dev set."""
        return self.micro_batches(np.arange(len(self.tokens)), self.budget)

    def epoch(self, number: int) -> list[list[np.ndarray]]:
        """Return an epoch's updates, each as its micro-batches' sentences.

        Sentences of equal lengths are shuffled, and so are micro-batches.
        """
        rng = np.random.default_rng([self.seed, number])
        order = rng.permutation(len(self.tokens))
        if self.sentences:
            updates = np.split(order, range(self.sentences, len(order), self.sentences))
            ordered = [by_length(u, self.source_lengths, self.target_lengths) for u in updates]
            return [np.array_split(update, self.per_update) for update in ordered]
        batches = self.micro_batches(order, self.budget)
        shuffled = [batches[i] for i in rng.permutation(len(batches))]
        starts = range(0, len(shuffled), self.per_update)
        return [shuffled[start : start + self.per_update] for start in starts]

    def micro_batches(self, indices: np.ndarray, budget: int) -> list[np.ndarray]:
        """Return the sentences by length, in as few batches as the budget allows."""
        indices = by_length(indices, self.source_lengths, self.target_lengths)
        return np.split(indices, cut(self.longer_sides[indices], budget)[1:-1])

    def load(self, indices: np.ndarray) -> Batch:
        """Return the batch of these sentences, one a row."""
        return padded_batch(self.tokens.source, self.tokens.target, indices)

    def part_of_rank(self, batches: list[np.ndarray], partition: Partition) -> dict[int, Batch]:
        """Return the micro-batches of an update that a rank computes, by number.

        There are none where an update has fewer sentences than there are ranks.
        """
        chunks = [
            batch[i :: partition.chunks] for batch in batches for i in range(partition.chunks)
        ]
        numbers = range(partition.rank, len(chunks), partition.world_size)
        own = {number: chunks[number] for number in numbers if len(chunks[number])}
        if not own or not (partition.packing or partition.least_tokens):
            return {number: self.load(chunk) for number, chunk in own.items()}
        together = np.concatenate(list(own.values()))
        if partition.packing:
            made = partition.packing.micro_batches(self.tokens, together)
        else:
            groups = self.micro_batches(together, partition.least_tokens // 2)
            made = [self.load(group) for group in groups]
        return {partition.rank + i * partition.world_size: batch for i, batch in enumerate(made)}

    def stream(
        self, epoch: int, update_in_epoch: int, partition: Partition, device: torch.device
    ) -> Iterator[UpdateBatch]:
        """Yield one rank's batches without end, beginning after an update of an epoch.

        update_in_epoch: the number of that update, 0 for the beginning of the epoch. A thread makes
        the next batch while one is used.
        """
        batches = self.updates(epoch, update_in_epoch, partition, device)
        with ThreadPoolExecutor(1) as thread:
            future = thread.submit(next, batches)
            while True:
                batch = future.result()
                future = thread.submit(next, batches)
                yield batch

    def updates(
        self, epoch: int, update_in_epoch: int, partition: Partition, device: torch.device
    ) -> Iterator[UpdateBatch]:
        """Yield the same batches as `stream`, each made when it is asked for."""
        while True:
            updates = self.epoch(epoch)
            for number, batches in enumerate(updates[update_in_epoch:], update_in_epoch + 1):
                sentences = np.concatenate(batches)
                own = self.part_of_rank(batches, partition)
                yield UpdateBatch(
                    epoch=epoch,
                    update_in_epoch=number,
                    sentences=sentences,
                    source_tokens=int(self.source_lengths[sentences].sum()),
                    target_tokens=int(self.target_lengths[sentences].sum()),
                    micro_batches={i: batch.to(device) for i, batch in own.items()},
                )
            epoch, update_in_epoch = epoch + 1, 0


def by_length(indices: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the sentences' indices sorted by the length of the longer side.

    Among sentences that are equal in it, the difference between the sides rises at odd lengths and
    falls at even ones, so that neighbors have similar lengths on both sides. Among sentences equal
    in both lengths, the order stays. source, target: the lengths of all sentences.
    """
    source, target = source[indices], target[indices]
    longer = np.maximum(source, target)
    difference = np.where(longer % 2, source - target, target - source)
    return indices[np.lexsort((difference, longer))]


def cut(lengths: np.ndarray, budget: int) -> list[int]:
    """Return where each micro-batch begins, and where the last one ends.

    Each has as many sentences as the budget allows when all are as long as the longest, and at
    least one. lengths: of the sentences in order, (n,).
    """
    starts = [0]
    while starts[-1] < len(lengths):
        start = starts[-1]
        window = lengths[start : start + max(1, budget // int(lengths[start]))]
        tokens = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        starts.append(start + max(1, int(np.searchsorted(tokens, budget, side="right"))))
    return starts
