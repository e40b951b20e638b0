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
    scope: what it is drawn for: each table, the reproduction (the rows of its first table), or a
      request.
    section: the part of the page where it stands, after those of AIAYN.
    needs: the files that runs must have ("scores.json" is of the table's split), or "tokens", those
      of the rows' vocabularies in training.
    caption: what is to be seen, in its first sentence for those who do not see it.
    """

    draw: str
    scope: Literal["table", "reproduction", "request"]
    section: Literal["Model", "Training", "Results", "Attention"]
    needs: tuple[str, ...]
    caption: str

    @property
    def alt(self) -> str:
        """The first sentence of the caption."""
        return self.caption.partition(". ")[0]

    def function(self) -> Callable[..., Any]:
        """Return the function that draws it."""
        module, _, name = self.draw.partition(":")
        return getattr(import_module(f"nmt.paper.{module}"), name)


SCORED = ("training.json", "metrics.jsonl", "scores.json")

FIGURES = {
    "positional-encodings": Figure(
        "positions:positional_encodings",
        scope="reproduction",
        section="Model",
        needs=(),
        caption=(
            "Positions: sinusoids, products of two positions by distance, and ALiBi. Sinusoids"
            " (AIAYN section 3.5) have the first Transformer's width; products, of sinusoids and of"
            " vectors of ones after rotation (Su et al. 2021), are shares of that at distance 0."
            " ALiBi (Press et al. 2022) lowers each head's scores."
        ),
    ),
    "subword-lengths": Figure(
        "lengths:subword_lengths",
        scope="table",
        section="Training",
        needs=("training.json", "tokens"),
        caption="Share of the training sentences by their number of subwords in each vocabulary.",
    ),
    "learning-rate": Figure(
        "curves:learning_rate",
        scope="table",
        section="Training",
        needs=("training.json", "metrics.jsonl"),
        caption=(
            "Learning rate by update, as recorded while training. AIAYN's is linear in the warm-up"
            " and then falls with the inverse square root of the update (section 5.3). Rows that"
            " used the same rate share a line."
        ),
    ),
    "learning-curves": Figure(
        "curves:learning_curves",
        scope="table",
        section="Training",
        needs=("training.json", "metrics.jsonl"),
        caption=(
            "Training loss, dev perplexity and dev BLEU against updates, target tokens,"
            " device-seconds and FLOPs. Loss: mean negative log-likelihood of a subword since the"
            " last point, in nats, with dropout and without label smoothing; BLEU: of greedy"
            " translations; several seeds are their mean in a band of one standard deviation. These"
            " are the models while they train; the tables have the average of the last checkpoints."
        ),
    ),
    "gradient-norms": Figure(
        "gradients:gradient_norms",
        scope="table",
        section="Training",
        needs=("training.json", "metrics.jsonl", "gradients.json"),
        caption=(
            "Gradient norms by layer, of a new model and of the averaged one, and of all parameters"
            " by update, before clipping. Before training those of Post-LN are largest in the last"
            " layers, and those of Pre-LN are alike (Xiong et al. 2020, figure 3), which is why"
            " Post-LN needs warm-up."
        ),
    ),
    "speed": Figure(
        "costs:speed",
        scope="table",
        section="Training",
        needs=("training.json", "metrics.jsonl"),
        caption="Target tokens for each second of training on one device, validation included.",
    ),
    "bleu-by-length": Figure(
        "lengths:bleu_by_length",
        scope="table",
        section="Results",
        needs=("training.json", "scores.json"),
        caption=(
            "BLEU by source length in words. The number of sentences stands under each range;"
            " ranges of fewer than 10 sentences are left out: their BLEU says nothing."
        ),
    ),
    "cost": Figure(
        "costs:cost",
        scope="table",
        section="Results",
        needs=SCORED,
        caption=(
            "The table's first score of translations against the device-hours and the FLOPs of"
            " training. Device-hours include validation; FLOPs are 6 N D plus the products of"
            " attention."
        ),
    ),
    "parameters": Figure(
        "costs:parameters",
        scope="table",
        section="Results",
        needs=SCORED,
        caption=(
            "The table's first score of translations against the number of parameters, a tied"
            " matrix counted once."
        ),
    ),
    "search": Figure(
        "searches:search",
        scope="request",
        section="Results",
        needs=("training.json", "dev.sweep.json"),
        caption=(
            "BLEU of the dev set against the beam and against the exponent of the length penalty."
            " The other one is the row's own."
        ),
    ),
    "encoder-self-attention": Figure(
        "heads:encoder_self_attention",
        scope="reproduction",
        section="Attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Self-attention of the encoder, the heads of its last layer but one, as AIAYN draws it"
            " in figures 3 to 5. Lines go from the subword that looks, above, to those it looks at,"
            " below; the wider and darker, the larger the weight."
        ),
    ),
    "decoder-self-attention": Figure(
        "heads:decoder_self_attention",
        scope="reproduction",
        section="Attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Self-attention of the decoder among the subwords that it reads while it translates,"
            " the heads of its last layer but one. Lines go from the subword that looks, above, to"
            " those it looks at, below."
        ),
    ),
    "attention": Figure(
        "heatmaps:attention",
        scope="reproduction",
        section="Attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Attention from the subwords of each model's translation (rows, at most 40) to those of"
            " the source (columns). A row of weights sums to 1, and belongs to the step that"
            " writes its subword; of a Transformer it is the mean over the heads of the decoder's"
            " last layer. An underscore marks where a word begins."
        ),
    ),
    "alignment": Figure(
        "heatmaps:alignment",
        scope="reproduction",
        section="Attention",
        needs=("training.json", "attention.json"),
        caption=(
            "Alignment of the RNN with attention, its translation (rows) with the source (columns),"
            " as Bahdanau et al. 2015 draw theirs in figure 3. White is a weight of 1."
        ),
    ),
}


def file_name(figure: str, table: str) -> str:
    """Return the name of a figure's files, without their endings."""
    return f"{table}.{figure}" if FIGURES[figure].scope == "table" else figure
