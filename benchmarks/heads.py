"""Measure what each attention head of a Transformer is worth, and where it looks.

A head's worth is the BLEU that greedy translations lose without it (Michel et al. 2019); the last
lines are of all heads of a kind but the best of each layer. Its role is the place that has more
than half of its weight, or broad (after Voita et al. 2019): the same, previous or next position (a
query of cross-attention is where the word is that it writes), BOS or EOS. Weights, and entropy in
nats, are means in teacher forcing, each over the queries for which there is such a place.
"""

import argparse
from collections.abc import Collection
from copy import deepcopy

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nmt import command
from nmt.configuration import Decoding
from nmt.data.batch import padded_batch
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.scores import Score, Scorer, check_parallel
from nmt.files import read_lines, write_text
from nmt.models.attention import MultiHeadAttention
from nmt.models.protocol import BOS, EOS
from nmt.models.transformer import Transformer
from nmt.progress import progress
from nmt.serving.folder import TranslationModel

PLACES = ["same", "previous", "next", "BOS", "EOS"]

Head = tuple[str, int, int]  # its kind, layer and number, from 1


def main(args: argparse.Namespace) -> None:
    """Silence heads in turn, look at all of them, and write one table."""
    folder = TranslationModel(args.model, gpus=args.gpus)
    model, preprocessing = folder.single, folder.target_preprocessing
    if not isinstance(model, Transformer):
        raise UserError(f"{args.model} is no Transformer with encoder and decoder: give one.")
    tokens = ParallelTokens.load(args.tokens)
    tokens.require_vocabulary(folder.subwords, args.tokens)
    lines, references = list(read_lines(args.source)), list(read_lines(args.references))
    check_parallel([(str(args.source), lines), (str(args.references), references)])
    greedy = Decoding(beam=1, max_extra=folder.experiment.decoding.max_extra)
    metric = METRICS["lowercased_bleu" if preprocessing.lowercase else "bleu"]
    scorer = Scorer(metric, preprocessing.language)

    def score(silent: Collection[Head]) -> Score:
        folder.model = without(model, silent)
        return scorer.score(folder.translate(lines, greedy), [references])

    whole, table = score([]), looks(model, tokens, args.pairs)
    shown = progress(table.index, "silencing", len(table), "heads")
    lost = pd.Series({head: whole.score - score([head]).score for head in shown})
    best, rest = set(lost.groupby(level=[0, 1]).idxmax()), {}
    for kind in attentions(model):
        others = [head for head in lost.index if head[0] == kind and head not in best]
        rest[kind, "each", "all but the best"] = whole.score - score(others).score
    table = pd.concat([lost, pd.Series(rest)]).to_frame("BLEU lost").join(table)
    table = table.rename_axis(["kind", "layer", "head"]).reset_index()
    write_text(args.output, table.to_csv(index=False, float_format="%.4f"))
    print(table.where(table.notna(), "").to_markdown(index=False, floatfmt=".2f"))
    few = f"{(lost < 0.1).sum()} of {len(lost)} heads lose less than 0.1"
    print(f"\n{few} of {whole.score:.2f} BLEU ({whole.signature}).")


def attentions(model: Transformer) -> dict[str, list[MultiHeadAttention]]:
    """Return a model's attention by kind, layer by layer."""
    return {
        "encoder": [layer.self_attention for layer in model.encoder],
        "decoder": [layer.self_attention for layer in model.decoder],
        "cross-attention": [layer.cross_attention for layer in model.decoder],
    }


def without(model: Transformer, heads: Collection[Head]) -> Transformer:
    """Return a copy of the model in which `out` gets zeros from these heads."""
    model = deepcopy(model)
    for kind, layer, head in heads:
        attention = attentions(model)[kind][layer - 1]
        columns = attention.out.weight.detach().unflatten(1, (attention.heads, -1))
        columns[:, head - 1] = 0  # (D, H, d_v), a view
    return model


@torch.inference_mode()
def looks(model: Transformer, tokens: ParallelTokens, pairs: int) -> pd.DataFrame:
    """Return each head's role, mean weights on PLACES and mean entropy, in the first pairs."""
    queries: dict[Head, list[Tensor]] = {}
    for index in range(min(pairs, len(tokens))):
        pair = padded_batch(tokens.source, tokens.target, np.array([index]))
        pair = pair.to(model.output.weight.device)
        maps = model.self_attention(pair.source, pair.target)
        maps["cross-attention"] = model.attention(pair.source, pair.target)
        for kind, layers in maps.items():
            keys = (pair.target if kind == "decoder" else pair.source).tokens[0]
            for layer, weights in enumerate(layers.values(), start=1):
                for head, values in enumerate(of_queries(weights[0], keys), start=1):
                    queries.setdefault((kind, layer, head), []).append(values)
    means = {head: torch.cat(parts, 1).nanmean(1).tolist() for head, parts in queries.items()}
    table = pd.DataFrame(means, index=[*PLACES, "entropy"]).T
    roles = table[PLACES].idxmax(axis=1).where(table[PLACES].max(axis=1) > 0.5, "broad")
    return pd.concat([roles.rename("role"), table], axis=1)


def of_queries(weights: Tensor, keys: Tensor) -> Tensor:
    """Return each query's weight on PLACES, NaN where there is no such key, and its entropy.

    Of H heads, T queries and S keys: (H, T, S), the keys' tokens (S,) -> (H, 6, T).
    """
    queries, positions = (torch.arange(size, device=keys.device) for size in weights.shape[1:])
    ahead = positions - queries[:, None]
    places = [ahead == 0, ahead == -1, ahead == 1, keys == BOS, keys == EOS]
    where = torch.stack([place.expand_as(ahead) for place in places])  # (5, T, S)
    on = (weights[:, None] * where).sum(-1).where(where.any(-1), torch.nan)
    return torch.cat([on, torch.special.entr(weights).sum(-1)[:, None]], 1)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py", tokens="the dev set's, for roles")
    command.require(parser, "FILE", source="the dev set's text", references="parallel to it")
    command.require(parser, "FILE", output="the table as CSV")
    parser.add_argument("--pairs", type=command.whole_number(1), default=200, help="for roles")
    command.add_device(parser)
    command.run(main, parser)
