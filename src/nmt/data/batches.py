"""Batches of a token budget over length-sorted sentences: a function of seed and epoch."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmt.configuration import Training
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.errors import UserError
from nmt.text.subwords import BOS, EOS, PAD

# B sentences, S source length, T target length

EVALUATION_TOKENS = 4096  # of a side: where a model can be trained there is room for these


@dataclass(frozen=True)
class Batch:
    """Sentence pairs that go through a model together."""

    source: Tensor  # (B, S): tokens EOS
    target_in: Tensor  # (B, T): BOS tokens
    target_out: Tensor  # (B, T): tokens EOS

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device; copies to a GPU are only begun, and waited for there."""
        if device.type == "cuda":
            tensors = (self.source, self.target_in, self.target_out)
            return Batch(*(x.pin_memory().to(device, non_blocking=True) for x in tensors))
        return self


@dataclass(frozen=True)
class Partition:
    """How the micro-batches of an update are divided among ranks.

    Each of the row's micro-batches is cut into `splits`; of all these the process of this rank
    computes every `world_size`-th from number `rank` on, one after the other.
    """

    rank: int = 0
    world_size: int = 1
    splits: int = 1

    @classmethod
    def coarsest(
        cls, training: Training, rank: int, world_size: int, device_tokens: int = 0
    ) -> "Partition":
        """Return the partition with the fewest splits that gives every rank as many micro-batches.

        device_tokens: at most about so many tokens of a side in a micro-batch, whose sentences stay
        whole; 0: no limit.
        """
        splits = 1
        while True:
            count = training.micro_batches * splits
            fits = not device_tokens or training.batch_tokens <= count * device_tokens
            if count % world_size == 0 and fits:
                return cls(rank, world_size, splits)
            splits += 1


@dataclass(frozen=True)
class UpdateBatch:
    """What an update learns from: counts over all ranks, and this rank's own micro-batches."""

    epoch: int
    position: int  # updates of the epoch done with this one
    sentences: np.ndarray  # numbers, over all ranks
    source_tokens: int  # over all ranks, without padding, EOS counted
    target_tokens: int
    positions: int  # of both sides of all micro-batches, padding included
    micro_batches: dict[int, Batch]  # this rank's own, by their number


