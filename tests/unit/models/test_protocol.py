"""What must be true of every family (tests/families.py lists them)."""

import pytest
import torch
from families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)

from nmt.models.protocol import BOS, PAD
from nmt.training.objective import cross_entropy

LENGTHS = [5, 1, 9, 4]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(params=FAMILIES)
def model(request):
    return random_model(request.param)


def logits(model, source, target_in):
    return model.output(model(source, target_in).target)


def test_each_cached_step_equals_the_full_forward_pass(model):
    source, target = (
        sources(random_sentences(LENGTHS)),
        target_inputs(random_sentences([6] * 4, seed=1)),
    )
    full = logits(model, source, target).log_softmax(-1)
    state = model.start(model.encode(source), beam=1)
    for position in range(target.size(1)):
        step, state = model.step(target[:, position], state)
        torch.testing.assert_close(model.output(step).log_softmax(-1), full[:, position], **EXACT)


def test_beams_of_a_sentence_are_independent_and_follow_reordering(model):
    source = sources(random_sentences(LENGTHS))
    target = torch.tensor(random_sentences([5] * 12, seed=1))
    target[:, 0] = BOS
    state = model.start(model.encode(source), beam=3)
    for position in range(2):
        _, state = model.step(target[:, position], state)
    kept = torch.tensor(
        [[8, 6, 6], [2, 1, 0]]
    )  # sentences 2 and 0 go on; their beams change places
    state.reorder(kept)
    history = target[kept.flatten(), :2]
    step, _ = model.step(target[:6, 2], state)
    full = logits(model, source[[2, 2, 2, 0, 0, 0]], torch.cat([history, target[:6, 2:3]], 1))[
        :, -1
    ]
    torch.testing.assert_close(model.output(step), full, **EXACT)


def test_padding_changes_neither_values_nor_gradients(model):
    sentences, targets = random_sentences(LENGTHS), random_sentences([3, 8, 2, 5], seed=1)

    def loss(source, target_in, target_out):
        model.zero_grad()
        hidden = model(source, target_in)
        total, _ = cross_entropy(hidden.target, model.output, target_out, 0.1)
        if hidden.source is not None:
            states, predicted = hidden.source
            total = total + cross_entropy(states, model.output, predicted, 0.0)[0]
        total.backward()
        return total.item(), {
            name: torch.zeros_like(p) if p.grad is None else p.grad.clone()
            for name, p in model.named_parameters()
        }

    together, gradients = loss(sources(sentences), target_inputs(targets), target_outputs(targets))
    single = [
        loss(sources([s]), target_inputs([t]), target_outputs([t]))
        for s, t in zip(sentences, targets, strict=True)
    ]
    assert together == pytest.approx(sum(value for value, _ in single), rel=1e-9)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradient, sum(grads[name] for _, grads in single), **EXACT)


def test_order_of_sentences_in_a_batch_does_not_matter(model):
    source, target = (
        sources(random_sentences(LENGTHS)),
        target_inputs(random_sentences([6, 3, 5, 2], seed=1)),
    )
    order = torch.tensor([2, 0, 3, 1])
    together = logits(model, source, target)
    torch.testing.assert_close(
        together[order], logits(model, source[order], target[order]), **EXACT
    )


def test_the_past_does_not_see_the_future(model):
    source, target = (
        sources(random_sentences(LENGTHS)),
        target_inputs(random_sentences([6] * 4, seed=1)),
    )
    changed = target.clone()
    changed[:, 4:] = target_inputs(random_sentences([6] * 4, seed=2))[:, 4:]
    before, after = logits(model, source, target), logits(model, source, changed)
    torch.testing.assert_close(before[:, :4], after[:, :4], rtol=0, atol=0)
    assert (before[:, 4:] != after[:, 4:]).any()


def test_every_parameter_gets_a_gradient(model):
    model.train()
    sentences = random_sentences([VOCABULARY] * 4)
    loss, _ = cross_entropy(
        model(sources(sentences), target_inputs(sentences)).target,
        model.output,
        target_outputs(sentences),
        0.1,
    )
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_attention_sums_to_one_over_real_source_positions(model):
    source, target = (
        sources(random_sentences(LENGTHS)),
        target_inputs(random_sentences([6] * 4, seed=1)),
    )
    for name, weights in model.attention(source, target).items():
        assert weights.shape[0] == 4, name
        assert weights.shape[2:] == (target.size(1), source.size(1)), name
        torch.testing.assert_close(
            weights.sum(-1), torch.ones_like(weights.sum(-1)), rtol=1e-6, atol=1e-6
        )
        assert (weights * (source == PAD)[:, None, None]).abs().max() == 0


def test_only_models_without_attention_have_no_maps():
    source, target = (
        sources(random_sentences(LENGTHS)),
        target_inputs(random_sentences([6] * 4, seed=1)),
    )
    without = [name for name in FAMILIES if not random_model(name).attention(source, target)]
    assert without == ["seq2seq", "seq2seq-orthogonal", "seq2seq-forwards", "rnnencdec", "bytenet"]


def test_dropout_acts_in_training_only(model):
    source, target = (
        sources(random_sentences(LENGTHS)),
        target_inputs(random_sentences([6] * 4, seed=1)),
    )
    assert torch.equal(logits(model, source, target), logits(model, source, target))
    model.train()
    assert not torch.equal(logits(model, source, target), logits(model, source, target))
