"""JSON schemas of the configuration's files.

With them an editor completes keys, explains them and marks mistakes; the workflow itself checks
more, and with clearer messages.
"""

from pydantic import TypeAdapter

from nmt.configuration.corpora import Corpus
from nmt.configuration.experiments import Decoding, Ensemble, Experiment, Training, Vocabulary
from nmt.configuration.models import FAMILIES
from nmt.configuration.published import Published
from nmt.configuration.reproductions import Reproduction
from nmt.configuration.strict import Name, Strict

DIALECT = "https://json-schema.org/draft/2020-12/schema"
BASE = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    "description": "Entry, or entries, whose keys are inherited unless given here; later entries"
    " override earlier ones.",
}


def schemas() -> dict[str, dict]:
    """Return the schema of each kind of file, by its name."""
    bodies = {
        "reproduction": TypeAdapter(Reproduction).json_schema(),
        "corpora": TypeAdapter(dict[Name, Corpus]).json_schema(),
        "experiments": experiments_schema(),
        "published": TypeAdapter(list[Published]).json_schema(),
    }
    return {name: {"$schema": DIALECT, **body} for name, body in bodies.items()}


def experiments_schema() -> dict:
    """Return the schema of experiments/*.yaml.

    Its entries hold the keys of a model, of training and of decoding in one, none of them needed
    because a base may give it.
    """
    keys: dict[str, list[dict]] = {"base": [BASE]}
    classes: list[type[Strict]] = [Experiment, *FAMILIES.values(), Training, Decoding]
    for cls in classes:
        for key, schema in properties(cls).items():
            schema = {name: value for name, value in schema.items() if name != "default"}
            if schema not in keys.setdefault(key, []):
                keys[key].append(schema)
    entry = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            key: schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
            for key, schemas in keys.items()
        },
    }
    vocabularies = TypeAdapter(dict[Name, Vocabulary]).json_schema()
    ensembles = TypeAdapter(dict[Name, Ensemble]).json_schema()
    definitions = vocabularies.pop("$defs") | ensembles.pop("$defs") | {"Entry": entry}
    name = next(iter(vocabularies["patternProperties"]))
    entries = {"type": "object", "additionalProperties": False}
    return {
        "$defs": definitions,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "vocabularies": vocabularies,
            "experiments": entries | {"patternProperties": {name: {"$ref": "#/$defs/Entry"}}},
            "ensembles": ensembles,
        },
    }


def properties(cls: type[Strict]) -> dict[str, dict]:
    """Return the schema of each key of a class, but of those that are classes themselves."""
    schemas = cls.model_json_schema()["properties"]
    groups = ("model", "training", "decoding") if cls is Experiment else ()
    return {key: schema for key, schema in schemas.items() if key not in groups}
