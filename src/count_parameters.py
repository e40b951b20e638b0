"""Print every experiment's number of parameters beside the published one, in millions.

Nothing needs to be trained for it. `without embeddings` leaves out embedding matrices that are only
looked up; `which` says which of the two counts is published.
"""

import argparse

import pandas as pd

from nmt import command
from nmt.configuration import Catalog, load_catalog
from nmt.models.build import size

# The column that holds our count of each published cost.
COLUMNS = {"parameters": "all", "parameters_without_embeddings": "without embeddings"}


def main(args: argparse.Namespace) -> None:
    """Print the counts as a Markdown table."""
    catalog = load_catalog(args.catalog)
    for name, _, asked in (text.partition("=") for text in args.vocabulary):
        catalog.vocabularies[name] = catalog.vocabulary(f"{name}+size-{asked}")
    cells = pd.DataFrame([row(catalog, name) for name in catalog.experiments], dtype=object)
    print(cells.to_markdown(index=False, floatfmt=".2f", missingval=""))


def row(catalog: Catalog, name: str) -> dict:
    """Return an experiment's vocabulary size, our two counts, and the published one if any.

    Vocabularies count with the size that the catalog asks for. which: the column that the published
    number is to be compared with. difference %: in percent of the published number.
    """
    experiment = catalog.experiment(name)
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    source_size = vocabulary.source_size
    counted = size(experiment.model, source_size or vocabulary.size, vocabulary.size)
    counts = {
        "all": counted.parameters / 1e6,
        "without embeddings": counted.without_embeddings / 1e6,
    }
    sizes = f"{source_size} + {vocabulary.size}" if source_size else vocabulary.size
    cells = {"experiment": name, "vocabulary": sizes, **counts}
    for entry in catalog.published:
        if entry.experiment == name and entry.metric in COLUMNS:
            which = COLUMNS[entry.metric]
            difference = 100 * (counts[which] / entry.value - 1)
            return cells | {"published": entry.value, "which": which, "difference %": difference}
    return cells | {"published": None, "which": "", "difference %": None}


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    parser.add_argument(
        "--vocabulary",
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help="count experiments that use NAME with SIZE subwords; AIAYN's counts imply"
        " joint-bpe-37000=41000",
    )
    command.run(main, parser)
