"""From many source sentences in tokens to translations in tokens: sorting, batching, order restored."""

from collections.abc import Iterator

import torch

from nmt.configuration import Decoding
from nmt.data.batches import pad_sources
from nmt.decoding.search import Hypothesis, search
from nmt.models.protocol import Model

ROW_TOKENS = 16_384  # source tokens times beam in one batch: bounds memory, changes no result


def translate_tokens(
    model: Model, sentences: list[list[int]], decoding: Decoding
) -> Iterator[tuple[list[int], list[Hypothesis]]]:
    """Yields (sentence numbers, their best hypotheses) batch by batch, longest sentences first.

    Longest first, so that too large a batch fails at once. An empty source gives an empty translation.
    """
    model.eval()
    device = next(model.parameters()).device
    empty = [number for number, tokens in enumerate(sentences) if not tokens]
    if empty:
        yield empty, [Hypothesis([], 0.0, 0.0)] * len(empty)
    order = sorted((n for n, tokens in enumerate(sentences) if tokens), key=lambda n: -len(sentences[n]))
    while order:
        size = max(1, ROW_TOKENS // (decoding.beam * (len(sentences[order[0]]) + 1)))
        numbers, order = order[:size], order[size:]
        sources = [sentences[number] for number in numbers]
        limits = [len(tokens) + decoding.max_extra for tokens in sources]
        source = pad_sources(sources).to(device)
        with torch.inference_mode():
            yield numbers, search(model, source, limits, decoding.beam, decoding.alpha)
