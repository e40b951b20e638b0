"""Measures how fast another toolkit trains a row's Transformer on the same batches; benchmark.py compares.

Needs a Python with the toolkits of envs/peers.txt. Model and loss are the toolkit's own, with its defaults but for
sizes, Post-LN where it has it, one table for all embeddings, and dropout where the paper has it. Batches
(length-sorted), Adam (torch's fused one) and clipping are ours for all of them.
"""

import argparse
import dataclasses
import json
import time
from collections.abc import Callable
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import command
from nmt.configuration import Transformer, load_catalogue
from nmt.data.batches import Batch, Batches
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.text.subwords import BOS, EOS, PAD, UNK
from nmt.training.speed import arguments, repeated

LONGEST = 512
# What gives the summed loss of a batch, label smoothing included, and what is trained
Peer = tuple[nn.Module, Callable[[Batch], Tensor]]


def fairseq(config: Transformer, size: int, smoothing: float) -> Peer:
    plain = dataclasses.dataclass

    def dataclass(cls=None, **options):  # its defaults are objects, which Python 3.11 only takes when they have a hash
        return plain(cls, **{"unsafe_hash": True, **options}) if cls else lambda later: dataclass(later, **options)

    dataclasses.dataclass = dataclass
    from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
    from fairseq.models.transformer import TransformerConfig, TransformerModelBase

    dataclasses.dataclass = plain
    settings = TransformerConfig(dropout=config.dropout, share_all_embeddings=True)
    for side in (settings.encoder, settings.decoder):
        side.embed_dim, side.ffn_embed_dim = config.d_model, config.d_ff
        side.layers, side.attention_heads = config.layers, config.heads
    settings.decoder.input_dim = settings.decoder.output_dim = config.d_model

    class Words:
        def __len__(self) -> int:
            return size

        def pad(self) -> int:
            return PAD

    words = Words()
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words)
    model = TransformerModelBase.build_model(settings, task)

    def loss(batch: Batch) -> Tensor:
        logits, _ = model(batch.source, lengths(batch.source), batch.target_in)
        found = model.get_normalized_probs((logits, None), log_probs=True).flatten(0, 1)
        return label_smoothed_nll_loss(found, batch.target_out.flatten()[:, None], smoothing, ignore_index=PAD)[0]

    return model, loss


def joeynmt(config: Transformer, size: int, smoothing: float) -> Peer:
    from joeynmt.model import build_model

    class Words:
        pad_index, bos_index, eos_index, unk_index, sep_index = PAD, BOS, EOS, UNK, None
        specials = lang_tags = ()

        def __len__(self) -> int:
            return size

    stack = {"type": "transformer", "num_layers": config.layers, "num_heads": config.heads, "layer_norm": "post"}
    stack |= {"hidden_size": config.d_model, "ff_size": config.d_ff, "dropout": config.dropout}
    stack["embeddings"] = {"embedding_dim": config.d_model, "scale": True, "dropout": config.dropout}
    words = Words()
    model = build_model(
        {
            "encoder": stack,
            "decoder": stack,
            "tied_embeddings": True,
            "tied_softmax": True,
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
        },
        words,
        words,
    )
    model.loss_function = ("crossentropy", smoothing)

    def loss(batch: Batch) -> Tensor:
        return model(
            return_type="loss",
            src=batch.source,
            src_length=lengths(batch.source),
            src_mask=(batch.source != PAD)[:, None],
            trg_input=batch.target_in,
            trg=batch.target_out,
            trg_mask=(batch.target_out != PAD)[:, None],
        )[0]

    return model, loss


def opennmt(config: Transformer, size: int, smoothing: float) -> Peer:
    from onmt.decoders import TransformerDecoder
    from onmt.encoders import TransformerEncoder
    from onmt.models import NMTModel
    from onmt.modules import Embeddings

    def embeddings() -> nn.Module:
        options = {"position_encoding": True, "position_encoding_type": "SinusoidalInterleaved"}
        return Embeddings(config.d_model, size, PAD, dropout=config.dropout, **options)

    sizes = (config.layers, config.d_model, config.heads, config.d_ff)
    source, target = embeddings(), embeddings()
    target.word_lut.weight = source.word_lut.weight
    encoder = TransformerEncoder(*sizes, config.dropout, 0.0, source, 0, 0)
    decoder = TransformerDecoder(*sizes, False, "scaled-dot", config.dropout, 0.0, target, 0, 0, False, False, -3, 1)
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(config.d_model, size)
    model.generator.weight = source.word_lut.weight
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=smoothing, reduction="sum")

    def loss(batch: Batch) -> Tensor:
        target = torch.cat([batch.target_in, batch.target_out[:, -1:]], dim=1)  # the model leaves the last one out
        states, _ = model(batch.source[..., None], target[..., None], lengths(batch.source))
        return criterion(model.generator(states.flatten(0, 1)), batch.target_out.flatten())

    return model, loss


