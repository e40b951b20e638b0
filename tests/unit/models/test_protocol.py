"""Properties of every family (tests/support/families.py lists them)."""

import pytest
import torch

from nmt.data.sequences import Sequences, Source
from nmt.models.protocol import BOS
from nmt.training.objective import cross_entropy
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)

LENGTHS = [5, 1, 9, 4]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(params=FAMILIES)
def model(request):
    return random_model(request.param)


def logits(model, source, target):
    """Return the logits of teacher forcing: (B, T, V)."""
    return model.output(model(source, target).target)


def select(source, numbers):
    """Return the sentences of these numbers."""
    return Source.padded(source.tokens[numbers], source.lengths[numbers])


def test_each_cached_step_equals_the_full_forward_pass(model):
    source = sources(random_sentences(LENGTHS))
    target = target_inputs(random_sentences([6] * 4, seed=1))
    full = logits(model, source, target).log_softmax(-1)
    state = model.start(source)
    state.reorder(torch.arange(4)[:, None], steps=target.tokens.size(1))
    for position, tokens in enumerate(target.tokens.unbind(1)):
        step = model.step(tokens, state)
        torch.testing.assert_close(model.output(step).log_softmax(-1), full[:, position], **EXACT)


def test_beams_of_a_sentence_are_independent_and_follow_reordering(model):
    source = sources(random_sentences(LENGTHS))
    tokens = torch.tensor(random_sentences([6] * 12, seed=1))
    sentences = torch.arange(4)
    prefixes = torch.full((4, 1), BOS)
    state = model.start(source)
    state.reorder(sentences[:, None])
    # Three beams of each sentence change places; then sentences 2 and 0 go on, in this order, and
    # at last 0 alone, with two beams.
    first = [[0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3]]
    second = [[0, 2, 1], [5, 4, 3], [6, 6, 7], [9, 10, 11]]
    orders = [first, second, [[8, 6, 6], [2, 1, 0]], [[0, 1, 1], [5, 5, 3]], [[4, 3]], [[0, 1]]]
    for position, order in enumerate(orders):
        step = model.step(prefixes[:, -1], state)
        beam = len(prefixes) // len(sentences)
        repeated = select(source, sentences.repeat_interleave(beam))
        full = logits(model, repeated, Sequences.of(prefixes))
        torch.testing.assert_close(model.output(step), full[:, -1], **EXACT)
        rows = torch.tensor(order)
        state.reorder(rows)
        sentences = sentences[rows[:, 0] // beam]
        new = tokens[: rows.numel(), [position]]
        prefixes = torch.cat([prefixes[rows.flatten()], new], 1)


def test_padding_changes_neither_values_nor_gradients(model):
    sentences, targets = random_sentences(LENGTHS), random_sentences([3, 8, 2, 5], seed=1)

    def loss_and_gradients(sentences, targets):
        model.zero_grad()
        hidden = model(sources(sentences), target_inputs(targets))
        target_out = target_outputs(targets)
        total, _ = cross_entropy(hidden.target, model.output, target_out, 0.1)
        if hidden.source is not None:
            states, predicted = hidden.source
            total = total + cross_entropy(states, model.output, predicted, 0.0)[0]
        total.backward()
        gradients = {
            name: torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.clone()
            for name, parameter in model.named_parameters()
        }
        return total.item(), gradients

    batch_loss, batch_gradients = loss_and_gradients(sentences, targets)
    pairs = zip(sentences, targets, strict=True)
    losses, gradients = zip(
        *(loss_and_gradients([source], [target]) for source, target in pairs), strict=True
    )
    assert batch_loss == pytest.approx(sum(losses), rel=1e-9)
    for name, gradient in batch_gradients.items():
        expected = sum(of_pair[name] for of_pair in gradients)
        torch.testing.assert_close(gradient, expected, **EXACT)


def test_the_past_does_not_see_the_future(model):
    source = sources(random_sentences(LENGTHS))
    target = target_inputs(random_sentences([6] * 4, seed=1))
    other = target_inputs(random_sentences([6] * 4, seed=2))
    changed = Sequences.of(torch.cat([target.tokens[:, :4], other.tokens[:, 4:]], 1))
    before = logits(model, source, target)
    after = logits(model, source, changed)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=0, atol=0)
    assert (before[:, 4:] != after[:, 4:]).any()


def test_every_parameter_gets_a_gradient(model):
    model.train()
    sentences = random_sentences([VOCABULARY] * 4)
    hidden = model(sources(sentences), target_inputs(sentences))
    loss, _ = cross_entropy(hidden.target, model.output, target_outputs(sentences), 0.1)
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_attention_sums_to_one_over_real_source_positions(model):
    source = sources(random_sentences(LENGTHS))
    target = target_inputs(random_sentences([6] * 4, seed=1))
    for name, weights in model.attention(source, target).items():
        assert weights.shape[0] == 4, name
        assert weights.shape[2:] == (target.tokens.size(1), source.tokens.size(1)), name
        total = weights.sum(-1)
        if own := model.self_attention(source, target).get("joint"):
            # Tags and target have the rest.
            assert total.max() <= 1 + 1e-6
            assert total.min() < 0.9
            total = own[name][:, :, -target.tokens.size(1) :].sum(-1)
        torch.testing.assert_close(total, torch.ones_like(total), rtol=1e-6, atol=1e-6)
        assert (weights * source.padding[:, None, None]).abs().max() == 0


def test_only_models_without_attention_have_no_maps():
    source = sources(random_sentences(LENGTHS))
    target = target_inputs(random_sentences([6] * 4, seed=1))
    without = [name for name in FAMILIES if not random_model(name).attention(source, target)]
    assert without == [
        "seq2seq",
        "seq2seq-orthogonal",
        "seq2seq-forwards",
        "rnnencdec",
        "rnn-stack-none",
        "bytenet",
    ]


def test_dropout_acts_in_training_only(model):
    source = sources(random_sentences(LENGTHS))
    target = target_inputs(random_sentences([6] * 4, seed=1))
    assert torch.equal(logits(model, source, target), logits(model, source, target))
    model.train()
    assert not torch.equal(logits(model, source, target), logits(model, source, target))
