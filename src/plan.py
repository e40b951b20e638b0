"""Prints every row's number of parameters beside the published one, in millions; nothing needs to
be trained for it.

`without embeddings` leaves out tables that are only looked up; `which` says which of the two counts
is published.
"""

import argparse
import math
from pathlib import Path

import pandas as pd

from nmt import command
from nmt.configuration import Catalog, load_catalog, lookup
from nmt.errors import UserError
from nmt.models.size import size

LARGEST = 10**9  # subwords
COUNTED = {"parameters": "all", "parameters_without_embeddings": "without embeddings"}


def main(args: argparse.Namespace) -> None:
    catalog = load_catalog(args.catalog)
    for name, rows in args.vocabulary:
        vocabulary = lookup(catalog.vocabularies, name, "vocabulary")
        if vocabulary.source_size is not None:
            raise UserError(
                f"{name} is two vocabularies: only a joint one can be counted with another size."
            )
        catalog.vocabularies[name] = vocabulary.model_copy(update={"size": rows})
    table = plan(catalog)
    print(
        table.astype(object)
        .where(table.notna(), None)
        .to_markdown(index=False, floatfmt=".2f", missingval="")
    )


def plan(catalog: Catalog) -> pd.DataFrame:
    """A line a row: experiment, vocabulary and its sizes, all (parameters), without embeddings,
    published, which of
    the two is, difference (in percent of it). Vocabularies count with the size that is asked of
    them."""
    published = {
        (entry.experiment, entry.metric): entry
        for entry in catalog.published
        if entry.metric in COUNTED
    }
    lines = []
    for name, experiment in catalog.experiments.items():
        vocabulary = catalog.vocabularies[experiment.vocabulary]
        of = size(experiment.model, vocabulary.source_size or vocabulary.size, vocabulary.size)
        ours = {"all": of.parameters / 1e6, "without embeddings": of.without_embeddings / 1e6}
        entry = next(
            (published[name, metric] for metric in COUNTED if (name, metric) in published), None
        )
        line = {
            "experiment": name,
            "vocabulary": (
                f"{vocabulary.source_size} + {vocabulary.size}"
                if vocabulary.source_size
                else vocabulary.size
            ),
            **ours,
            "published": math.nan,
            "which": "",
            "difference %": math.nan,
        }
        if entry is not None:
            which = COUNTED[entry.metric]
            line |= {
                "published": entry.value,
                "which": which,
                "difference %": 100 * (ours[which] / entry.value - 1),
            }
        lines.append(line)
    return pd.DataFrame(lines)


def vocabulary(text: str) -> tuple[str, int]:
    name, _, rows = text.partition("=")
    if not rows.isdecimal() or not 8 <= int(rows) <= LARGEST:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=SIZE, as joint-bpe-37000=41000")
    return name, int(rows)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--catalog", type=Path, default=Path("config"), metavar="FOLDER", help="config without it"
    )
    parser.add_argument(
        "--vocabulary",
        type=vocabulary,
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help=(
            "counts rows that use NAME with SIZE subwords; AIAYN's counts imply"
            " joint-bpe-37000=41000"
        ),
    )
    command.run(main, parser)
