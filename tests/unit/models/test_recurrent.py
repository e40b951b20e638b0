"""The recurrent rivals against their papers' formulas; test_agreement.py has their steps against
torch's own.
"""

import pytest
import torch
from families import FAMILIES, VOCABULARY, random_model, random_sentences, sources, target_inputs
from torch import nn

from nmt.models.build import build
from nmt.models.experts import Experts, variation
from nmt.models.protocol import EOS, PAD
from nmt.models.recurrent import backwards
from nmt.models.recurrent_attention import ALIGNMENTS, Memory

EXACT = {"rtol": 1e-9, "atol": 1e-9}


def test_rnnsearch_starts_from_the_backward_state_of_the_first_word():
    model = random_model("rnnsearch")
    memory, first = model.encode(sources(random_sentences([4, 7])))
    backward_at_first_word = memory.states[:, 0, 12:]
    torch.testing.assert_close(first, torch.tanh(model.initial(backward_at_first_word)))


def test_rnnencdec_sees_the_encoder_s_last_state_at_every_step():
    model = random_model("rnnencdec")
    sentence = sources(random_sentences([6]))
    states, last = model.encoder(model.source_embedding(sentence))
    torch.testing.assert_close(model.encode(sentence)[0].states[:, 0], states[:, -1])
    torch.testing.assert_close(last[0], states[:, -1])


def test_gnmt_sends_one_context_to_every_layer():
    """With the attention held still, the decoder is a plain stack of residual layers over [below;
    context].
    """
    model = random_model("gnmt")
    source, target = (
        sources(random_sentences([4, 7])),
        target_inputs(random_sentences([5, 5], seed=1)),
    )
    memory, last, _ = model.encode(source)
    hidden, _, maps = model.decode(memory, last, target)
    contexts = maps @ memory.states
    x = model.target_embedding(target)
    for number, layer in enumerate(model.decoder):
        above, _ = layer(torch.cat([x, contexts], -1), [part[None] for part in last[number]])
        x = above if number < 2 else x + above
    torch.testing.assert_close(hidden, x, **EXACT)


def test_moe_s_layers_are_residual_and_its_experts_answer_through_a_sigmoid():
    """Shazeer et al. 2017, appendix E."""
    model = random_model("moe")
    source, target = (
        sources(random_sentences([4, 7])),
        target_inputs(random_sentences([5, 5], seed=1)),
    )
    memory, last, _ = model.encode(source)
    hidden, _, maps = model.decode(memory, last, target)
    first, second = ([part[None] for part in parts] for parts in last)
    embedded = model.target_embedding(target)
    bottom, _ = model.decoder[0](torch.cat([embedded, maps @ memory.states], -1), first)
    x = answered(model.target_mixture, embedded + bottom)
    above, _ = model.decoder[1](x, second)
    torch.testing.assert_close(hidden, x + above, **EXACT)


def test_moe_s_encoder_is_residual_and_adds_its_two_directions():
    model = random_model("moe")
    sentence = sources(random_sentences([7]))
    embedded = model.source_embedding(sentence)
    both_ways, _ = model.encoder[0](embedded)
    x = answered(model.source_mixture, embedded + both_ways[..., :10] + both_ways[..., 10:])
    above, _ = model.encoder[1](x)
    memory, last, _ = model.encode(sentence)
    torch.testing.assert_close(memory.states, x + above, **EXACT)
    torch.testing.assert_close(
        [hidden for hidden, _ in last], [both_ways[:, 0, 10:], above[:, -1]], **EXACT
    )


def answered(mixture, x):
    return x + mixture.experts(x.flatten(0, 1))[0].view_as(x).sigmoid()


def test_gnmt_s_decoder_starts_where_the_encoder_ended():
    """Layer by layer; of the first, which reads both ways, at the first word."""
    model = random_model("gnmt")
    sentence = sources(random_sentences([7]))
    x, _ = model.encoder[0](model.source_embedding(sentence))
    expected = [x[:, 0, 10:]]
    for layer in model.encoder[1 : len(model.decoder)]:
        x, _ = layer(x)
        expected.append(x[:, -1])
    state = model.start(model.encode(sentence), 2)
    torch.testing.assert_close(
        torch.stack(state.hidden), torch.stack(expected).expand(-1, 2, -1), **EXACT
    )


