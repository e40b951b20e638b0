"""Translation of many sentences in tokens: sorted by length, batched, and put back in order."""

import logging
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import torch

from nmt.configuration import Decoding
from nmt.data.batch import pad_sources
from nmt.data.sequences import Source
from nmt.decoding.forced import force
from nmt.decoding.sampling import Sampling, sample
from nmt.decoding.search import Hypothesis, search
from nmt.device import enough_memory
from nmt.models.protocol import StepModel

LINES_TO_NAME = 10  # in one warning
# Source tokens times rows in one batch: bounds memory, changes no result. Of few rows a GPU waits
# for the next step.
ROW_TOKENS = {"cpu": 16_384, "cuda": 262_144}

Item = TypeVar("Item")

# The numbers of a batch's sentences, and the hypotheses of each
TranslatedBatch = tuple[list[int], list[list[Hypothesis]]]
Decode = Callable[[Source, list[int]], list[list[Hypothesis]]]


def translate_tokens(
    model: StepModel, sentences: list[list[int]], decoding: Decoding, n_best: int = 1
) -> Iterator[TranslatedBatch]:
    """Yield the `n_best` best hypotheses of each sentence, batch by batch, found by beam search.

    An empty source has an empty translation.
    """

    def decode(source: Source, numbers: list[int]) -> list[list[Hypothesis]]:
        limits = length_limits(model, sentences, numbers, decoding)
        return search(model, source, limits, decoding, n_best)

    yield from decode_in_batches(model, sentences, lengths_of(sentences), decoding.beam, decode)


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

    yield from decode_in_batches(model, sentences, lengths_of(sentences), samples, decode)


def force_tokens(
    model: StepModel, sentences: list[list[int]], targets: list[list[int]], decoding: Decoding
) -> Iterator[TranslatedBatch]:
    """Yield the given targets with their scores, batch by batch; those of empty sources too."""

    def decode(source: Source, numbers: list[int]) -> list[list[Hypothesis]]:
        return force(model, source, [targets[number] for number in numbers], decoding)

    lengths = [max(map(len, pair)) for pair in zip(sentences, targets, strict=True)]
    yield from decode_in_batches(model, sentences, dict(enumerate(lengths)), 1, decode)


def in_order(
    batches: Iterable[tuple[list[int], list[Item]]],
    count: int,
    tell: Callable[[int], None] = lambda size: None,
) -> list[Item]:
    """Return the `count` items of all batches by their numbers; `tell` the size of each batch."""
    items: dict[int, Item] = {}
    for numbers, values in batches:
        items.update(zip(numbers, values, strict=True))
        tell(len(numbers))
    return [items[number] for number in range(count)]


def cut(sentences: list[list[int]], limit: int, side: str, first_line: int) -> list[list[int]]:
    """Return the first `limit` tokens of each sentence; warn of the lines that had more.

    side: what the warning calls the text. first_line: the number of the first sentence's line.
    """
    lines = [line for line, tokens in enumerate(sentences, first_line) if len(tokens) > limit]
    if lines:
        named = ", ".join(map(str, lines[:LINES_TO_NAME]))
        more = f" and {len(lines) - LINES_TO_NAME} more" if len(lines) > LINES_TO_NAME else ""
        logging.warning(
            f"{side} line {named}{more}: too long, only the first {limit} subwords are used. Split"
            " such lines into sentences."
        )
    return [tokens[:limit] for tokens in sentences]


def length_limits(
    model: StepModel, sentences: list[list[int]], numbers: list[int], decoding: Decoding
) -> list[int]:
    """Return the most tokens that each translation may have, EOS not counted."""
    limit = model.reach or sys.maxsize
    return [min(len(sentences[number]) + decoding.max_extra, limit) for number in numbers]


def lengths_of(sentences: list[list[int]]) -> dict[int, int]:
    """Return the length of each sentence that is not empty, by its number."""
    return {number: len(tokens) for number, tokens in enumerate(sentences) if tokens}


def decode_in_batches(
    model: StepModel,
    sentences: list[list[int]],
    lengths: dict[int, int],
    rows: int,
    decode: Decode,
) -> Iterator[TranslatedBatch]:
    """Yield what `decode` makes of sources and their numbers, by batches of similar lengths.

    lengths: by the numbers of the sentences to decode; all others get one hypothesis, an empty one.
    rows: how many a sentence has while it is decoded. The longest come first. A batch that is too
    large for a GPU's memory is halved; raises UserError where a single sentence is.
    """
    model.eval()
    device = next(model.parameters()).device
    waiting = list(length_sorted_batches(lengths, rows, device))[::-1]
    while waiting:
        numbers = waiting.pop()
        source = pad_sources([sentences[number] for number in numbers]).to(device)
        with enough_memory(
            f"a batch of {len(numbers)} sentences with {rows} hypotheses each",
            "split long lines into sentences, or lower --beam or --n-best",
        ):
            try:
                # Another thread than the one that chose the device may be at work.
                with torch.cuda.device_of(source.tokens):
                    hypotheses = decode(source, numbers)
            except torch.OutOfMemoryError:
                if len(numbers) == 1:
                    raise
                waiting += [numbers[len(numbers) // 2 :], numbers[: len(numbers) // 2]]
                continue
        yield numbers, hypotheses
    empty = [number for number in range(len(sentences)) if number not in lengths]
    if empty:
        yield empty, [[Hypothesis([], 0.0, 0.0)] for _ in empty]


def length_sorted_batches(
    lengths: dict[int, int], rows: int, device: torch.device
) -> Iterator[list[int]]:
    """Yield the numbers of sentences in batches of similar lengths, the longest first.

    lengths: by the numbers of the sentences. rows: how many a sentence has in a batch.
    """
    order = sorted(lengths, key=lambda number: -lengths[number])
    while order:
        size = max(1, ROW_TOKENS[device.type] // (rows * (lengths[order[0]] + 1)))
        yield order[:size]
        order = order[size:]
