"""Print every experiment's number of parameters beside the published one, in millions.

Nothing needs to be trained for it. `without embeddings` leaves out embedding matrices that are only
looked up; `which` says which of the two counts is published.
"""

import argparse
import math
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd

from nmt.configuration import Catalog, Published, load_catalog, lookup
from nmt.errors import UserError
from nmt.models.size import size

LARGEST_VOCABULARY = 10**9  # subwords
# The column that holds our count of each published cost.
COLUMNS = {"parameters": "all", "parameters_without_embeddings": "without embeddings"}


def main(args: argparse.Namespace) -> None:
    """Print the counts as a Markdown table."""
    catalog = load_catalog(args.catalog)
    for name, vocabulary_size in args.vocabulary:
        vocabulary = lookup(catalog.vocabularies, name, "vocabulary")
        if vocabulary.source_size is not None:
            raise UserError(
                f"{name} is two vocabularies: only a joint one can be counted with another size."
            )
        catalog.vocabularies[name] = vocabulary.model_copy(update={"size": vocabulary_size})
    counts = parameter_counts(catalog).astype(object)
    cells = counts.where(counts.notna(), None)
    print(cells.to_markdown(index=False, floatfmt=".2f", missingval=""))


def parameter_counts(catalog: Catalog) -> pd.DataFrame:
    """Return a line for each experiment: its vocabulary's size, its parameters, the published ones.

    Vocabularies count with the size that the catalog asks for. Columns: experiment, vocabulary, all
    and without embeddings (our counts), published, which (of our two columns the published number
    is to be compared with) and difference % (in percent of the published number).
    """
    published = {
        (entry.experiment, entry.metric): entry
        for entry in catalog.published
        if entry.metric in COLUMNS
    }
    lines = []
    for name, experiment in catalog.experiments.items():
        vocabulary = catalog.vocabularies[experiment.vocabulary]
        source_size = vocabulary.source_size or vocabulary.size
        model_size = size(experiment.model, source_size, vocabulary.size)
        counts = {
            "all": model_size.parameters / 1e6,
            "without embeddings": model_size.without_embeddings / 1e6,
        }
        sizes: int | str = vocabulary.size
        if vocabulary.source_size:
            sizes = f"{vocabulary.source_size} + {vocabulary.size}"
        entries = [published[name, cost] for cost in COLUMNS if (name, cost) in published]
        comparison = compare_published(counts, entries[0] if entries else None)
        lines.append({"experiment": name, "vocabulary": sizes, **counts, **comparison})
    return pd.DataFrame(lines)


def compare_published(counts: dict[str, float], entry: Published | None) -> dict:
    """Return the columns on the published number, empty where there is none."""
    if entry is None:
        return {"published": math.nan, "which": "", "difference %": math.nan}
    column = COLUMNS[entry.metric]
    difference = 100 * (counts[column] / entry.value - 1)
    return {"published": entry.value, "which": column, "difference %": difference}


def vocabulary(text: str) -> tuple[str, int]:
    """Parse NAME=SIZE, as --vocabulary takes it."""
    name, _, vocabulary_size = text.partition("=")
    if not vocabulary_size.isdecimal() or not 8 <= int(vocabulary_size) <= LARGEST_VOCABULARY:
        raise argparse.ArgumentTypeError(f"{text} is not NAME=SIZE, as joint-bpe-37000=41000")
    return name, int(vocabulary_size)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--catalog", type=Path, default=Path("config"), metavar="FOLDER", help="by default config"
    )
    parser.add_argument(
        "--vocabulary",
        type=vocabulary,
        action="append",
        default=[],
        metavar="NAME=SIZE",
        help=(
            "count experiments that use NAME with SIZE subwords; AIAYN's counts imply"
            " joint-bpe-37000=41000"
        ),
    )
    command.run(main, parser)
