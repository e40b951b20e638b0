"""Batches of a fixed token budget over length-sorted sentences, a pure function of seed and epoch."""

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
    source: Tensor  # (B, S): tokens EOS
    target_in: Tensor  # (B, T): BOS tokens
    target_out: Tensor  # (B, T): tokens EOS

    def to(self, device: torch.device) -> "Batch":
        """On a GPU the copies are only begun: what is computed there later waits for them."""
        if device.type == "cuda":
            return Batch(*(part.pin_memory().to(device, non_blocking=True) for part in vars(self).values()))
        return self


@dataclass(frozen=True)
class Division:
    """How the batches of an update are shared out.

    Each is cut into `slices`; of all these parts process `rank` of `processes` has every `processes`-th from number
    `rank` on, and learns from one after the other.
    """

    rank: int = 0
    processes: int = 1
    slices: int = 1

    @classmethod
    def coarsest(cls, training: Training, rank: int, processes: int, device_tokens: int = 0) -> "Division":
        """In as few slices as give all processes the same number of parts, of at most about `device_tokens` tokens of
        a side (0: no limit): slices are of whole sentences."""
        for slices in itertools.count(1):
            parts = training.batches * slices
            if parts % processes == 0 and (not device_tokens or training.batch_tokens <= parts * device_tokens):
                return cls(rank, processes, slices)


@dataclass(frozen=True)
class Share:
    """What one process has of an update."""

    epoch: int
    position: int  # updates of the epoch done with this one
    sentences: np.ndarray  # of the whole update, all processes together
    source_tokens: int  # of the whole update, without padding, EOS counted
    target_tokens: int
    positions: int  # of both sides of all parts, padding included
    parts: dict[int, Batch]  # this process's own, by their number


