"""The recurrent families against their papers' formulas.

test_agreement.py compares their steps with torch's own.
"""

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from nmt.configuration import GNMT, RNNSearch, Seq2Seq
from nmt.device import autocast
from nmt.models.build import build
from nmt.models.experts import Experts, squared_variation
from nmt.models.protocol import EOS, PAD
from nmt.models.recurrent_attention import SCORE_FUNCTIONS, Memory
from nmt.models.seq2seq import reverse_before_eos
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_sentences,
    sources,
    target_inputs,
)

RECURRENT = [
    name for name, config in FAMILIES.items() if isinstance(config, (GNMT, RNNSearch, Seq2Seq))
]
EXACT = {"rtol": 1e-9, "atol": 1e-9}


def test_rnnsearch_starts_from_the_backward_state_of_the_first_word():
    model = random_model("rnnsearch")
    memory, (first,) = model.encode(sources(random_sentences([4, 7])))
    backward_at_first_word = memory.encoder_states[:, 0, 12:]
    torch.testing.assert_close(first, torch.tanh(model.initial(backward_at_first_word)))


def test_rnnencdec_sees_the_encoder_s_last_state_at_every_step():
    model = random_model("rnnencdec")
    sentence = sources(random_sentences([6]))
    states, last = model.encoder(model.source_embedding(sentence.tokens))
    torch.testing.assert_close(model.encode(sentence)[0].encoder_states[:, 0], states[:, -1])
    torch.testing.assert_close(last[0], states[:, -1])


@pytest.mark.parametrize("family", ["rnn-stack", "rnn-stack-none"])
def test_a_stack_of_grus_gets_its_own_context_and_the_encoder_s_states(family):
    """Check it step by step: the query is the previous top state, and the output the new one."""
    model = random_model(family)
    sentence = sources(random_sentences([6]))
    states, last = model.encoder(model.source_embedding(sentence.tokens))
    both = [torch.cat([last[2 * layer], last[2 * layer + 1]], -1) for layer in range(2)]
    hidden = torch.stack([model.initial(pair) for pair in both])
    target = target_inputs(random_sentences([4], seed=1))
    decoded = model(sentence, target).target
    for number, word in enumerate(model.target_embedding(target.tokens).unbind(1)):
        context = both[-1]
        if family == "rnn-stack":
            keys, values = model.alignment.key(states[0]), model.alignment.value(states[0])
            context = (hidden[-1] @ keys.T / 12**0.5).softmax(-1) @ values
        x = torch.cat([word, context], -1)[:, None]
        output, hidden = model.decoder(x, hidden)
        torch.testing.assert_close(decoded[:, number], output[:, 0], **EXACT)


@pytest.mark.parametrize("family", ["gnmt", "gnmt-current"])
def test_gnmt_is_a_stack_of_residual_layers_over_x_and_a_context(family):
    """Check from which output of the bottom layer each layer's context is computed.

    The bottom layer always gets that of the step before, the upper layers that or the current one.
    """
    model = random_model(family)
    source = sources(random_sentences([4, 7]))
    target = target_inputs(random_sentences([5, 5], seed=1))
    memory, last, _ = model.encode(source)
    hidden, _, maps = model.decode(source, target)
    upper = maps @ memory.encoder_states
    before_the_first, _ = model.alignment.attend(last[0][0][:, None], memory)
    shifted = torch.cat([before_the_first, upper[:, :-1]], 1)
    bottom = shifted if family == "gnmt-current" else upper
    x = model.target_embedding(target.tokens)
    for number, layer in enumerate(model.decoder):
        first = [state[None] for state in last[number]]
        output, _ = layer(torch.cat([x, upper if number else bottom], -1), first)
        if number == 0:
            current, _ = model.alignment.attend(output, memory)
            previous = torch.cat([before_the_first, current[:, :-1]], 1)
            expected = current if family == "gnmt-current" else previous
            torch.testing.assert_close(upper, expected, **EXACT)
        x = output if number < 2 else x + output
    torch.testing.assert_close(hidden, x, **EXACT)


