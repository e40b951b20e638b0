"""Agreement with other implementations on shared weights: to 1e-5, in float64, with padding.

pytest ends with a table of the largest differences. Where one is near 1e-7, the other
implementation works in float32 inside.
"""

import os

# All models here are made from a configuration: there is nothing to fetch.
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import torch
from torch import Tensor, nn
from transformers import (
    BloomConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GraniteMoeConfig,
    NllbMoeConfig,
    RoFormerConfig,
    RoFormerModel,
    VitsConfig,
)
from transformers.models.bloom.modeling_bloom import BloomAttention, build_alibi_tensor
from transformers.models.granitemoe.modeling_granitemoe import GraniteMoeTopKRouter
from transformers.models.nllb_moe.modeling_nllb_moe import NllbMoeExperts
from transformers.models.vits.modeling_vits import VitsAttention

from nmt.configuration import Decoding
from nmt.decoding.search import search
from nmt.models.attention import MultiHeadAttention, SelfAttention
from nmt.models.build import build
from nmt.models.experts import Experts
from nmt.models.layout import Layout
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.transformer_layers import Residual
from nmt.serving.marian import marian_model
from tests.support.families import (
    VOCABULARY,
    decoder_only,
    random_sentences,
    rows,
    sources,
    target_inputs,
    transformer,
)

# S source length, T target length, D d_model

SOURCE = sources(random_sentences([5, 1, 9, 4]))
TARGET = target_inputs(random_sentences([3, 8, 2, 5], seed=1))
# True at padding, and true at tokens
SOURCE_PADDING = SOURCE.padding
SOURCE_TOKENS = ~SOURCE.padding
TARGET_TOKENS = TARGET.tokens != PAD
# (T, T), true where a position of TARGET may not look
FUTURE = torch.ones(9, 9, dtype=torch.bool).triu(1)


@pytest.fixture
def agrees_at_tokens(agrees):
    """Like agrees, for states (B, length, ...), of which only those of tokens count."""

    def compare(name: str, reference: str, ours: Tensor, theirs: Tensor) -> None:
        tokens = TARGET_TOKENS if ours.size(1) == TARGET.tokens.size(1) else SOURCE_TOKENS
        agrees(name, reference, ours[tokens], theirs[tokens])

    return compare


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def in_rows(x: Tensor, mask: Tensor) -> Layout:
    """Return the layout of one sentence a row: x (B, T, D)."""
    positions = torch.arange(x.size(1))
    return Layout(mask, positions, positions)


def randomize(module: nn.Module) -> nn.Module:
    """Return the module in float64 and evaluation mode, with larger parameters.

    They are large enough that every effect shows.
    """
    for parameter in module.double().parameters():
        parameter.add_(0.3 * torch.randn_like(parameter))
    return module.eval()


def zero_biases(module: nn.Module) -> nn.Module:
    """Return the module in float64 and evaluation mode, with biases zero until they are copied.

    Our attention has none.
    """
    for name, parameter in module.double().named_parameters():
        if name.endswith("bias"):
            parameter.zero_()
    return module.eval()


def score_mask(masked: Tensor) -> Tensor:
    """Return what is added to scores: minus infinity where `masked` is true, 0 elsewhere."""
    return torch.zeros(masked.shape, dtype=torch.float64).masked_fill(masked, -torch.inf)


def copy(theirs: list[Tensor], ours: list[Tensor]) -> None:
    """Copy our parameters into theirs."""
    for target, source in zip(theirs, ours, strict=True):
        assert target.shape == source.shape
        target.copy_(source)


def weights(*modules: nn.Module) -> list[Tensor]:
    """Return the weight of each module."""
    return [module.weight for module in modules]


def weights_and_biases(*modules: nn.Module) -> list[Tensor]:
    """Return the weight and the bias of each module."""
    return [tensor for module in modules for tensor in (module.weight, module.bias)]


def matrices(attention: MultiHeadAttention) -> list[Tensor]:
    """Return W^Q, W^K, W^V and W^O, and the biases if there are any."""
    biases = [] if attention.qkv.bias is None else [attention.qkv.bias, attention.out.bias]
    return [*attention.qkv.weight.split(attention.widths), attention.out.weight, *biases]


def torch_matrices(attention: nn.MultiheadAttention, biases: bool = False) -> list[Tensor]:
    """Return the same of torch's attention, which always has biases."""
    both = [attention.in_proj_bias, attention.out_proj.bias] if biases else []
    return [*attention.in_proj_weight.chunk(3), attention.out_proj.weight, *both]


