"""Ours is the same function as other implementations, on shared weights: to 1e-5, in float64, with
padded batches.

pytest ends with a table of the largest differences. Where one is near 1e-7, the other works in
float32 inside.
"""

import os

os.environ["HF_HUB_OFFLINE"] = (
    "1"  # all models here are made from a configuration: there is nothing to fetch
)

import pytest
import torch
from families import (
    VOCABULARY,
    random_model,
    random_sentences,
    rows,
    sources,
    target_inputs,
    transformer,
)
from torch import Tensor, nn
from transformers import (
    BloomConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTJConfig,
    GraniteMoeConfig,
    NllbMoeConfig,
    RoFormerConfig,
    RoFormerModel,
    VitsConfig,
    Wav2Vec2BertConfig,
)
from transformers.models.bloom.modeling_bloom import BloomAttention, build_alibi_tensor
from transformers.models.gptj.modeling_gptj import GPTJAttention
from transformers.models.granitemoe.modeling_granitemoe import GraniteMoeTopKRouter
from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeExperts
from transformers.models.vits.modeling_vits import VitsAttention
from transformers.models.wav2vec2_bert.modeling_wav2vec2_bert import Wav2Vec2BertSelfAttention

from nmt.configuration import DecoderOnly, Decoding
from nmt.decoding.search import search
from nmt.models.attention import MultiHeadAttention, self_attention
from nmt.models.build import build
from nmt.models.experts import Experts
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.recurrent import embedding_gates
from nmt.models.transformer import Cache, Residual, attend_itself
from nmt.serving.exports import marian

# T target length, D d_model

SOURCE = sources(random_sentences([5, 1, 9, 4]))
TARGET = target_inputs(random_sentences([3, 8, 2, 5], seed=1))
HIDDEN = SOURCE == PAD
REAL = TARGET != PAD
FUTURE = torch.ones(9, 9, dtype=torch.bool).triu(
    1
)  # (T, T), true where a place of TARGET may not look


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def random(module: nn.Module) -> nn.Module:
    """In float64 and evaluation mode, with parameters large enough that every effect shows."""
    for parameter in module.double().parameters():
        parameter.add_(0.3 * torch.randn_like(parameter))
    return module.eval()


def unbiased(module: nn.Module) -> nn.Module:
    """In float64 and evaluation mode; our attention has no biases, so all are zero until others are
    copied.
    """
    for name, parameter in module.double().named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
    return module.eval()


def added(hidden: Tensor) -> Tensor:
    """What is added to scores to hide what `hidden` says."""
    return torch.zeros(hidden.shape, dtype=torch.float64).masked_fill(hidden, -torch.inf)


def copy(theirs: list[Tensor], ours: list[Tensor]) -> None:
    for their, our in zip(theirs, ours, strict=True):
        assert their.shape == our.shape
        their.copy_(our)


def weights(*modules: nn.Module) -> list[Tensor]:
    return [module.weight for module in modules]


def both(*modules: nn.Module) -> list[Tensor]:
    """Weights and biases."""
    return [tensor for module in modules for tensor in (module.weight, module.bias)]


def matrices(attention: MultiHeadAttention) -> list[Tensor]:
    """W^Q, W^K, W^V and W^O."""
    return [*attention.qkv.weight.split(attention.widths), attention.out.weight]


def parameters(layer: nn.Module) -> list[Tensor]:
    """Of a layer: its attentions', its feed-forward's and its norms'."""
    attentions = [part for part in layer.children() if isinstance(part, MultiHeadAttention)]
    norms = [part.norm for part in layer.children() if isinstance(part, Residual)]
    inner, outer = layer.feed_forward.inner, layer.feed_forward.outer
    found: list[Tensor] = []
    for *into, out in map(matrices, attentions):
        found += [*into, out]
    found += [inner.weight, inner.bias, outer.weight, outer.bias]
    return found + both(*norms)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_stacks_of_layers(agrees, norm, activation):
    model = random(
        build(transformer(norm=norm, activation=activation, tie="none"), VOCABULARY, VOCABULARY)
    )
    layer = {"activation": activation, "norm_first": norm == "pre", "batch_first": True}
    last = [nn.LayerNorm(16) if norm == "pre" else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 4, 24, **layer), 2, last[0], enable_nested_tensor=False
    )
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 24, **layer), 2, last[1])

    def inside(attention: nn.MultiheadAttention) -> list[Tensor]:
        return [*attention.in_proj_weight.chunk(3), attention.out_proj.weight]

    for theirs, ours in zip(unbiased(encoder).layers, model.encoder, strict=True):
        others = both(theirs.linear1, theirs.linear2, theirs.norm1, theirs.norm2)
        copy([*inside(theirs.self_attn), *others], parameters(ours))
    for theirs, ours in zip(unbiased(decoder).layers, model.decoder, strict=True):
        others = both(theirs.linear1, theirs.linear2, theirs.norm1, theirs.norm2, theirs.norm3)
        copy([*inside(theirs.self_attn), *inside(theirs.multihead_attn), *others], parameters(ours))
    if norm == "pre":
        copy(both(encoder.norm, decoder.norm), both(model.encoder_norm, model.decoder_norm))

    memory = model.encode(SOURCE)
    embedded = model.embed(SOURCE, model.source_embedding, model.source_positions)
    states = encoder(embedded, src_key_padding_mask=HIDDEN)
    agrees(f"Encoder, {norm} norm, {activation}", "torch.nn", memory[0][~HIDDEN], states[~HIDDEN])
    expected = decoder(
        model.embed(TARGET, model.target_embedding, model.target_positions),
        states,
        tgt_mask=FUTURE,
        tgt_key_padding_mask=~REAL,
        memory_key_padding_mask=HIDDEN,
    )
    agrees(
        f"Decoder, {norm} norm, {activation}",
        "torch.nn",
        model.decode(memory, TARGET)[REAL],
        expected[REAL],
    )