def test_moe_s_layers_are_residual_and_its_experts_pass_a_sigmoid():
    """Shazeer et al. 2017, appendix E."""
    model = random_model("moe")
    source = sources(random_sentences([4, 7]))
    target = target_inputs(random_sentences([5, 5], seed=1))
    memory, last, _ = model.encode(source)
    hidden, _, maps = model.decode(source, target)
    first, second = ([state[None] for state in layer_states] for layer_states in last)
    embedded = model.target_embedding(target.tokens)
    bottom, _ = model.decoder[0](torch.cat([embedded, maps @ memory.encoder_states], -1), first)
    x = add_experts(model.target_mixture, embedded + bottom)
    output, _ = model.decoder[1](x, second)
    torch.testing.assert_close(hidden, x + output, **EXACT)


def test_moe_s_encoder_is_residual_and_adds_its_two_directions():
    model = random_model("moe")
    sentence = sources(random_sentences([7]))
    embedded = model.source_embedding(sentence.tokens)
    states, _ = model.encoder[0](embedded)
    forward = states[..., :10]
    backward = states[..., 10:]
    x = add_experts(model.source_mixture, embedded + forward + backward)
    output, _ = model.encoder[1](x)
    memory, last, _ = model.encode(sentence)
    torch.testing.assert_close(memory.encoder_states, x + output, **EXACT)
    last_hidden = [hidden for hidden, _ in last]
    torch.testing.assert_close(last_hidden, [backward[:, 0], output[:, -1]], **EXACT)


def add_experts(mixture, x):
    """Return x + sigmoid(Experts(x)): (B, T, D) -> (B, T, D)."""
    return x + mixture.experts(x.flatten(0, 1))[0].view_as(x).sigmoid()


def test_gnmt_s_decoder_starts_where_the_encoder_ended():
    """Check each layer; the first one reads both ways, and ends at the first word."""
    model = random_model("gnmt")
    sentence = sources(random_sentences([7]))
    x, _ = model.encoder[0](model.source_embedding(sentence.tokens))
    expected = [x[:, 0, 10:]]
    for layer in model.encoder[1 : len(model.decoder)]:
        x, _ = layer(x)
        expected.append(x[:, -1])
    state = model.start(sentence)
    hidden = [hidden for hidden, _ in state.own[0]]
    torch.testing.assert_close(hidden, expected, **EXACT)


