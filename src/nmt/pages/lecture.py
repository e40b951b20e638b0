"""The page of a lecture: the numbers of its pictures, from formulas, a model and trainings."""

from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt.data.batch import pad_sources, padded_batch
from nmt.data.sequences import Sequences, Source
from nmt.data.tokens import ParallelTokens
from nmt.decoding.search import Step, length_penalty, search
from nmt.decoding.translator import length_limits
from nmt.models.attention import MultiHeadAttention, SelfAttention, attention_weights, recorded
from nmt.models.build import build
from nmt.models.decoder_only import followed_by, with_tags
from nmt.models.layout import Layout, layout
from nmt.models.positions import sinusoids
from nmt.models.protocol import BOS, EOS, Model
from nmt.paper.curves import curve_points
from nmt.paper.drawing import Drawing
from nmt.serving.folder import TranslationModel
from nmt.training.gradients import gradient_norms

# B sentences, S source length, T target length, H heads, d_k width of queries and keys, D d_model

POSITIONS = 100
WIDTHS = (16, 64, 512)  # of their encodings, as NPFL138's lecture 9 draws them
SHIFTS = (1, 4, 16)
DOT_WIDTHS = (1, 4, 16, 64, 256, 1024)
QUERIES, KEYS = 500, 16  # at random, and with how many keys each is compared
NEXT = 8  # the most probable next subwords
LAYERS = 6  # of AIAYN's models
BATCH_TOKENS = 1000  # for gradients: a large model takes minutes for more on a CPU
NORMALIZED = 3  # sentences, from the shortest to one of median length
CURVES = ("nll", "dev_perplexity", "dev_bleu", "training_bleu")
FIRST = "encoder.0"
STAGES = [
    f"{FIRST}{part}"
    for part in ("", ".self_attention.out", ".feed_forward.inner", ".feed_forward.outer")
]


def lecture(
    drawing: Drawing, models: list[TranslationModel], tokens: ParallelTokens
) -> dict[str, Any]:
    """Return the numbers of all pictures, by picture.

    models: a Transformer, which the reproduction's sentence is followed through, and others whose
    heads are shown as well. tokens: of the Transformer's vocabulary.
    """
    curves = curve_points(drawing, CURVES)[["title", "metric", "update", "mean"]]
    return {
        "positions": {width: numbers(sinusoids(POSITIONS, width), 2) for width in WIDTHS},
        "shifts": {offset: shift(offset) for offset in SHIFTS},
        "masks": masks(),
        "scale": saturation(),
        "models": [follow(model, drawing.reproduction.attention) for model in models],
        "norms": normalization(models[0].single, tokens),
        "gradients": {norm: gradients(models[0], tokens, norm) for norm in ("post", "pre")},
        "curves": curves[np.isfinite(curves["mean"])].to_dict("records"),
        "used": [
            {
                "title": drawing.title(run.experiment),
                "points": [
                    (line["update"], line["mfu"]) for line in run.metrics() if line.get("mfu")
                ],
                **run.training(),
            }
            for run in drawing.first_runs
        ],
    }


def numbers(values: Tensor, digits: int = 3) -> list:
    """Return a tensor as lists of rounded numbers."""
    return np.round(values.double().cpu().numpy(), digits).tolist()


def shift_matrix(offset: int, width: int) -> Tensor:
    """Return M_c with PE(t + c) = M_c PE(t) for every t (AIAYN section 3.5): (D, D).

    It rotates each pair of a sine and a cosine by the angle that PE(c) has there.
    """
    sine, cosine = sinusoids(offset + 1, width)[offset].view(-1, 2).T
    return torch.block_diag(*torch.stack([cosine, sine, -sine, cosine], 1).view(-1, 2, 2))


def shift(offset: int) -> dict:
    """Return M_c of the smallest width, and the largest error of every width."""
    errors = {}
    for width in WIDTHS:
        table = sinusoids(POSITIONS + offset, width)
        shifted = table[:POSITIONS] @ shift_matrix(offset, width).T
        errors[width] = float((shifted - table[offset:]).abs().max())
    return {"matrix": numbers(shift_matrix(offset, WIDTHS[0])), "errors": errors}