def test_the_whole_transformer(agrees):
    ours = random(build(transformer(), VOCABULARY, VOCABULARY))
    found = ours.output(ours(SOURCE, TARGET).target)
    expected = marian(ours, transformer(), VOCABULARY)(SOURCE, ~HIDDEN, TARGET, REAL).logits
    agrees("Transformer, tokens to logits", "Marian", found[REAL], expected[REAL])


@pytest.mark.parametrize(("beam", "options"), [(1, {}), (4, {"length_penalty": 0.0})])
def test_search(agrees, beam, options):
    torch.manual_seed(
        2
    )  # whose translations neither are empty nor reach a limit, which Marian treats in another way
    ours = build(transformer(), VOCABULARY, VOCABULARY).double().eval()
    for name, parameter in ours.named_parameters():
        if name.endswith("norm.weight"):
            parameter.normal_()  # a tied model that takes tokens as they are says the same one again and again
    found = [
        best.tokens
        for (best,) in search(ours, SOURCE, [30] * len(SOURCE), Decoding(beam=beam, penalty="none"))
    ]
    assert all(2 < len(tokens) < 30 for tokens in found)
    expected = marian(ours, transformer(), VOCABULARY).generate(
        SOURCE,
        attention_mask=~HIDDEN,
        num_beams=beam,
        max_length=32,
        suppress_tokens=[PAD, BOS],
        **options,
    )
    expected = [row[1 : row.index(EOS)] for row in expected.tolist()]
    agrees(f"Search, beam {beam}, tokens", "Marian", rows(found), rows(expected))


def test_rotary_positions(agrees):
    model = random(build(transformer(positions="rotary"), VOCABULARY, VOCABULARY))
    config = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "hidden_act": "relu",
        "layer_norm_eps": 1e-5,
        "max_position_embeddings": 64,
    }
    encoder = unbiased(RoFormerModel(RoFormerConfig(**config))).encoder
    decoder = unbiased(
        RoFormerModel(RoFormerConfig(**config, is_decoder=True, add_cross_attention=True))
    ).encoder
    for stack, own in ((encoder, model.encoder), (decoder, model.decoder)):
        for layer, our_layer in zip(stack.layer, own, strict=True):
            attentions = [layer.attention, *([layer.crossattention] if layer.is_decoder else [])]
            pairs = [(each.self, each.output.dense) for each in attentions]
            inside = [linear for a, out in pairs for linear in (a.query, a.key, a.value, out)]
            norms = [each.output.LayerNorm for each in (*attentions, layer)]
            others = both(layer.intermediate.dense, layer.output.dense, *norms)
            copy([*weights(*inside), *others], parameters(our_layer))

    padding = added(HIDDEN)[:, None, None]
    memory = model.encode(SOURCE)
    states = encoder(model.source_embedding(SOURCE) * 4, padding).last_hidden_state
    agrees("RotaryPositions positions, encoder", "RoFormer", memory[0][~HIDDEN], states[~HIDDEN])
    expected = decoder(
        model.target_embedding(TARGET) * 4, added(FUTURE), states, padding
    ).last_hidden_state
    agrees(
        "RotaryPositions positions, decoder",
        "RoFormer",
        model.decode(memory, TARGET)[REAL],
        expected[REAL],
    )


