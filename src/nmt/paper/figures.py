"""The registry of figures: what draws each, from which files of runs, and what to say of it.

Rules, pages and Snakemake's report read this alone. It imports nothing that takes time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal


@dataclass(frozen=True)
class Figure:
    """A figure of a reproduction.

    draw: module:function, which returns a Picture of a Drawing.
    needs: the files that runs must have ("scores.json" is of the table's split, "model" of rows
      with learned positions alone), or "tokens", those of the rows' vocabularies in training.
    caption: what is to be seen. alt: the same in a few words, for those who do not see it.
    scope: what it is drawn for: each table, the reproduction (the rows of its first table), or a
      request.
    section: the part of the page where it stands, after those of AIAYN.
    """

    draw: str
    needs: tuple[str, ...]
    caption: str
    alt: str
    scope: Literal["table", "reproduction", "request"]
    section: Literal["Model", "Training", "Results", "Attention"]

    def function(self) -> Callable[..., Any]:
        """Return the function that draws it."""
        module, _, name = self.draw.partition(":")
        return getattr(import_module(module), name)


FIGURES = {
    "positional-encodings": Figure(
        draw="nmt.paper.positions:positional_encodings",
        needs=("model",),
        caption=(
            "Positions. Sinusoids (AIAYN section 3.5) of the first Transformer's width: all"
            " dimensions for 100 positions, even ones sines, odd ones cosines. Beside them the"
            " product of two positions against their distance, as a share of that at distance 0, of"
            " sinusoids and of rotary positions (vectors of ones that are rotated, Su et al. 2021),"
            " and what ALiBi (Press et al. 2022) adds to the scores of each head;"
            " learned positions where a row has them."
        ),
        alt="sinusoids, products of positions by distance, and ALiBi",
        scope="reproduction",
        section="Model",
    ),
    "subword-lengths": Figure(
        draw="nmt.paper.lengths:subword_lengths",
        needs=("training.json", "tokens"),
        caption=(
            "Subwords of a sentence: how many of the training sentences have so many subwords in"
            " each vocabulary of the table."
        ),
        alt="shares of training sentences by their number of subwords",
        scope="table",
        section="Training",
    ),
    "learning-rate": Figure(
        draw="nmt.paper.curves:learning_rate",
        needs=("training.json", "metrics.jsonl"),
        caption=(
            "Learning rate by update, as recorded while training: linear in the warm-up, then as"
            " each row's schedule has it; AIAYN's falls with the inverse square root of the update"
            " (section 5.3). Rows that used the same rate share a line."
        ),
        alt="learning rate by update",
        scope="table",
        section="Training",
    ),
    "learning-curves": Figure(
        draw="nmt.paper.curves:learning_curves",
        needs=("training.json", "metrics.jsonl"),
        caption=(
            "Learning curves against updates, target tokens, device-seconds and FLOPs. Above, the"
            " training loss: the mean negative log-likelihood of a subword since the last point, in"
            " nats, with dropout and without label smoothing. Below, the perplexity of the dev set"
            " without either, and BLEU of its greedy translations where it was recorded. A line for"
            " each row: with several seeds their mean, in a band of one standard deviation. These"
            " are the models while they train; the tables have the average of the last checkpoints."
        ),
        alt="training loss, dev perplexity and dev BLEU against updates, tokens, time and FLOPs",
        scope="table",
        section="Training",
    ),
    "gradient-norms": Figure(
        draw="nmt.paper.gradients:gradient_norms",
        needs=("training.json", "metrics.jsonl", "gradients.json"),
        caption=(
            "Gradient norms of each layer for a new model and for the averaged one, with the loss"
            " of training's first update, and of all parameters while training, before clipping."
            " Before training those of Post-LN are largest in the last layers, and those"
            " of Pre-LN are alike (Xiong et al. 2020, figure 3), which is why Post-LN needs"
            " warm-up."
        ),
        alt="gradient norms by layer and by update",
        scope="table",
        section="Training",
    ),
    "speed": Figure(
        draw="nmt.paper.costs:speed",
        needs=("training.json", "metrics.jsonl"),
        caption=(
            "Speed: target tokens for each second of training on one device, validation included."
        ),
        alt="target tokens of training a second, by row",
        scope="table",
        section="Training",
    ),
    "bleu-by-length": Figure(
        draw="nmt.paper.lengths:bleu_by_length",
        needs=("training.json", "scores.json"),
        caption=(
            "BLEU by source length: sacreBLEU over the sentences whose source has so many words,"
            " with their number under each range. Ranges of fewer than 10 sentences are left out:"
            " their BLEU says nothing."
        ),
        alt="BLEU by source length",
        scope="table",
        section="Results",
    ),
    "cost": Figure(
        draw="nmt.paper.costs:cost",
        needs=("training.json", "metrics.jsonl", "scores.json"),
        caption=(
            "Cost against quality: the table's first score of translations against the device-hours"
            " of training, validation included, and against its FLOPs (6 N D plus the products of"
            " attention), both logarithmic."
        ),
        alt="scores against device-hours and FLOPs of training",
        scope="table",
        section="Results",
    ),
    "parameters": Figure(
        draw="nmt.paper.costs:parameters",
        needs=("training.json", "metrics.jsonl", "scores.json"),
        caption=(
            "Parameters against quality: the table's first score of translations against the number"
            " of parameters, a tied matrix counted once."
        ),
        alt="scores against parameters",
        scope="table",
        section="Results",
    ),
    "search": Figure(
        draw="nmt.paper.searches:search",
        needs=("training.json", "dev.sweep.json"),
        caption=(
            "Search: BLEU of the dev set against the beam and against the exponent of the length"
            " penalty, the other one being the row's own."
        ),
        alt="dev BLEU by beam and by length penalty",
        scope="request",
        section="Results",
    ),
    "encoder-self-attention": Figure(
        draw="nmt.paper.heads:encoder_self_attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Self-attention of the encoder, as AIAYN draws it in figures 3 to 5: the heads of one"
            " word, of a pronoun where there is one, and heads by their role: what they give most"
            " weight on average (in brackets). Lines go from the subword that looks, above, to"
            " those it looks at, below; the wider and darker, the larger the weight."
        ),
        alt="lines of the encoder's self-attention between two copies of a sentence",
        scope="reproduction",
        section="Attention",
    ),
    "decoder-self-attention": Figure(
        draw="nmt.paper.heads:decoder_self_attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Self-attention of the decoder among the subwords that it reads while it translates:"
            " the heads of one word, and heads by their role: what they give most weight on average"
            " (in brackets). Lines go from the subword that looks, above, to those it looks at,"
            " below."
        ),
        alt="lines of the decoder's self-attention between two copies of a translation",
        scope="reproduction",
        section="Attention",
    ),
    "attention": Figure(
        draw="nmt.paper.heatmaps:attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Attention. Rows are the subwords of the model's own translation, columns those of the"
            " source; a row of weights sums to 1, and belongs to the step that writes its subword."
            " An underscore marks where a word begins. Of a Transformer the decoder's last layer is"
            " drawn: the mean of its heads, and, where there are few rows, two of them. A model"
            " without attention has no map."
        ),
        alt="heat maps of attention from translations to their source",
        scope="reproduction",
        section="Attention",
    ),
    "alignment": Figure(
        draw="nmt.paper.heatmaps:alignment",
        needs=("training.json", "attention.json"),
        caption=(
            "Alignment of the RNN with attention, as Bahdanau et al. 2015 draw theirs in figure 3:"
            " rows are the subwords of its translation, columns those of the source; white is a"
            " weight of 1."
        ),
        alt="the RNN's alignment of its translation with the source",
        scope="reproduction",
        section="Attention",
    ),
}


def file_name(figure: str, table: str) -> str:
    """Return the name of a figure's files, without their endings."""
    return f"{table}.{figure}" if FIGURES[figure].scope == "table" else figure