def masks() -> dict[str, dict]:
    """Return which key (column) each query (row) sees, 1 or 0, as the models' own masks have it."""
    words, written = ["two", "dogs", "run", "</s>"], ["<s>", "zwei", "Hunde", "laufen"]
    in_batch, in_row = [*words, "<pad>", "<pad>"], ["<en>", *words, "<de>", *written[1:]]
    source = pad_sources([[9, 9, 9], [9, 9, 9, 9, 9]])
    target = Sequences.of(torch.tensor([[BOS, 9, 9, 9]]))
    row = followed_by(with_tags(pad_sources([[9, 9, 9]])), target)
    see = partial(layout, dtype=torch.float32)
    kinds = {
        "padding": (in_batch, in_batch, see(source, source)),
        "causal": (written, written, see(target, target, causal=True)),
        "cross": (written, in_batch, see(target, source)),
        "decoder-only": (in_row, in_row, see(row, row, causal=True)),
        "prefix": (in_row, in_row, see(row, row, causal=True, prefix=len(words) + 1)),
    }
    shown = {}
    for kind, (queries, keys, where) in kinds.items():
        assert where.mask is not None
        cells = where.mask.expand(2, 1, len(queries), -1)[0, 0] == 0
        shown[kind] = {"queries": queries, "keys": keys, "cells": numbers(cells)}
    return shown


def saturation() -> dict[str, list[dict]]:
    """Return what softmax makes of random queries and keys, by width, without the scale and with.

    variance: of the scores. entropy: of the weights w, in nats. gradient: the Frobenius norm of the
    derivative of w by the scores, diag(w) - w w^T.
    """
    random = torch.Generator().manual_seed(0)
    lines: dict[str, list[dict]] = {"q·k": [], "q·k / √dₖ": []}
    for width in DOT_WIDTHS:
        q = torch.randn(QUERIES, 1, width, generator=random)
        k = torch.randn(QUERIES, KEYS, width, generator=random)
        products = q @ k.transpose(-1, -2)
        scores = (products, products / width**0.5)
        weights = (products.softmax(-1), attention_weights(q, k, None))
        for line, s, w in zip(lines.values(), scores, weights, strict=True):
            derivative = torch.diag_embed(w[:, 0]) - w.transpose(-1, -2) * w
            values = {
                "variance": s.var(),
                "entropy": torch.special.entr(w).sum(-1).mean(),
                "gradient": derivative.norm(dim=(-2, -1)).mean(),
            }
            line.append({"width": width} | {name: float(value) for name, value in values.items()})
    return lines


@torch.inference_mode()
def observe(
    model: Model, source: Source, target: Sequences
) -> tuple[dict[str, tuple], dict[str, Tensor], Tensor]:
    """Run teacher forcing, and see what goes through each module.

    Returns the modules' inputs and attention's weights (B, H, T, S), by the modules' names, and the
    logits (B, T, V).
    """
    inputs: dict[str, tuple] = {}
    modules = dict(model.named_modules())
    attentions = {
        name: part for name, part in modules.items() if isinstance(part, MultiHeadAttention)
    }

    def see(name: str, module: nn.Module, given: tuple) -> None:
        inputs[name] = given

    hooks = [part.register_forward_pre_hook(partial(see, name)) for name, part in modules.items()]
    with recorded(attentions.values()) as maps:
        logits = model.output(model(source, target).target)
    for hook in hooks:
        hook.remove()
    return inputs, dict(zip(attentions, maps, strict=True)), logits


@torch.inference_mode()
def projections(attention: SelfAttention, x: Tensor, where: Layout, *_: object) -> list[Tensor]:
    """Return the queries, keys and values of self-attention: (B, H, S, d_k)."""
    parts = attention.qkv(x).split(attention.widths, dim=-1)
    q, k, v = map(attention.split_heads, parts)
    rotate = attention.position_bias.rotate
    return [rotate(q, where.queries), rotate(k, where.queries), v]


