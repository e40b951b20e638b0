"""Translation of many sentences in tokens: sorted by length, batched, and put back in order."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

from nmt.configuration import Decoding
from nmt.data.batch import pad_sources
from nmt.data.source import Source
from nmt.decoding.forced import force
from nmt.decoding.sampling import Sampling, sample
from nmt.decoding.search import Hypothesis, search
from nmt.device import enough_memory
from nmt.models.positions import reach
from nmt.models.protocol import StepModel

# B sentences, S longest source, EOS counted

LINES_TO_NAME = 10  # in one warning
ROW_TOKENS = 16_384  # source tokens times rows in one batch: bounds memory, changes no result

Item = TypeVar("Item")

# The numbers of a batch's sentences, and the hypotheses of each
TranslatedBatch = tuple[list[int], list[list[Hypothesis]]]


def translate_tokens(
    model: StepModel, sentences: list[list[int]], decoding: Decoding, n_best: int = 1
) -> Iterator[TranslatedBatch]:
    """Yield the `n_best` best hypotheses of each sentence, batch by batch, found by beam search.

    An empty source has an empty translation.
    """

    def decode(source: Source, numbers: list[int]) -> list[list[Hypothesis]]:
        limits = length_limits(model, sentences, numbers, decoding)
        return search(model, source, limits, decoding, n_best)

    yield from decode_in_batches(model, sentences, decoding.beam, decode)


def sample_tokens(
    model: StepModel,
    sentences: list[list[int]],
    decoding: Decoding,
    sampling: Sampling,
    samples: int = 1,
    first_number: int = 0,
) -> Iterator[TranslatedBatch]:
    """Yield `samples` random translations of each sentence, batch by batch.

    first_number: what sentences are numbered from where their random numbers depend on that. An
    empty source has one translation, an empty one.
    """

    def decode(source: Source, numbers: list[int]) -> list[list[Hypothesis]]:
        limits = length_limits(model, sentences, numbers, decoding)
        absolute_numbers = [first_number + number for number in numbers]
        return sample(model, source, absolute_numbers, limits, decoding, sampling, samples)

    yield from decode_in_batches(model, sentences, samples, decode)


def force_tokens(
    model: StepModel, sentences: list[list[int]], targets: list[list[int]], decoding: Decoding
) -> Iterator[TranslatedBatch]:
    """Yield the given targets with their scores, batch by batch; those of empty sources too."""
    longer_sides = [max(pair, key=len) for pair in zip(sentences, targets, strict=True)]
    for numbers in length_sorted_batches(longer_sides, 1):
        source = pad_batch(model, sentences, numbers)
        with memory_for(source, 1):
            hypotheses = force(model, source, [targets[number] for number in numbers], decoding)
        yield numbers, hypotheses


def in_order(batches: Iterable[tuple[list[int], list[Item]]], count: int) -> list[Item]:
    """Return the items of all batches in the order of their numbers, of which there are `count`."""
    items: dict[int, Item] = {}
    for numbers, values in batches:
        items.update(zip(numbers, values, strict=True))
    return [items[number] for number in range(count)]


def cut(sentences: list[list[int]], limit: int, side: str, first_line: int) -> list[list[int]]:
    """Return the first `limit` tokens of each sentence; warn of the lines that had more.

    side: what the warning calls the text. first_line: the number of the first sentence's line.
    """
    long_lines = [
        str(line) for line, sentence in enumerate(sentences, first_line) if len(sentence) > limit
    ]
    if long_lines:
        numbers = ", ".join(long_lines[:LINES_TO_NAME])
        if len(long_lines) > LINES_TO_NAME:
            numbers += f" and {len(long_lines) - LINES_TO_NAME} more"
        logging.warning(
            f"{side} line{'s' if len(long_lines) > 1 else ''} {numbers}: too long, only the first"
            f" {limit} subwords are used. Split such lines into sentences."
        )
    return [sentence[:limit] for sentence in sentences]


def length_limits(
    model: StepModel, sentences: list[list[int]], numbers: list[int], decoding: Decoding
) -> list[int]:
    """Return the most tokens that each translation may have, EOS not counted."""
    limit = reach(model) or sys.maxsize
    return [min(len(sentences[number]) + decoding.max_extra, limit) for number in numbers]


def decode_in_batches(
    model: StepModel,
    sentences: list[list[int]],
    rows: int,
    decode: Callable[[Source, list[int]], list[list[Hypothesis]]],
) -> Iterator[TranslatedBatch]:
    """Yield what `decode` makes of sources and their numbers, batch by batch.

    rows: how many a sentence has while it is decoded. Empty sentences get one empty hypothesis.
    """
    for numbers in length_sorted_batches(sentences, rows):
        nonempty = [number for number in numbers if sentences[number]]
        if nonempty:
            source = pad_batch(model, sentences, nonempty)
            with memory_for(source, rows):
                hypotheses = decode(source, nonempty)
            yield nonempty, hypotheses
        if len(nonempty) < len(numbers):
            empty = [number for number in numbers if not sentences[number]]
            yield empty, [[Hypothesis([], 0.0, 0.0)] for _ in empty]


def length_sorted_batches(sentences: list[list[int]], rows: int) -> Iterator[list[int]]:
    """Yield the numbers of sentences of similar lengths, the longest first.

    A batch that is too large for the machine thus fails at once.
    """
    order = sorted(range(len(sentences)), key=lambda number: -len(sentences[number]))
    while order:
        longest = len(sentences[order[0]]) + 1
        size = max(1, ROW_TOKENS // (rows * longest))
        yield order[:size]
        order = order[size:]


def pad_batch(model: StepModel, sentences: list[list[int]], numbers: list[int]) -> Source:
    """Put the model into evaluation mode; return sources on its device."""
    model.eval()
    source = pad_sources([sentences[number] for number in numbers])
    return source.to(next(model.parameters()).device)


def memory_for(source: Source, rows: int) -> AbstractContextManager[None]:
    """Return a context that raises UserError when there is not enough memory for the batch.

    rows: how many a sentence has while it is decoded.
    """
    sentences, length = source.tokens.shape
    return enough_memory(
        f"a batch of {sentences} x {length} subwords with {rows} hypotheses a sentence",
        "split long lines into sentences, or lower --beam or --n-best",
    )
