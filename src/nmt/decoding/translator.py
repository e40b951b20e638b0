"""From many source sentences in tokens to translations in tokens: sorting, batching, order
restored.
"""

import logging
import math
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from torch import Tensor

from nmt.configuration import Decoding
from nmt.data.batches import pad_sources
from nmt.decoding.forced import force
from nmt.decoding.sampling import Sampling, sample
from nmt.decoding.search import Hypothesis, search
from nmt.models.positions import reach
from nmt.models.protocol import Model

ROW_TOKENS = 16_384  # source tokens times rows in one batch: bounds memory, changes no result

Item = TypeVar("Item")

# Of a batch, by the numbers of its sentences: the hypotheses of each
Batch = tuple[list[int], list[list[Hypothesis]]]


def translate_tokens(
    model: Model, sentences: list[list[int]], decoding: Decoding, n_best: int = 1
) -> Iterator[Batch]:
    """Yields the best hypotheses of sentences batch by batch. An empty source gives an empty
    translation.
    """

    def method(source: Tensor, numbers: list[int]) -> list[list[Hypothesis]]:
        return search(model, source, limits(model, sentences, numbers, decoding), decoding, n_best)

    yield from in_batches(model, sentences, decoding.beam, method)


def sample_tokens(
    model: Model,
    sentences: list[list[int]],
    decoding: Decoding,
    sampling: Sampling,
    samples: int = 1,
    first: int = 0,
) -> Iterator[Batch]:
    """The same with translations drawn at random; `first` is the number of the first sentence, on
    which they depend.
    """

    def method(source: Tensor, numbers: list[int]) -> list[list[Hypothesis]]:
        return sample(
            model,
            source,
            [first + number for number in numbers],
            limits(model, sentences, numbers, decoding),
            decoding,
            sampling,
            samples,
        )

    yield from in_batches(model, sentences, samples, method)


def force_tokens(
    model: Model, sentences: list[list[int]], targets: list[list[int]], decoding: Decoding
) -> Iterator[Batch]:
    """The same with translations that are given, of empty sources too."""

    def method(source: Tensor, numbers: list[int]) -> list[list[Hypothesis]]:
        return force(model, source, [targets[number] for number in numbers], decoding)

    longest = [max(pair, key=len) for pair in zip(sentences, targets, strict=True)]
    for numbers in batches(longest, 1):
        yield numbers, method(together(model, sentences, numbers), numbers)


def in_order(batches: Iterable[tuple[list[int], list[Item]]], count: int) -> list[Item]:
    """Return the items of all batches in the order of their numbers, of which there are `count`."""
    items = {}
    for numbers, values in batches:
        items.update(zip(numbers, values, strict=True))
    return [items[number] for number in range(count)]


def fitted(model: Model, sentences: list[list[int]]) -> list[list[int]]:
    """The sentences, cut where they are longer than the model's positions reach."""
    most = reach(model)
    if too_long := sum(len(sentence) > most for sentence in sentences) if most else 0:
        logging.warning(
            f"{too_long} source{' is' if too_long == 1 else 's are'} longer than the model's"
            f" learned positions: only the first {most} subwords are translated. Split such lines"
            " into sentences."
        )
    return [sentence[:most] for sentence in sentences]


def limits(
    model: Model, sentences: list[list[int]], numbers: list[int], decoding: Decoding
) -> list[int]:
    """The most tokens of each translation."""
    most = reach(model) or math.inf
    return [min(len(sentences[number]) + decoding.max_extra, most) for number in numbers]


def in_batches(
    model: Model,
    sentences: list[list[int]],
    rows: int,
    method: Callable[[Tensor, list[int]], list[list[Hypothesis]]],
) -> Iterator[Batch]:
    for numbers in batches(sentences, rows):
        full = [number for number in numbers if sentences[number]]
        if full:
            yield full, method(together(model, sentences, full), full)
        if len(full) < len(numbers):
            empty = [number for number in numbers if not sentences[number]]
            yield empty, [[Hypothesis([], 0.0, 0.0)] for _ in empty]


def batches(sentences: list[list[int]], rows: int) -> Iterator[list[int]]:
    """Numbers of sentences of like lengths, the longest first, so that too large a batch fails at
    once.
    """
    order = sorted(range(len(sentences)), key=lambda number: -len(sentences[number]))
    while order:
        size = max(1, ROW_TOKENS // (rows * (len(sentences[order[0]]) + 1)))
        numbers, order = order[:size], order[size:]
        yield numbers


def together(model: Model, sentences: list[list[int]], numbers: list[int]) -> Tensor:
    """(B, S)"""
    model.eval()
    source = pad_sources([sentences[number] for number in numbers])
    return source.to(next(model.parameters()).device)