def test_rotary_positions_step_by_step(agrees):
    ours = random(self_attention(transformer(positions="rotary")))
    theirs = unbiased(
        GPTJAttention(GPTJConfig(n_embd=16, n_head=4, rotary_dim=4, n_positions=64), layer_idx=0)
    )
    copy(weights(theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.out_proj), matrices(ours))
    x, cache = torch.randn(4, 9, 16, dtype=torch.float64), Cache()
    found = torch.cat([attend_itself(ours, x[:, [place]], None, cache) for place in range(9)], 1)
    expected, _ = theirs(x, attention_mask=added(FUTURE), position_ids=torch.arange(9)[None])
    agrees("RotaryPositions positions, cached steps", "GPT-J", found, expected)


@pytest.mark.parametrize("heads", [4, 6])
def test_alibi(agrees, heads):
    width = 4 * heads
    ours = random(self_attention(transformer(positions="alibi", d_model=width, heads=heads)))
    theirs = unbiased(BloomAttention(BloomConfig(hidden_size=width, n_head=heads), layer_idx=0))
    # One matrix holds query, key and value of the first head, then those of the second, and so on.
    ordered = theirs.query_key_value.weight.view(heads, 3, 4, width).transpose(0, 1)
    *into, out = matrices(ours)
    copy([*ordered, theirs.dense.weight], [*(weight.view(heads, 4, width) for weight in into), out])
    x = torch.randn(4, 9, width, dtype=torch.float64)
    found = attend_itself(ours, x, added(FUTURE))
    alibi = build_alibi_tensor(REAL.long(), heads, torch.float64)
    expected, _ = theirs(x, torch.zeros_like(x), alibi, added(FUTURE))
    agrees(f"ALiBi, {heads} heads", "Bloom", found[REAL], expected[REAL])


def shared_by_heads(*vectors):
    """Gives all heads those of the first, and returns them: the other implementations have one
    set.
    """
    for of_heads in vectors:
        of_heads[1:] = of_heads[:1].clone()
    return [of_heads[0] for of_heads in vectors]


def test_relative_positions(agrees):
    ours = random(
        self_attention(transformer(positions="relative", max_distance=9))
    )  # VITS sees no distance beyond
    theirs = unbiased(
        VitsAttention(VitsConfig(hidden_size=16, num_attention_heads=4, window_size=9))
    )
    copy(weights(theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.out_proj), matrices(ours))
    copy(
        [theirs.emb_rel_k[0], theirs.emb_rel_v[0]],
        shared_by_heads(ours.position_bias.keys, ours.position_bias.values),
    )
    x, mask = torch.randn(4, 10, 16, dtype=torch.float64), added(HIDDEN)[:, None, None]
    found = attend_itself(ours, x, mask)
    expected, _ = theirs(x, attention_mask=mask.expand(-1, -1, 10, -1))
    agrees(
        "RelativePositions positions, keys and values", "VITS", found[~HIDDEN], expected[~HIDDEN]
    )


def test_relative_positions_that_are_clipped(agrees):
    ours = random(self_attention(transformer(positions="relative", max_distance=2)))
    ours.position_bias.values.zero_()  # which the other does not have
    config = Wav2Vec2BertConfig(
        hidden_size=16,
        num_attention_heads=4,
        position_embeddings_type="relative_key",
        left_max_position_embeddings=2,
        right_max_position_embeddings=2,
    )
    theirs = unbiased(Wav2Vec2BertSelfAttention(config))
    copy(
        weights(theirs.linear_q, theirs.linear_k, theirs.linear_v, theirs.linear_out),
        matrices(ours),
    )
    copy(weights(theirs.distance_embedding), shared_by_heads(ours.position_bias.keys))
    x, mask = torch.randn(4, 10, 16, dtype=torch.float64), added(HIDDEN)[:, None, None]
    expected, _ = theirs(x, attention_mask=mask)
    found = attend_itself(ours, x, mask)
    agrees(
        "RelativePositions positions, clipped, keys",
        "Wav2Vec2-BERT",
        found[~HIDDEN],
        expected[~HIDDEN],
    )