def parameters(layer: nn.Module) -> list[Tensor]:
    """Return a layer's parameters: those of attention, of the feed-forward network, of norms."""
    attentions = [child for child in layer.children() if isinstance(child, MultiHeadAttention)]
    norms = [child.norm for child in layer.children() if isinstance(child, Residual)]
    projections = [matrix for attention in attentions for matrix in matrices(attention)]
    feed_forward = layer.feed_forward
    return projections + weights_and_biases(feed_forward.inner, feed_forward.outer, *norms)


@pytest.mark.parametrize(
    ("norm", "activation", "more"),
    [
        ("post", "relu", False),
        ("post", "gelu", False),
        ("pre", "relu", False),
        ("pre", "gelu", True),
        ("post", "relu", True),
    ],
)
def test_stacks_of_layers(agrees_at_tokens, norm, activation, more):
    """more: with attention's biases, and a norm at the decoder's end."""
    config = transformer(
        norm=norm, activation=activation, tie="none", attention_bias=more, final_norm=more
    )
    model = randomize(build(config, VOCABULARY, VOCABULARY))
    settings = {"activation": activation, "norm_first": norm == "pre", "batch_first": True}
    encoder_norm = nn.LayerNorm(16) if norm == "pre" else None
    decoder_norm = nn.LayerNorm(16) if norm == "pre" or more else None
    layer = nn.TransformerEncoderLayer(16, 4, 24, **settings)
    encoder = nn.TransformerEncoder(layer, 2, encoder_norm, enable_nested_tensor=False)
    layer = nn.TransformerDecoderLayer(16, 4, 24, **settings)
    decoder = nn.TransformerDecoder(layer, 2, decoder_norm)
    for theirs, ours in zip(zero_biases(encoder).layers, model.encoder, strict=True):
        attention = torch_matrices(theirs.self_attn, more)
        others = weights_and_biases(theirs.linear1, theirs.linear2, theirs.norm1, theirs.norm2)
        copy([*attention, *others], parameters(ours))
    for theirs, ours in zip(zero_biases(decoder).layers, model.decoder, strict=True):
        both = theirs.self_attn, theirs.multihead_attn
        attentions = [matrix for one in both for matrix in torch_matrices(one, more)]
        norms = weights_and_biases(theirs.norm1, theirs.norm2, theirs.norm3)
        others = [*weights_and_biases(theirs.linear1, theirs.linear2), *norms]
        copy([*attentions, *others], parameters(ours))
    for theirs, ours in ((encoder_norm, model.encoder_norm), (decoder_norm, model.decoder_norm)):
        if theirs is not None:
            copy(weights_and_biases(theirs), weights_and_biases(ours))

    states = model.encode(SOURCE)
    embedded_source = model.embed(SOURCE, model.source_embedding, model.source_positions)
    expected_states = encoder(embedded_source, src_key_padding_mask=SOURCE_PADDING)
    agrees_at_tokens(
        f"Encoder, {norm} norm, {activation}{', biases' * more}",
        "torch.nn",
        states,
        expected_states,
    )
    embedded_target = model.embed(TARGET, model.target_embedding, model.target_positions)
    expected = decoder(
        embedded_target,
        expected_states,
        tgt_mask=FUTURE,
        tgt_key_padding_mask=~TARGET_TOKENS,
        memory_key_padding_mask=SOURCE_PADDING,
    )
    decoded = model(SOURCE, TARGET).target
    agrees_at_tokens(
        f"Decoder, {norm} norm, {activation}{', biases' * more}", "torch.nn", decoded, expected
    )


def test_the_whole_transformer(agrees_at_tokens):
    ours = randomize(build(transformer(), VOCABULARY, VOCABULARY))
    logits = ours.output(ours(SOURCE, TARGET).target)
    marian = marian_model(ours, transformer(), VOCABULARY)
    expected = marian(SOURCE.tokens, SOURCE_TOKENS, TARGET.tokens, TARGET_TOKENS).logits
    agrees_at_tokens("Transformer, tokens to logits", "Marian", logits, expected)


@pytest.mark.parametrize(("beam", "options"), [(1, {}), (4, {"length_penalty": 0.0})])
def test_search(agrees, beam, options):
    # A seed whose translations are not empty and reach no limit, which Marian treats differently.
    torch.manual_seed(2)
    ours = build(transformer(), VOCABULARY, VOCABULARY).double().eval()
    for name, parameter in ours.named_parameters():
        if name.endswith("norm.weight"):
            # Otherwise a tied model repeats the same token again and again.
            parameter.normal_()
    decoding = Decoding(beam=beam, alpha=0)
    hypotheses = search(ours, SOURCE, [30] * len(SOURCE.tokens), decoding)
    translations = [best.tokens for (best,) in hypotheses]
    assert all(2 < len(tokens) < 30 for tokens in translations)
    generated = marian_model(ours, transformer(), VOCABULARY).generate(
        SOURCE.tokens,
        attention_mask=SOURCE_TOKENS,
        num_beams=beam,
        max_length=32,
        suppress_tokens=[PAD, BOS],
        **options,
    )
    expected = [row[1 : row.index(EOS)] for row in generated.tolist()]
    agrees(f"Search, beam {beam}, tokens", "Marian", rows(translations), rows(expected))