def sockeye(config: Transformer, size: int, smoothing: float) -> Peer:
    from sockeye.data_io import DataConfig
    from sockeye.encoder import EmbeddingConfig
    from sockeye.loss import CrossEntropyLoss
    from sockeye.model import ModelConfig, SockeyeModel, initialize_parameters
    from sockeye.transformer import TransformerConfig

    stack = TransformerConfig(
        model_size=config.d_model,
        attention_heads=config.heads,
        feed_forward_num_hidden=config.d_ff,
        act_type="relu",
        num_layers=config.layers,
        dropout_attention=0.0,
        dropout_act=0.0,
        dropout_prepost=config.dropout,
        positional_embedding_type="fixed",
        preprocess_sequence="",
        postprocess_sequence="drn",
        max_seq_len_source=LONGEST,
        max_seq_len_target=LONGEST,
        depth_key_value=config.d_model,
    )
    embedding = EmbeddingConfig(vocab_size=size, num_embed=config.d_model, dropout=0.0)
    data = DataConfig(None, LONGEST, LONGEST, 1, 1)
    model = SockeyeModel(ModelConfig(data, size, size, embedding, embedding, stack, stack))
    model.apply(initialize_parameters)
    criterion = CrossEntropyLoss(label_smoothing=smoothing, ignore_label=PAD)

    def loss(batch: Batch) -> Tensor:
        sides = (batch.source, batch.target_in)
        source, target = (torch.stack([lengths(side), torch.zeros(len(side))], dim=1) for side in sides)
        logits = model(batch.source[..., None], source, batch.target_in[..., None], target)["logits"]
        return criterion.forward(logits, batch.target_out)[0] * (batch.target_out != PAD).sum()

    return model, loss


def marian(config: Transformer, size: int, smoothing: float) -> Peer:
    from transformers import MarianConfig, MarianMTModel

    sides = {"layers": config.layers, "attention_heads": config.heads, "ffn_dim": config.d_ff}
    model = MarianMTModel(
        MarianConfig(
            **{f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()},
            vocab_size=size,
            d_model=config.d_model,
            dropout=config.dropout,
            max_position_embeddings=LONGEST,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )

    def loss(batch: Batch) -> Tensor:
        mask = (batch.source != PAD).long()
        logits = model(batch.source, mask, batch.target_in, use_cache=False).logits
        return smoothed(logits, batch.target_out, smoothing)

    return model, loss


def torch_transformer(config: Transformer, size: int, smoothing: float) -> Peer:
    """torch.nn.Transformer between one table, as in torch's own tutorial."""

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(size, config.d_model)
            sizes = (config.d_model, config.heads, config.layers, config.layers, config.d_ff, config.dropout)
            self.transformer = nn.Transformer(*sizes, batch_first=True)
            self.register_buffer("positions", torch.randn(LONGEST, config.d_model))

        def embed(self, tokens: Tensor) -> Tensor:
            x = self.table(tokens) * config.d_model**0.5 + self.positions[: tokens.size(1)]
            return F.dropout(x, config.dropout, self.training)

        def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
            causal = nn.Transformer.generate_square_subsequent_mask(target_in.size(1))
            padding = source == PAD
            states = self.transformer(
                self.embed(source),
                self.embed(target_in),
                tgt_mask=causal,
                tgt_is_causal=True,
                src_key_padding_mask=padding,
                memory_key_padding_mask=padding,
            )
            return F.linear(states, self.table.weight)

    model = Model()
    return model, lambda batch: smoothed(model(batch.source, batch.target_in), batch.target_out, smoothing)


def smoothed(logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
    options = {"ignore_index": PAD, "label_smoothing": smoothing, "reduction": "sum"}
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **options)


def lengths(tokens: Tensor) -> Tensor:
    return (tokens != PAD).sum(1)


PEERS = {
    "fairseq": fairseq,
    "joeynmt": joeynmt,
    "opennmt": opennmt,
    "sockeye": sockeye,
    "marian": marian,
    "torch": torch_transformer,
}


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    experiment = load_catalogue(args.catalogue).experiment(args.experiment)
    if not isinstance(experiment.model, Transformer):
        raise UserError(f"{args.experiment} is no Transformer: others are not compared.")
    tokens = ParallelTokens.load(args.tokens)
    settings = experiment.training
    model, loss = PEERS[args.toolkit](experiment.model, tokens.meta["vocabulary_sizes"][0], settings.label_smoothing)
    model.train()
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=settings.adam_betas, fused=True)
    batches = Batches.of(tokens, settings, seed=1)
    updates = iter(batches.epoch(1))

    def update() -> tuple[int, float]:
        """Target tokens and seconds."""
        chosen = next(updates)
        loaded, target_tokens = [batches.load(batch) for batch in chosen], sum(map(batches.target_tokens, chosen))
        begun = time.perf_counter()
        for batch in loaded:
            (loss(batch) / target_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), settings.gradient_clip or float("inf"))
        optimiser.step()
        optimiser.zero_grad()
        return target_tokens, time.perf_counter() - begun

    done = repeated(update, args.seconds)
    rate = sum(count for count, _ in done) / sum(seconds for _, seconds in done)
    print(json.dumps({"target_tokens_per_second": rate}))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--toolkit", required=True, choices=PEERS)
    command.run(main, parser)