@pytest.mark.parametrize("prefix", [False, True])
def test_one_stack_for_source_and_target(agrees, prefix):
    config = DecoderOnly(
        layers=2,
        d_model=16,
        d_ff=24,
        heads=4,
        dropout=0.1,
        prefix=prefix,
        positions="learned",
        max_positions=64,
        norm="pre",
        activation="gelu",
    )
    model = random(build(config, VOCABULARY, VOCABULARY))
    theirs = unbiased(
        GPT2LMHeadModel(
            GPT2Config(
                vocab_size=VOCABULARY + 1,  # the last one is the source's tag
                n_positions=64,
                n_embd=16,
                n_layer=2,
                n_head=4,
                n_inner=24,
                activation_function="gelu",
                tie_word_embeddings=False,  # ours enters scaled
            )
        )
    )
    stack, table = theirs.transformer, model.embedding.weight
    copy(
        weights(stack.wte, stack.wpe),
        [torch.cat([table, model.source_tag[None]]) * 4, model.positions.table],
    )
    copy([theirs.lm_head.weight[:VOCABULARY], *both(stack.ln_f)], [table, *both(model.norm)])
    for layer, own in zip(stack.h, model.layers, strict=True):
        # Its matrices are transposed.
        attention = [*layer.attn.c_attn.weight.T.chunk(3), layer.attn.c_proj.weight.T]
        feed_forward = [t.T if t.dim() == 2 else t for t in both(layer.mlp.c_fc, layer.mlp.c_proj)]
        copy([*attention, *feed_forward, *both(layer.ln_1, layer.ln_2)], parameters(own))

    # Theirs has padding behind the whole sequence, ours before the source and behind the target.
    pairs = [
        (s[s != PAD].tolist(), t[t != PAD].tolist()) for s, t in zip(SOURCE, TARGET, strict=True)
    ]
    sequences = rows([[VOCABULARY, *source, *target] for source, target in pairs])
    place = torch.arange(sequences.size(1))
    of_source = place <= (~HIDDEN).sum(1, keepdim=True)  # with its tag
    seen = place <= place[:, None]
    if prefix:
        seen = seen | of_source[:, None]
    mask = added(~(seen & (sequences != PAD)[:, None]))[:, None]
    expected = theirs(sequences, attention_mask=mask).logits[..., :VOCABULARY]
    memory = model.encode(SOURCE)
    found = (
        model.output(model.norm(memory.hidden))[~memory.padding],
        model.output(model.decode(memory, TARGET))[REAL],
    )
    of_target = ~of_source & (sequences != PAD)
    name = "Decoder-only, with a prefix" if prefix else "Decoder-only"
    agrees(name, "GPT-2", torch.cat(found), torch.cat([expected[of_source], expected[of_target]]))


def test_experts(agrees):
    ours = random(Experts(d_model=6, d_expert=5, experts=4, top=2))
    router = GraniteMoeTopKRouter(
        GraniteMoeConfig(hidden_size=6, num_local_experts=4, num_experts_per_tok=2)
    ).double()
    experts = (
        NllbMoeExperts(NllbMoeConfig(d_model=6, num_experts=4, moe_token_dropout=0), ffn_dim=5)
        .double()
        .eval()
    )
    copy(weights(router), [ours.gate.T])
    for number in range(4):
        expert = experts[f"expert_{number}"]
        own = (
            ours.inner[number].T,
            ours.inner_bias[number],
            ours.outer[number].T,
            ours.outer_bias[number],
        )
        copy(both(expert.fc1, expert.fc2), own)
    x = torch.randn(7, 6, dtype=torch.float64)
    _, gates, chosen = router(x)
    agrees(
        "Mixture of experts",
        "Granite's router, NLLB's experts",
        ours(x)[0],
        experts(x, chosen, gates),
    )


@pytest.mark.parametrize(
    ("family", "name"), [("rnnsearch", "RNNsearch"), ("rnnencdec", "RNNencdec")]
)
def test_rnnsearch_s_decoder(agrees, family, name):
    model = random_model(family)
    width = model.decoder.input_size
    cell = nn.GRUCell(width, 12, dtype=torch.float64)
    cell.load_state_dict(
        {name.removesuffix("_l0"): value for name, value in model.decoder.state_dict().items()}
    )
    embedded, context, hidden = (
        torch.randn(5, n, dtype=torch.float64) for n in (10, width - 10, 12)
    )
    found = model.advance(embedding_gates(model.decoder, embedded), context, hidden)
    agrees(
        f"{name}, a step of the decoder",
        "torch.nn.GRUCell",
        found,
        cell(torch.cat([embedded, context], 1), hidden),
    )


@pytest.mark.parametrize(("family", "name"), [("gnmt", "GNMT"), ("moe", "MoE, projected")])
def test_gnmt_s_bottom_layer(agrees, family, name):
    model = random_model(family)
    layer = model.decoder[0]
    embedded, contexts = torch.randn(2, 3, 5, 10, dtype=torch.float64)
    expected, _ = layer(torch.cat([embedded, contexts], -1))
    gates, steps = embedding_gates(layer, embedded), []
    hidden, cell = expected.new_zeros(3, 10), expected.new_zeros(3, layer.hidden_size)
    for position in range(5):
        hidden, cell = model.bottom(gates[:, position], contexts[:, position], hidden, cell)
        steps.append(hidden)
    agrees(f"{name}, bottom decoder layer", "torch.nn.LSTM", torch.stack(steps, 1), expected)