def test_rotary_positions(agrees_at_tokens):
    model = randomize(build(transformer(positions="rotary"), VOCABULARY, VOCABULARY))
    settings = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 24,
        "hidden_act": "relu",
        "layer_norm_eps": 1e-5,
        "max_position_embeddings": 64,
    }
    encoder_config = RoFormerConfig(**settings)
    decoder_config = RoFormerConfig(**settings, is_decoder=True, add_cross_attention=True)
    encoder = zero_biases(RoFormerModel(encoder_config)).encoder
    decoder = zero_biases(RoFormerModel(decoder_config)).encoder
    for their_stack, our_stack in ((encoder, model.encoder), (decoder, model.decoder)):
        for theirs, ours in zip(their_stack.layer, our_stack, strict=True):
            attentions = [theirs.attention]
            if theirs.is_decoder:
                attentions.append(theirs.crossattention)
            projections = []
            for attention in attentions:
                inputs = attention.self
                projections += [inputs.query, inputs.key, inputs.value, attention.output.dense]
            norms = [sublayer.output.LayerNorm for sublayer in (*attentions, theirs)]
            others = weights_and_biases(theirs.intermediate.dense, theirs.output.dense, *norms)
            copy([*weights(*projections), *others], parameters(ours))

    padding = score_mask(SOURCE_PADDING)[:, None, None]
    states = model.encode(SOURCE)
    expected_states = encoder(model.source_embedding(SOURCE.tokens) * 4, padding).last_hidden_state
    agrees_at_tokens("Rotary positions, encoder", "RoFormer", states, expected_states)
    embedded = model.target_embedding(TARGET.tokens) * 4
    expected = decoder(embedded, score_mask(FUTURE), expected_states, padding).last_hidden_state
    decoded = model(SOURCE, TARGET).target
    agrees_at_tokens("Rotary positions, decoder", "RoFormer", decoded, expected)


@pytest.mark.parametrize("heads", [4, 6])
def test_alibi(agrees_at_tokens, heads):
    width = 4 * heads
    ours = randomize(SelfAttention(transformer(positions="alibi", d_model=width, heads=heads)))
    config = BloomConfig(hidden_size=width, n_head=heads)
    theirs = zero_biases(BloomAttention(config, layer_idx=0))
    # One matrix holds query, key and value of the first head, then those of the second, and so on.
    ordered = theirs.query_key_value.weight.view(heads, 3, 4, width).transpose(0, 1)
    *inputs, out = matrices(ours)
    by_head = [weight.view(heads, 4, width) for weight in inputs]
    copy([*ordered, theirs.dense.weight], [*by_head, out])
    x = torch.randn(4, 9, width, dtype=torch.float64)
    attended = ours(x, in_rows(x, score_mask(FUTURE)))
    alibi = build_alibi_tensor(TARGET_TOKENS.long(), heads, torch.float64)
    expected, _ = theirs(x, torch.zeros_like(x), alibi, score_mask(FUTURE))
    agrees_at_tokens(f"ALiBi, {heads} heads", "Bloom", attended, expected)


def test_relative_positions(agrees_at_tokens):
    # VITS sees no greater distance than its window.
    ours = randomize(SelfAttention(transformer(positions="relative")))
    config = VitsConfig(hidden_size=16, num_attention_heads=4, window_size=16)
    theirs = zero_biases(VitsAttention(config))
    copy(weights(theirs.q_proj, theirs.k_proj, theirs.v_proj, theirs.out_proj), matrices(ours))
    for vectors in (ours.position_bias.keys, ours.position_bias.values):
        vectors[1:] = vectors[:1].clone()  # VITS has one set for all heads
    copy(
        [theirs.emb_rel_k[0], theirs.emb_rel_v[0]],
        [ours.position_bias.keys[0], ours.position_bias.values[0]],
    )
    x = torch.randn(4, 10, 16, dtype=torch.float64)
    mask = score_mask(SOURCE_PADDING)[:, None, None]
    attended = ours(x, in_rows(x, mask))
    expected, _ = theirs(x, attention_mask=mask.expand(-1, -1, 10, -1))
    agrees_at_tokens("Relative positions, keys and values", "VITS", attended, expected)


