"""The registry of figures: what draws each, and what to say of it.

Rules, pages and Snakemake's report read this alone. It imports nothing that takes time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

from nmt.configuration import ByteNet, Catalog, Model, Table, Transformer


@dataclass(frozen=True)
class Figure:
    """A figure of a reproduction.

    draw: module:function, which returns a Picture of a Drawing.
    section: the part of the page where it stands. What is of attention is drawn for the
      reproduction, from the rows of its first table, all else for each table.
    alt: what is drawn, for those who do not see it. caption: what is to be known.
    suits: whether a table and the models of its rows have what it shows.
    """

    draw: str
    section: Literal["Results", "Attention", "Training"]
    alt: str
    caption: str
    suits: Callable[[Table, list[Model]], bool] = lambda table, models: True

    @property
    def of_table(self) -> bool:
        """Whether each table has it."""
        return self.section != "Attention"

    def is_drawn_for(self, table: Table, catalog: Catalog) -> bool:
        """Return whether a table has what the figure shows."""
        single = [row for row in table.experiments if row not in catalog.ensembles]
        return self.suits(table, [catalog.experiment(row).model for row in single])

    def function(self) -> Callable[..., Any]:
        """Return the function that draws it."""
        module, _, name = self.draw.partition(":")
        return getattr(import_module(f"nmt.paper.{module}"), name)


def attends(model: Model) -> bool:
    """Return whether a model's translation attends to the source."""
    return not isinstance(model, ByteNet) and getattr(model, "attention", "") != "none"


FIGURES = {
    "learning-curves": Figure(
        "curves:learning_curves",
        section="Training",
        alt="Panels with a curve for each row, from the first point to the last",
        caption=(
            "Training loss, dev perplexity, dev BLEU and learning rate against updates, target"
            " tokens, device-seconds and FLOPs. Loss: mean negative log-likelihood of a subword"
            " since the last point, in nats, with dropout, without label smoothing; BLEU: of greedy"
            " translations; several seeds are their mean in a band from the lowest to the highest."
            " These are the models while they train; the tables have the average of the last"
            " checkpoints. Updates differ as each row has as many as its configuration gives it, in"
            " the demo so many that all take about equal time, or fewer where its dev loss stopped"
            " falling."
        ),
    ),
    "bleu-by-length": Figure(
        "lengths:bleu_by_length",
        section="Results",
        alt="A curve for each row, from the shortest sources to the longest",
        caption=(
            "BLEU by source length in words. The number of sentences stands under each range;"
            " ranges of fewer than 10 sentences are left out: their BLEU says nothing."
        ),
    ),
    "cost": Figure(
        "costs:cost",
        section="Results",
        alt="A point for each row, its score upward and a cost to the right, a panel for each cost",
        caption=(
            "The table's first score of translations against device-hours, FLOPs and parameters."
            " Device-hours include validation; FLOPs are 6 N D plus the products of attention; a"
            " tied matrix counts once."
        ),
    ),
    "differences": Figure(
        "variations:differences",
        section="Results",
        alt="A point for each row, our difference to the base upward and the paper's to the right",
        caption=(
            "What each variation changes, here and in the paper: differences to the base of either,"
            " a point for each row, r Pearson's correlation over them. Signs are counted where the"
            " paper's number changes."
        ),
        suits=lambda table, models: bool(table.counterparts),
    ),
    "encoder-self-attention": Figure(
        "heads:self_attention",
        section="Attention",
        alt="Lines between two copies of the source, a panel for each head",
        caption=(
            "Self-attention of the encoder, the heads of its last layer but one, as AIAYN draws it"
            " in figures 3 to 5. Lines go from the subword that looks, above, to those it looks at,"
            " below; the wider and darker, the larger the weight."
        ),
        suits=lambda table, models: any(isinstance(model, Transformer) for model in models),
    ),
    "attention": Figure(
        "heatmaps:attention",
        section="Attention",
        alt="A map for each model, darkest where a subword of the translation looks",
        caption=(
            "Attention from the subwords of each model's translation (rows, at most 40) to those of"
            " the source (columns). A row of weights sums to 1, and belongs to the step that"
            " writes its subword (Bahdanau et al. 2015, figure 3); of a Transformer it is the mean"
            " over the heads of the decoder's last layer. An underscore begins a word."
        ),
        suits=lambda table, models: any(map(attends, models)),
    ),
}


def file_name(figure: str, table: str) -> str:
    """Return the name of a figure's files, without their endings."""
    return f"{table}.{figure}" if FIGURES[figure].of_table else figure