def test_the_source_is_read_backwards_with_its_end_in_place():
    source = torch.tensor([[5, 6, 7, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    expected = torch.tensor([[7, 6, 5, EOS], [8, EOS, PAD, PAD], [EOS, PAD, PAD, PAD]])
    lengths = (source != PAD).sum(1)
    assert torch.equal(backwards(source, lengths), expected)
    states = torch.randn(3, 4, 2)
    assert torch.equal(backwards(backwards(states, lengths), lengths), states)
    assert torch.equal(backwards(states, lengths)[0, 0], states[0, 2])


def test_reading_backwards_is_reading_the_reversed_sentence():
    model, words = random_model("seq2seq"), random_sentences([6])[0]
    forwards = random_model("seq2seq")
    forwards.config = forwards.config.model_copy(update={"reverse_source": False})
    _, hidden, _ = model.encode(sources([words]))
    torch.testing.assert_close(hidden, forwards.encode(sources([words[::-1]]))[1], **EXACT)


def test_luong_s_scores_are_the_paper_s():
    queries, states = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    for name, formula in {
        "dot": lambda a, q, s: q @ s,
        "general": lambda a, q, s: q @ (a.key.weight @ s),
        "concat": lambda a, q, s: (
            a.energy.weight[0]
            @ torch.tanh(
                torch.cat([a.query.weight, a.key.weight], 1) @ torch.cat([q, s]) + a.key.bias
            )
        ),
    }.items():
        alignment = ALIGNMENTS[name](8, 8, 8)
        scores = alignment.scores(queries, alignment.key(states))
        torch.testing.assert_close(scores[1, 2, 4], formula(alignment, queries[1, 2], states[1, 4]))


def test_the_score_of_moe_is_the_paper_s():
    """Shazeer et al. 2017, appendix G: A(x, y) = sum over d of V_d tanh((x U)_d) tanh((y W)_d)."""
    alignment = random_model("moe").alignment
    queries, states = torch.randn(2, 2, 3, 10, dtype=torch.float64)
    scores = alignment.scores(queries, alignment.key(states))
    u, w, v = alignment.key[0].weight, alignment.query.weight, alignment.energy.weight[0]
    expected = (v * torch.tanh(u @ states[1, 0]) * torch.tanh(w @ queries[1, 2])).sum()
    torch.testing.assert_close(scores[1, 2, 0], expected)


def test_local_attention_is_a_gaussian_window_round_a_predicted_place():
    model = random_model("luong-local")
    states, top = (
        torch.randn(1, 9, 12, dtype=torch.float64),
        torch.randn(1, 1, 12, dtype=torch.float64),
    )
    memory = Memory(states, model.alignment.key(states), torch.zeros(1, 9, dtype=torch.bool))
    weights = model.weigh(top, memory)[0, 0]
    center = 9 * model.place(top).item()
    inside = [s for s in range(9) if abs(s - center) <= 2]
    align = torch.stack(
        [top[0, 0] @ (model.alignment.key.weight @ states[0, s]) for s in inside]
    ).softmax(0)
    expected = torch.zeros(9, dtype=torch.float64)
    for s, share in zip(inside, align, strict=True):
        expected[s] = share * torch.tensor(-((s - center) ** 2) / (2 * (2 / 2) ** 2)).exp()
    torch.testing.assert_close(weights, expected, rtol=1e-5, atol=1e-7)


def test_rnnsearch_starts_as_its_appendix_says():
    config = FAMILIES["rnnsearch"].model_copy(
        update={"d_embedding": 60, "d_hidden": 80, "init_std": 0.02}
    )
    model = build(config, 300, 300)
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1 or name == "alignment.energy.weight":
            assert (parameter == 0).all(), name
        elif "weight_hh" in name:
            for gate in parameter.split(80):
                torch.testing.assert_close(gate @ gate.T, torch.eye(80), rtol=0, atol=1e-5)
        else:
            expected = 0.002 if name.startswith("alignment") else 0.02
            assert parameter.std().item() == pytest.approx(expected, rel=0.05), name


@pytest.mark.parametrize("family", ["gnmt", "moe"])
def test_gnmt_starts_within_its_range(family):
    model = build(FAMILIES[family].model_copy(update={"init_range": 0.01}), VOCABULARY, VOCABULARY)
    beyond = {
        name.partition(".")[0]
        for name, value in model.named_parameters()
        if value.abs().max() > 0.01
    }
    assert beyond == ({"source_mixture", "target_mixture"} if family == "moe" else set())


@pytest.fixture
def experts() -> Experts:
    torch.manual_seed(0)
    experts = Experts(d_model=6, d_expert=5, experts=4, top=2).double()
    with torch.no_grad():
        for parameter in experts.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return experts


def test_each_token_gets_its_best_experts_in_proportion(experts):
    x = torch.randn(7, 6, dtype=torch.float64)
    mixed, _ = experts.eval()(x)
    for token, found in zip(x, mixed, strict=True):
        logits = token @ experts.gate
        chosen = sorted(range(4), key=lambda e: -logits[e])[:2]
        gates = logits[chosen].softmax(0)
        answers = [
            torch.relu(token @ experts.inner[e] + experts.inner_bias[e]) @ experts.outer[e]
            + experts.outer_bias[e]
            for e in chosen
        ]
        expected = sum(gate * answer for gate, answer in zip(gates, answers, strict=True))
        torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-6)


def test_the_load_is_the_chance_of_being_chosen(experts):
    """Equation 8 against drawing one expert's noise again and again."""
    x = torch.randn(1, 6, dtype=torch.float64)
    clean = (x @ experts.gate).float()
    spread = nn.functional.softplus((x @ experts.noise).float())
    noisy = clean + torch.randn_like(clean) * spread
    again = clean + torch.randn(20_000, 4) * spread
    chances = []
    for expert in range(4):
        others = torch.cat([noisy[0, :expert], noisy[0, expert + 1 :]]).topk(2)[0][-1]
        chances.append((again[:, expert] > others).float().mean())
    gates, chosen = noisy.topk(2)
    experts.train()
    balance = experts.balance(clean, spread, noisy, gates.softmax(-1), chosen)
    importance = torch.zeros(1, 4).scatter(1, chosen, gates.softmax(-1)).sum(0)
    expected = variation(importance) + variation(torch.stack(chances))
    assert balance.item() == pytest.approx(expected.item(), rel=0.02)


def test_balance_is_best_when_experts_share_the_work(experts):
    assert variation(torch.ones(4)) == 0
    assert variation(torch.tensor([4.0, 0, 0, 0])) == pytest.approx(3)
    moe = random_model("moe").train()
    source, target = (
        sources(random_sentences([4, 7])),
        target_inputs(random_sentences([5, 5], seed=1)),
    )
    assert moe(source, target).penalty > 0
    assert random_model("gnmt").train()(source, target).penalty is None