def gpt2_logits(gpt2: GPT2LMHeadModel, prefix: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Return its logits (B, P + T, V), and where source and target are (B, P + T).

    Its padding is behind the whole sequence, ours behind the source and behind the target.
    """
    sequences = rows(
        [
            [VOCABULARY, *source[source != PAD].tolist(), *target[target != PAD].tolist()]
            for source, target in zip(SOURCE.tokens, TARGET.tokens, strict=True)
        ]
    )
    position = torch.arange(sequences.size(1))
    in_source = position <= SOURCE_TOKENS.sum(1, keepdim=True)  # with its tag
    in_target = ~in_source & (sequences != PAD)
    visible = position <= position[:, None]
    if prefix:
        visible = visible | in_source[:, None]
    mask = score_mask(~(visible & (sequences != PAD)[:, None]))[:, None]
    logits = gpt2(sequences, attention_mask=mask).logits[..., :VOCABULARY]
    return logits, in_source, in_target


@pytest.mark.parametrize("prefix", [False, True])
def test_one_stack_for_source_and_target(agrees, prefix):
    config = decoder_only(prefix=prefix, positions="learned", norm="pre", activation="gelu")
    model = randomize(build(config, VOCABULARY, VOCABULARY))
    gpt2_config = GPT2Config(
        vocab_size=VOCABULARY + 1,  # the last one is the source's tag
        n_positions=1024,
        n_embd=16,
        n_layer=2,
        n_head=4,
        n_inner=24,
        activation_function="gelu",
        tie_word_embeddings=False,  # our embeddings are scaled when looked up
    )
    theirs = zero_biases(GPT2LMHeadModel(gpt2_config))
    stack = theirs.transformer
    table = model.embedding.weight
    tokens_and_tag = torch.cat([table, model.source_tag[None]]) * 4
    copy(weights(stack.wte, stack.wpe), [tokens_and_tag, model.positions.table])
    copy(
        [theirs.lm_head.weight[:VOCABULARY], *weights_and_biases(stack.ln_f)],
        [table, *weights_and_biases(model.norm)],
    )
    for layer, our_layer in zip(stack.h, model.layers, strict=True):
        # Its matrices are transposed.
        attention = [*layer.attn.c_attn.weight.T.chunk(3), layer.attn.c_proj.weight.T]
        linears = weights_and_biases(layer.mlp.c_fc, layer.mlp.c_proj)
        feed_forward = [tensor.T if tensor.dim() == 2 else tensor for tensor in linears]
        norms = weights_and_biases(layer.ln_1, layer.ln_2)
        copy([*attention, *feed_forward, *norms], parameters(our_layer))

    expected, in_source, in_target = gpt2_logits(theirs, prefix)
    states, tag_and_source = model.decode(SOURCE, TARGET)
    all_logits = model.output(states)
    tag = torch.ones(len(SOURCE_TOKENS), 1, dtype=torch.bool)
    source_logits = all_logits[:, :tag_and_source][torch.cat([tag, SOURCE_TOKENS], 1)]
    logits = torch.cat([source_logits, all_logits[:, tag_and_source:][TARGET_TOKENS]])
    expected_logits = torch.cat([expected[in_source], expected[in_target]])
    name = "Decoder-only, with a prefix" if prefix else "Decoder-only"
    agrees(name, "GPT-2", logits, expected_logits)


def test_experts(agrees):
    ours = randomize(Experts(d_model=6, d_expert=5, experts=4, top_k=2))
    router_config = GraniteMoeConfig(hidden_size=6, num_local_experts=4, num_experts_per_tok=2)
    router = GraniteMoeTopKRouter(router_config).double()
    experts_config = NllbMoeConfig(d_model=6, num_experts=4, moe_token_dropout=0)
    experts = NllbMoeExperts(experts_config, ffn_dim=5).double().eval()
    copy(weights(router), [ours.gate.T])
    for number in range(4):
        expert = experts[f"expert_{number}"]
        inner = [ours.inner[number].T, ours.inner_bias[number]]
        outer = [ours.outer[number].T, ours.outer_bias[number]]
        copy(weights_and_biases(expert.fc1, expert.fc2), inner + outer)
    x = torch.randn(7, 6, dtype=torch.float64)
    _, gates, chosen = router(x)
    mixed, _ = ours(x)
    expected = experts(x, chosen, gates)
    agrees("Mixture of experts", "Granite's router, NLLB's experts", mixed, expected)