class Batches:
    """All sentences of an epoch in batches of at most `budget` source and `budget` target tokens, padding included.

    The sentences of a batch are of one length, nearly; an update learns from `together` batches of any lengths.

    Raises UserError when a sentence alone is over the budget.
    """

    def __init__(self, tokens: ParallelTokens, budget: int, seed: int, together: int = 1):
        self.tokens, self.budget, self.seed, self.together = tokens, budget, seed, together
        self.source_lengths, self.target_lengths = tokens.source.lengths + 1, tokens.target.lengths + 1
        longest = int(max(self.source_lengths.max(), self.target_lengths.max()))
        if longest > budget:
            each = f" in {together} batches" if together > 1 else ""
            raise UserError(
                f"a sentence of {longest} tokens does not fit batch_tokens {budget * together}{each}: raise it."
            )

    @classmethod
    def of(cls, tokens: ParallelTokens, training: Training, seed: int) -> "Batches":
        """Those that a row is trained on."""
        return cls(tokens, training.batch_tokens // training.batches, seed, training.batches)

    @classmethod
    def for_evaluation(cls, tokens: ParallelTokens) -> "Batches":
        """Those that a loss is measured on: small, whatever the row's; a sentence that is longer is alone."""
        longest = max(side.lengths.max(initial=0) + 1 for side in (tokens.source, tokens.target))
        return cls(tokens, max(EVALUATION_TOKENS, int(longest)), seed=0)

    def in_order(self) -> list[np.ndarray]:
        """Sentence numbers batch by batch, shortest first: for the dev set."""
        return self.cut(self.by_length(np.arange(len(self.source_lengths))))

    def epoch(self, number: int) -> list[list[np.ndarray]]:
        """Sentence numbers by update and batch: shuffled among equal lengths, and the batches shuffled."""
        random = np.random.default_rng([self.seed, number])
        shuffled = random.permutation(len(self.source_lengths))
        batches = self.cut(self.by_length(shuffled))
        mixed = [batches[i] for i in random.permutation(len(batches))]
        return [mixed[i : i + self.together] for i in range(0, len(mixed), self.together)]

    def by_length(self, numbers: np.ndarray) -> np.ndarray:
        """By the longer side, which is what fills the budget; the difference between the sides rises and falls in turn,
        so that all neighbors are alike in both."""
        source, target = self.source_lengths[numbers], self.target_lengths[numbers]
        longer, difference = np.maximum(source, target), source - target
        return numbers[np.lexsort((np.where(longer % 2, difference, -difference), longer))]

    def cut(self, order: np.ndarray) -> list[np.ndarray]:
        batches, start, widest = [], 0, 0
        widths = np.maximum(self.source_lengths, self.target_lengths)[order].tolist()
        for position, width in enumerate(widths):
            widest = max(widest, width)
            if (position - start + 1) * widest > self.budget:
                batches.append(order[start:position])
                start, widest = position, width
        return [*batches, order[start:]]

    def load(self, numbers: np.ndarray) -> Batch:
        source = padded(self.tokens.source, numbers)
        target = padded(self.tokens.target, numbers)
        first = torch.full((len(numbers), 1), BOS)
        without_end = target.masked_fill(target == EOS, PAD)[:, :-1]
        return Batch(source, torch.cat([first, without_end], dim=1), target)

    def target_tokens(self, numbers: np.ndarray) -> int:
        """Of these sentences, EOS counted."""
        return int(self.target_lengths[numbers].sum())

    def positions(self, numbers: np.ndarray) -> int:
        """Of both sides of these sentences as one batch, padding included."""
        return sum(
            len(numbers) * int(side[numbers].max(initial=0)) for side in (self.source_lengths, self.target_lengths)
        )

    def padding(self) -> float:
        """The share of an epoch's positions that is padding."""
        positions = sum(map(self.positions, itertools.chain.from_iterable(self.epoch(1))))
        return 1 - int(self.source_lengths.sum() + self.target_lengths.sum()) / positions

    def parts(self, batches: list[np.ndarray], division: Division) -> list[np.ndarray]:
        """The sentences of each part of an update, of which the last one of an epoch may have few batches: some parts
        may be empty."""
        none = [np.array([], dtype=np.int64)] * (self.together - len(batches))
        return [batch[i :: division.slices] for batch in [*batches, *none] for i in range(division.slices)]

    def load_part(self, numbers: np.ndarray, other: np.ndarray) -> Batch:
        """Without sentences it is the first of `other` with a target that is all padding: a process takes part in
        every update, and nothing is to be learned from it."""
        if len(numbers):
            return self.load(numbers)
        idle = self.load(other[:1])
        return Batch(idle.source, idle.target_in, torch.full_like(idle.target_out, PAD))

    def stream(self, epoch: int, position: int, division: Division, device: torch.device) -> Iterator[Share]:
        """One process's shares without end, from update `position` of `epoch` on.

        The next is made while one is used.
        """
        return prefetched(self.shares(epoch, position, division, device))

    def shares(self, epoch: int, position: int, division: Division, device: torch.device) -> Iterator[Share]:
        while True:
            updates = self.epoch(epoch)
            for done, batches in enumerate(updates[position:], start=position + 1):
                sentences, parts = np.concatenate(batches), self.parts(batches, division)
                own = range(division.rank, len(parts), division.processes)
                loaded = {i: self.load_part(parts[i], sentences).to(device) for i in own}
                real = [int(side[sentences].sum()) for side in (self.source_lengths, self.target_lengths)]
                yield Share(epoch, done, sentences, *real, sum(map(self.positions, parts)), loaded)
            epoch, position = epoch + 1, 0


def prefetched(items: Iterator[Share]) -> Iterator[Share]:
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items)
        while True:
            item = coming.result()
            coming = thread.submit(next, items)
            yield item


def padded(ragged: Ragged, numbers: np.ndarray) -> Tensor:
    """The sentences' tokens with EOS after each, filled up with PAD: (B, longest + 1), by array indexing alone."""
    starts, lengths = ragged.offsets[numbers], ragged.lengths[numbers]
    columns = np.arange(lengths.max() + 1)
    inside = columns < lengths[:, None]
    rows = np.full(inside.shape, PAD, dtype=np.int64)
    rows[inside] = ragged.tokens[(starts[:, None] + columns)[inside]]
    rows[np.arange(len(rows)), lengths] = EOS
    return torch.from_numpy(rows)


def pad_sources(sentences: list[list[int]]) -> Tensor:
    """Sources for search from lists of tokens: (B, longest + 1)."""
    return pad([[*tokens, EOS] for tokens in sentences])


def pad(rows: list[list[int]]) -> Tensor:
    """(B, longest), filled up with PAD"""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