def test_the_source_is_read_backwards_with_its_end_in_place():
    source = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    expected = torch.tensor([[7, 6, 5, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    lengths = (source != PAD).sum(1)
    assert torch.equal(reverse_before_eos(source, lengths), expected)
    states = torch.randn(3, 4, 2)
    reversed_states = reverse_before_eos(states, lengths)
    assert torch.equal(reverse_before_eos(reversed_states, lengths), states)
    assert torch.equal(reversed_states[0, 0], states[0, 2])


def test_reading_backwards_is_reading_the_reversed_sentence():
    backwards = random_model("seq2seq")
    forwards = random_model("seq2seq")
    forwards.config = forwards.config.model_copy(update={"reverse_source": False})
    (words,) = random_sentences([6])
    _, hidden = backwards.encode(sources([words]))
    _, expected = forwards.encode(sources([words[::-1]]))
    torch.testing.assert_close(hidden, expected, **EXACT)


def test_luong_s_scores_are_the_paper_s():
    def dot(score, h_t, h_s):
        return h_t @ h_s

    def general(score, h_t, h_s):
        return h_t @ (score.key.weight @ h_s)

    def concat(score, h_t, h_s):
        w_a = torch.cat([score.query.weight, score.key.weight], 1)
        hidden = torch.tanh(w_a @ torch.cat([h_t, h_s]) + score.key.bias)
        return score.energy.weight[0] @ hidden

    def location(score, h_t, h_s):
        return (score.place.weight @ h_t)[4]

    def scaled(score, h_t, h_s):
        return h_t @ h_s / 8**0.5

    formulas = {"dot": dot, "general": general, "concat": concat}
    formulas |= {"location": location, "scaled-dot": scaled}
    decoder_states = torch.randn(2, 3, 8)
    encoder_states = torch.randn(2, 60, 8)
    for name, formula in formulas.items():
        score = SCORE_FUNCTIONS[name](8, 8)
        scores = score.scores(decoder_states, score.key(encoder_states))
        expected = formula(score, decoder_states[1, 2], encoder_states[1, 4])
        torch.testing.assert_close(scores[1, 2, 4], expected)
        assert scores.shape == (2, 3, 60)
        assert scores[:, :, 51:].isneginf().all() == (name == "location")


def test_the_score_of_moe_is_the_paper_s():
    """Shazeer et al. 2017, appendix G: A(x, y) = sum over d of V_d tanh((x U)_d) tanh((y W)_d)."""
    alignment = random_model("moe").alignment
    queries, states = torch.randn(2, 2, 3, 10, dtype=torch.float64)
    scores = alignment.scores(queries, alignment.key(states))
    u = alignment.key[0].weight
    w = alignment.query.weight
    v = alignment.energy.weight[0]
    expected = (v * torch.tanh(u @ states[1, 0]) * torch.tanh(w @ queries[1, 2])).sum()
    torch.testing.assert_close(scores[1, 2, 0], expected)


def test_local_attention_is_a_gaussian_window_around_a_predicted_position(monkeypatch):
    monkeypatch.setattr("nmt.models.seq2seq.WINDOW", 2)
    model = random_model("luong-local")
    states = torch.randn(1, 9, 12, dtype=torch.float64)
    top = torch.randn(1, 1, 12, dtype=torch.float64)
    memory = Memory(states, model.alignment.key(states), torch.zeros(1, 9, dtype=torch.bool))
    weights = model.attention_weights(top, memory)[0, 0]
    center = 9 * model.place(top).item()
    inside = [s for s in range(9) if abs(s - center) <= 2]
    scores = [top[0, 0] @ (model.alignment.key.weight @ states[0, s]) for s in inside]
    sigma = 2 / 2
    expected = torch.zeros(9, dtype=torch.float64)
    for s, align in zip(inside, torch.stack(scores).softmax(0), strict=True):
        expected[s] = align * torch.tensor(-((s - center) ** 2) / (2 * sigma**2)).exp()
    torch.testing.assert_close(weights, expected, rtol=1e-5, atol=1e-7)


def test_rnnsearch_starts_as_its_appendix_says():
    sizes = {"d_embedding": 60, "d_hidden": 80, "init_std": 0.02}
    model = build(FAMILIES["rnnsearch"].model_copy(update=sizes), 300, 300)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1 or name == "alignment.energy.weight":
            assert (parameter == 0).all(), name
        elif "weight_hh" in name:
            for gate in parameter.split(80):
                torch.testing.assert_close(gate @ gate.T, torch.eye(80), rtol=0, atol=1e-5)
        else:
            expected = 0.002 if name.startswith("alignment") else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.05), name


def test_an_orthogonal_lstm_neither_forgets_nor_explodes_at_first():
    """A uniform range that suits the embeddings of narrow layers is too wide for the recurrence."""
    sizes = {"d_embedding": 60, "d_hidden": 192, "layers": 1, "init_range": 0.3}
    plain, orthogonal = (
        build(FAMILIES["seq2seq"].model_copy(update=sizes | {"init": init}), 300, 300)
        for init in ("uniform", "orthogonal")
    )
    for uniform_lstm, lstm in (
        (plain.encoder, orthogonal.encoder),
        (plain.decoder, orthogonal.decoder),
    ):
        assert all(radius > 2 for radius in spectral_radii(uniform_lstm))
        assert spectral_radii(lstm) == pytest.approx([1.0] * 4, abs=1e-4)
        _, forget_bias, _, _ = (lstm.bias_ih_l0 + lstm.bias_hh_l0).chunk(4)
        assert (forget_bias == 1).all()
        for gate in lstm.weight_ih_l0.detach().chunk(4):
            glorot = (6 / sum(gate.shape)) ** 0.5
            assert gate.abs().max().item() == pytest.approx(glorot, rel=0.01)
    largest = orthogonal.source_embedding.weight.detach().abs().max().item()
    assert largest == pytest.approx(0.3, rel=0.01)


def spectral_radii(lstm: nn.LSTM) -> list[float]:
    """Return those of the recurrent matrices of the four gates."""
    return [
        torch.linalg.eigvals(gate.detach()).abs().max().item()
        for gate in lstm.weight_hh_l0.chunk(4)
    ]


@pytest.mark.parametrize("family", ["gnmt", "moe"])
def test_gnmt_starts_within_its_range(family):
    config = FAMILIES[family].model_copy(update={"init_range": 0.01})
    model = build(config, VOCABULARY, VOCABULARY)
    beyond = {
        name.partition(".")[0]
        for name, value in model.named_parameters()
        if value.abs().max() > 0.01
    }
    assert beyond == ({"source_mixture", "target_mixture"} if family == "moe" else set())


@pytest.fixture
def experts() -> Experts:
    torch.manual_seed(0)
    experts = Experts(d_model=6, d_expert=5, experts=4, top_k=2).double()
    with torch.no_grad():
        for parameter in experts.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return experts


def test_the_load_is_the_chance_of_being_chosen(experts):
    """Equation 8 against drawing one expert's noise again and again."""
    x = torch.randn(1, 6, dtype=torch.float64)
    logits = (x @ experts.gate).float()
    noise_std = nn.functional.softplus((x @ experts.noise).float())
    noisy = logits + torch.randn_like(logits) * noise_std
    redrawn = logits + torch.randn(20_000, 4) * noise_std
    load = []
    for expert in range(4):
        rivals = torch.cat([noisy[0, :expert], noisy[0, expert + 1 :]])
        threshold = rivals.topk(2)[0][-1]
        load.append((redrawn[:, expert] > threshold).float().mean())
    top_logits, chosen = noisy.topk(2)
    gates = top_logits.softmax(-1)
    experts.train()
    balance = experts.balance_loss(logits, noise_std, noisy, gates, chosen)
    importance = torch.zeros(1, 4).scatter(1, chosen, gates).sum(0)
    expected = squared_variation(importance) + squared_variation(torch.stack(load))
    assert balance.item() == pytest.approx(expected.item(), rel=0.02)


def test_balance_is_best_when_experts_share_the_work():
    assert squared_variation(torch.ones(4)) == 0
    assert squared_variation(torch.tensor([4.0, 0, 0, 0])) == pytest.approx(3)


@pytest.mark.parametrize("family", RECURRENT)
def test_whole_rnns_are_float32_under_autocast(family):
    """Steps of a loop are in autocast's type, as all other products are."""
    model = random_model(family).float().train()
    types = []

    def note_types(rnn, inputs, outputs):
        tensors = [leaf for leaf in tree_leaves((inputs, outputs)) if torch.is_tensor(leaf)]
        types.extend(tensor.dtype for tensor in tensors if tensor.is_floating_point())

    for module in model.modules():
        if isinstance(module, nn.RNNBase):
            module.register_forward_hook(note_types)
    source = sources(random_sentences([4, 7]))
    with autocast(source.device, torch.bfloat16):
        hidden = model(source, target_inputs(random_sentences([5, 3], seed=1))).target
    hidden.float().sum().backward()
    assert set(types) == {torch.float32}
    for name, parameter in model.named_parameters():
        if not name.startswith("output."):
            assert parameter.grad is not None, name
            assert parameter.grad.isfinite().all(), name