class Batches:
    """All sentences of an epoch in micro-batches of a token budget.

    A micro-batch has at most `budget` source and `budget` target tokens, padding included, in
    sentences of nearly one length; an update learns from `per_update` micro-batches of any lengths.

    Raises UserError when a sentence alone is over the budget.
    """

    def __init__(self, tokens: ParallelTokens, budget: int, seed: int, per_update: int = 1):
        self.tokens = tokens
        self.budget = budget
        self.seed = seed
        self.per_update = per_update
        self.source_lengths = tokens.source.lengths + 1
        self.target_lengths = tokens.target.lengths + 1
        longest = int(max(self.source_lengths.max(), self.target_lengths.max()))
        if longest > budget:
            divided = f" in {per_update} micro-batches" if per_update > 1 else ""
            raise UserError(
                f"a sentence of {longest} tokens does not fit batch_tokens {budget * per_update}"
                f"{divided}: raise it."
            )

    @classmethod
    def for_training(cls, tokens: ParallelTokens, training: Training, seed: int) -> "Batches":
        """Return the batches that a row is trained on."""
        count = training.micro_batches
        return cls(tokens, training.batch_tokens // count, seed, count)

    @classmethod
    def for_evaluation(cls, tokens: ParallelTokens) -> "Batches":
        """Return the batches that a loss is measured on.

        They are small, whatever the row's; a sentence that is longer is alone in its batch.
        """
        longest = max(side.lengths.max(initial=0) + 1 for side in (tokens.source, tokens.target))
        return cls(tokens, max(EVALUATION_TOKENS, int(longest)), seed=0)

    def in_order(self) -> list[np.ndarray]:
        """Return sentence numbers batch by batch, shortest first: for the dev set."""
        return self.cut(self.by_length(np.arange(len(self.source_lengths))))

    def epoch(self, number: int) -> list[list[np.ndarray]]:
        """Return the sentence numbers of an epoch by update and micro-batch.

        Sentences of equal lengths are shuffled, and so are micro-batches.
        """
        random = np.random.default_rng([self.seed, number])
        shuffled = random.permutation(len(self.source_lengths))
        batches = self.cut(self.by_length(shuffled))
        mixed = [batches[i] for i in random.permutation(len(batches))]
        return [mixed[i : i + self.per_update] for i in range(0, len(mixed), self.per_update)]

    def by_length(self, numbers: np.ndarray) -> np.ndarray:
        """Return the numbers sorted by the longer side, which is what fills the budget.

        The difference between the sides rises and falls in turn, so that neighbors are alike in
        both.
        """
        source, target = self.source_lengths[numbers], self.target_lengths[numbers]
        longer, difference = np.maximum(source, target), source - target
        return numbers[np.lexsort((np.where(longer % 2, difference, -difference), longer))]

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        """Return consecutive pieces of the order, each as large as the budget allows."""
        batches, start, widest = [], 0, 0
        widths = np.maximum(self.source_lengths, self.target_lengths)[order].tolist()
        for position, width in enumerate(widths):
            widest = max(widest, width)
            if (position - start + 1) * widest > self.budget:
                batches.append(order[start:position])
                start, widest = position, width
        return [*batches, order[start:]]

    def load(self, numbers: np.ndarray) -> Batch:
        """Return the batch of these sentences."""
        source = padded(self.tokens.source, numbers)
        target = padded(self.tokens.target, numbers)
        first = torch.full((len(numbers), 1), BOS)
        without_end = target.masked_fill(target == EOS, PAD)[:, :-1]
        return Batch(source, torch.cat([first, without_end], dim=1), target)

    def target_tokens(self, numbers: np.ndarray) -> int:
        """Return the number of target tokens of these sentences, EOS counted."""
        return int(self.target_lengths[numbers].sum())

    def positions(self, numbers: np.ndarray) -> int:
        """Return the positions of both sides of these sentences as one batch, padding included."""
        sides = (self.source_lengths, self.target_lengths)
        return sum(len(numbers) * int(side[numbers].max(initial=0)) for side in sides)

    def padding(self) -> float:
        """Return the fraction of an epoch's positions that is padding."""
        positions = sum(map(self.positions, itertools.chain.from_iterable(self.epoch(1))))
        return 1 - int(self.source_lengths.sum() + self.target_lengths.sum()) / positions

    def split(self, batches: list[np.ndarray], partition: Partition) -> list[np.ndarray]:
        """Return the sentences of each micro-batch of an update, cut into the partition's splits.

        The last update of an epoch may have few micro-batches: some may be empty.
        """
        empty = [np.array([], dtype=np.int64)] * (self.per_update - len(batches))
        return [
            batch[i :: partition.splits]
            for batch in [*batches, *empty]
            for i in range(partition.splits)
        ]

    def load_or_idle(self, numbers: np.ndarray, others: np.ndarray) -> Batch:
        """Return the batch of these sentences, or where there are none one without a loss.

        That is the first of `others` with a target that is all padding: every rank takes part in
        every update, and nothing is learned from it.
        """
        if len(numbers):
            return self.load(numbers)
        idle = self.load(others[:1])
        return Batch(idle.source, idle.target_in, torch.full_like(idle.target_out, PAD))

    def stream(
        self, epoch: int, position: int, partition: Partition, device: torch.device
    ) -> Iterator[UpdateBatch]:
        """Yield one rank's batches without end, from update `position` of `epoch` on.

        The next is made while one is used.
        """
        return prefetched(self.updates(epoch, position, partition, device))

    def updates(
        self, epoch: int, position: int, partition: Partition, device: torch.device
    ) -> Iterator[UpdateBatch]:
        """Yield one rank's batches without end, each made when it is asked for."""
        while True:
            updates = self.epoch(epoch)
            for update, batches in enumerate(updates[position:], start=position + 1):
                sentences = np.concatenate(batches)
                parts = self.split(batches, partition)
                own = range(partition.rank, len(parts), partition.world_size)
                yield UpdateBatch(
                    epoch=epoch,
                    position=update,
                    sentences=sentences,
                    source_tokens=int(self.source_lengths[sentences].sum()),
                    target_tokens=int(self.target_lengths[sentences].sum()),
                    positions=sum(map(self.positions, parts)),
                    micro_batches={
                        i: self.load_or_idle(parts[i], sentences).to(device) for i in own
                    },
                )
            epoch, position = epoch + 1, 0


def prefetched(items: Iterator[UpdateBatch]) -> Iterator[UpdateBatch]:
    """Yield the items, the next being made in a thread while one is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items)
        while True:
            item = coming.result()
            coming = thread.submit(next, items)
            yield item


def padded(ragged: Ragged, numbers: np.ndarray) -> Tensor:
    """Return the sentences' tokens with EOS after each, filled up with PAD: (B, longest + 1)."""
    starts, lengths = ragged.offsets[numbers], ragged.lengths[numbers]
    columns = np.arange(lengths.max() + 1)
    inside = columns < lengths[:, None]
    rows = np.full(inside.shape, PAD, dtype=np.int64)
    rows[inside] = ragged.tokens[(starts[:, None] + columns)[inside]]
    rows[np.arange(len(rows)), lengths] = EOS
    return torch.from_numpy(rows)


def pad_sources(sentences: list[list[int]]) -> Tensor:
    """Return sources for search from lists of tokens: (B, longest + 1)."""
    return pad([[*tokens, EOS] for tokens in sentences])


def pad(rows: list[list[int]]) -> Tensor:
    """Return the rows filled up with PAD: (B, longest)."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
