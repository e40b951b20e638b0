"""Sentences packed into rows: all of them, once, apart from one another."""

from itertools import chain, islice

import numpy as np
import pytest
import torch

from nmt.data.batches import Batches, Partition
from nmt.data.packing import LEAST_LENGTH, MOST_SEGMENTS, Packing, few_sizes
from nmt.data.sequences import Sequences, Source
from nmt.data.tokens import ParallelTokens
from nmt.text.subwords import BOS, EOS, PAD
from tests.support.families import parallel_tokens, random_model

CPU = torch.device("cpu")
LENGTHS = {
    "alike": (9, 12),
    "short": (1, 3),
    "any": (1, 39),
    "long": (30, 39),
}


def nearly_equal(lengths: tuple[int, int], count: int = 300) -> ParallelTokens:
    """Return random pairs, whose sides have nearly the same length."""
    rng = np.random.default_rng(1)
    length = rng.integers(*lengths, count)
    return parallel_tokens(*(length + rng.integers(-2, 3, (2, count))).clip(*lengths))


def sentences_of(rows) -> list[list[int]]:
    """Return the tokens of each sentence, by their segments and positions."""
    sentences = []
    for tokens, positions, segments in zip(rows.tokens, rows.positions, rows.segments, strict=True):
        for number in range(int(segments.max()) + 1):
            own = segments == number
            assert positions[own].tolist() == list(range(int(own.sum())))
            sentences.append(tokens[own].tolist())
    return sentences


@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_every_pair_is_in_a_row_once_and_whole(lengths, rows):
    tokens = nearly_equal(lengths)
    packing = Packing(40, rows)
    expected = [
        (
            [*tokens.source[i].tolist(), EOS],
            [BOS, *tokens.target[i].tolist()],
            [*tokens.target[i].tolist(), EOS],
        )
        for i in range(len(tokens))
    ]
    pairs = []
    for batch in packing.micro_batches(tokens, np.arange(len(tokens))):
        outputs = [row[row != PAD].tolist() for row in batch.target_out]
        targets = sentences_of(batch.target)
        assert batch.source.tokens.shape == batch.target_out.shape
        assert len(batch.target_out) <= rows
        assert batch.target_out.size(1) == 40
        assert batch.source.segments.max() < MOST_SEGMENTS == batch.source.most_segments
        assert ((batch.source.segments < 0) == batch.source.padding).all()
        assert ((batch.target.segments < 0) == (batch.target_out == PAD)).all()
        # What follows one another in a row is written one after the other.
        ends = [[*target[1:], EOS] for target in targets]
        assert list(chain(*outputs)) == list(chain(*ends))
        pairs += zip(sentences_of(batch.source), targets, ends, strict=True)
    assert sorted(pairs) == sorted(expected)


def test_rows_are_nearly_full():
    tokens = nearly_equal((1, 39), count=3000)
    batches = Batches(tokens, budget=500, seed=1, per_update=8)
    partition = Partition(packing=Packing.of(40))
    updates = list(islice(batches.updates(1, 0, partition, CPU), 8))
    places = [b.target_out.numel() for update in updates for b in update.micro_batches.values()]
    assert len(places) == len(updates)
    assert sum(update.target_tokens for update in updates) > 0.85 * sum(places)


def test_micro_batches_have_few_shapes():
    sizes = {few_sizes(rows, 1000) for rows in range(1, 1001)}
    assert len(sizes) < 120
    assert all(rows <= few_sizes(rows, 1000) <= 17 / 16 * rows for rows in range(1, 1001))
    assert few_sizes(99, 99) == 99


def test_a_device_s_tokens_bound_the_rows_and_nothing_is_lost():
    batches = Batches(nearly_equal((1, 39), 3000), budget=4000, seed=1)
    packing = Packing.of(40, device_tokens=1000)
    assert packing == Packing(LEAST_LENGTH, 1000 // LEAST_LENGTH)
    update = next(batches.updates(1, 0, Partition(packing=packing), CPU))
    real = sum(int((b.target_out != PAD).sum()) for b in update.micro_batches.values())
    assert real == update.target_tokens


PACKED = (
    *("transformer", "transformer-relative", "transformer-xl", "transformer-neighborhood"),
    *("decoder-only-rotary", "decoder-only-xl"),
)


@pytest.mark.parametrize("family", PACKED)
def test_a_sentence_in_a_row_has_the_states_that_it_has_alone(family):
    """So nothing leaks from one sentence of a row to another."""
    (batch,) = Packing(60, 2).micro_batches(nearly_equal((3, 9), count=12), np.arange(12))
    model = random_model(family)
    packed = model(batch.source, batch.target).target
    for row, segment in ((0, 0), (0, 2), (1, 1)):
        inside = batch.target.segments[row] == segment
        of_source = batch.source.tokens[row, batch.source.segments[row] == segment]
        source = Source.padded(of_source[None], torch.tensor([len(of_source)]))
        alone = model(source, Sequences.of(batch.target.tokens[row, inside][None])).target
        torch.testing.assert_close(packed[row, inside], alone[0], rtol=0, atol=1e-9)
