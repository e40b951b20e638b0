"""Writes the JSON schemas of the configuration files, generated from the classes in
src/nmt/configuration.

With them an editor completes keys and marks mistakes; the workflow itself checks more, and with
clearer messages.
"""

from argparse import Namespace
from pathlib import Path
from typing import Annotated, Union

from pydantic import Field, TypeAdapter, create_model

from nmt import configuration
from nmt.command import arguments, run
from nmt.configuration import Corpus, Ensemble, Name, Published, Reproduction, Strict, Vocabulary
from nmt.files import write_json

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def main(args: Namespace) -> None:
    kinds = {
        "reproduction": Reproduction,
        "corpora": dict[Name, Corpus],
        "experiments": experiments(),
        "published": list[Published],
    }
    for name, kind in kinds.items():
        write_json(
            args.output / f"{name}.json", {"$schema": DIALECT, **TypeAdapter(kind).json_schema()}
        )


def experiments() -> type[Strict]:
    """experiments.yaml: its entries hold the keys of a model, of training and of decoding in one,
    none of them needed
    because a base may give it."""
    absent = Field(None, json_schema_extra=lambda schema: schema.pop("default"))
    keys: dict = dict.fromkeys(("title", "base", "trained_as", "vocabulary"), (str, absent))
    for cls in (*configuration.FAMILIES.values(), configuration.Training, configuration.Decoding):
        for name, field in cls.model_fields.items():
            kind = (
                Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
            )
            default = absent if field.is_required() else field.default
            if name in keys:  # families differ in what they take under one name
                kind, default = Union[keys[name][0], kind], absent  # noqa: UP007 - of what need not be types
            keys[name] = (kind, default)
    entry = create_model("Entry", __base__=Strict, **keys)
    return create_model(
        "Experiments",
        __base__=Strict,
        vocabularies=(dict[Name, Vocabulary], {}),
        experiments=(dict[Name, entry], {}),
        ensembles=(dict[Name, Ensemble], {}),
    )


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="as workflow/schemas"
    )
    run(main, parser)