def follow(model: TranslationModel, sentence: str) -> dict:
    """Return what is made of a sentence on its way through a model.

    weights: (H, T, S), by attention's name. projections: queries, keys and values (H, S, d_k) of
    the encoder's first layer, and stages: what goes into parts of it, (S, width); none in a model
    without encoder.
    """
    (tokens,) = model.encode([sentence])
    decoding = model.experiment.decoding
    source = pad_sources([tokens]).to(model.device)
    steps: list[Step] = []
    limits = length_limits(model.model, [tokens], [0], decoding)
    ((best,),) = search(model.model, source, limits, decoding, steps=steps)
    target = Sequences.of(torch.tensor([[BOS, *best.tokens]], device=model.device))
    inputs, weights, logits = observe(model.single, source, target)
    name = f"{FIRST}.self_attention"
    first = dict(model.single.named_modules()).get(name)
    projected = projections(first, *inputs[name]) if isinstance(first, SelfAttention) else []
    probabilities, likely = logits[0].softmax(-1).topk(NEXT)
    words = model.subwords.target.pieces
    return {
        "title": model.experiment.title,
        "sentence": sentence,
        "translation": model.decode(best.tokens),
        "languages": [model.configuration.source, model.configuration.target],
        "ids": [*tokens, EOS],
        "source": model.subwords.source.pieces([*tokens, EOS]),
        "target": words([*best.tokens, EOS]),
        "weights": {name: numbers(maps[0]) for name, maps in weights.items()},
        "projections": [numbers(part[0]) for part in projected],
        "stages": {
            name.removeprefix(FIRST): numbers(given[0][0], 2)
            for name, given in inputs.items()
            if name in STAGES
        },
        "next": {
            "words": [words(row) for row in likely.tolist()],
            "logits": numbers(logits[0].gather(-1, likely), 2),
            "probabilities": numbers(probabilities),
        },
        # On a GPU a few steps are repeated after the last hypothesis has ended.
        "tree": [
            nodes
            for length, step in enumerate(steps, start=1)
            if (nodes := branches(model, length, step))
        ],
    }


def branches(model: TranslationModel, length: int, step: Step) -> list[dict]:
    """Return the hypotheses of a sentence that a step leaves open, the best first, then the ended.

    parent: the number of the hypothesis before. score: of one that ends, else None.
    """
    decoding = model.experiment.decoding
    penalty = length_penalty(length, decoding)
    columns = step.log_probs, step.rows, step.tokens
    best = list(zip(*(column[0].tolist() for column in columns), strict=True))
    still_open = [node for node in best if node[2] != EOS][: decoding.beam]
    ended = [node for node in best[: decoding.beam] if node[2] == EOS]
    nodes = []
    for log_prob, parent, token in still_open + ended:
        if log_prob > -np.inf:
            (piece,) = model.subwords.target.pieces([token])
            score = log_prob / penalty if token == EOS else None
            nodes.append({"piece": piece, "parent": parent, "log_prob": log_prob, "score": score})
    return nodes


def normalization(model: Model, tokens: ParallelTokens) -> dict:
    """Return what comes to the first LayerNorm of a Transformer's encoder, for a few sentences.

    values: (B, S, D); padding: (B, S). changes: how far the numbers of the first sentence move
    through the others, with normalization over the batch, over it with padding, or of each token.
    """
    by_length = np.argsort(tokens.source.lengths_of(np.arange(len(tokens))), kind="stable")
    chosen = by_length[np.linspace(0, len(tokens) // 2, NORMALIZED, dtype=int)]
    batch = padded_batch(tokens.source, tokens.target, chosen)
    batch = batch.to(next(model.parameters()).device)
    x = observe(model, batch.source, batch.target)[0][f"{FIRST}.after_self.norm"][0]
    real = ~batch.source.padding
    own = x[0][real[0]]
    batch_norm = partial(F.batch_norm, running_mean=None, running_var=None, training=True)
    layer_norm = partial(F.layer_norm, normalized_shape=x.shape[-1:])
    among = {
        "batch": (batch_norm(x[real])[: len(own)], batch_norm(own)),
        "padded": (batch_norm(x.flatten(0, 1)).view_as(x)[0][real[0]], batch_norm(own)),
        "layer": (layer_norm(x[real])[: len(own)], layer_norm(own)),
    }
    changes = {name: float((here - alone).abs().max()) for name, (here, alone) in among.items()}
    return {"values": numbers(x, 2), "padding": (~real).tolist(), "changes": changes}


def gradients(model: TranslationModel, tokens: ParallelTokens, norm: str) -> dict[str, float]:
    """Return the gradient norm of each layer before training, with the model's other settings."""
    config = model.experiment.model.model_copy(update={"norm": norm, "layers": LAYERS})
    few = model.experiment.training.model_copy(
        update={"batch_tokens": BATCH_TOKENS, "batch_sentences": None, "micro_batches": 1}
    )
    torch.manual_seed(1)
    untrained = build(config, *tokens.meta["vocabulary_sizes"]).to(model.device)
    return gradient_norms(untrained, tokens, few, seed=1)
