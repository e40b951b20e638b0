"""Write what the configuration classes say of every key: JSON schemas and a page of documentation.

With the schemas an editor completes keys, explains them and marks mistakes; the workflow itself
checks more, and with clearer messages.
"""

import argparse
from pathlib import Path

from pydantic import TypeAdapter

from nmt import command
from nmt.configuration import (
    FAMILIES,
    Archive,
    Cleaning,
    Corpus,
    Decoding,
    Ensemble,
    Experiment,
    Generated,
    Name,
    Part,
    Published,
    Reproduction,
    Strict,
    Table,
    Training,
    Vocabulary,
)
from nmt.files import write_json, write_text

DIALECT = "https://json-schema.org/draft/2020-12/schema"
BASE = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}],
    "description": "The entry, or entries, whose keys this one has unless it gives its own; of"
    " several a later one goes before an earlier one.",
}
PAGE = """\
# Configuration

Every key of every file in `config/`, generated from the classes in `src/nmt/configuration` by
`python src/document.py --schemas workflow/schemas --page docs/configuration.md`. Unknown keys are
errors that name the nearest known one.
"""


def main(args: argparse.Namespace) -> None:
    """Write the schemas and the page."""
    schemas = {
        "reproduction": TypeAdapter(Reproduction).json_schema(),
        "corpora": TypeAdapter(dict[Name, Corpus]).json_schema(),
        "experiments": experiments_schema(),
        "published": TypeAdapter(list[Published]).json_schema(),
    }
    for name, schema in schemas.items():
        write_json(args.schemas / f"{name}.json", {"$schema": DIALECT, **schema})
    write_text(args.page, page())


def experiments_schema() -> dict:
    """Return the schema of experiments/*.yaml.

    Its entries hold the keys of a model, of training and of decoding in one, none of them needed
    because a base may give it.
    """
    keys: dict[str, list[dict]] = {"base": [BASE]}
    for cls in (Experiment, *FAMILIES.values(), Training, Decoding):
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


def page() -> str:
    """Return the page of documentation, in Markdown."""
    sections = [
        ("A reproduction: config/demo.yaml", [Reproduction, Table]),
        ("Corpora: config/corpora.yaml", [Corpus, Archive, Part, Generated, Cleaning]),
        ("Vocabularies: config/experiments/*.yaml", [Vocabulary]),
        ("Rows: config/experiments/*.yaml", [Experiment, Training, Decoding]),
        ("Families: a row's keys by its `family`", list(FAMILIES.values())),
        ("Ensembles: config/experiments/*.yaml", [Ensemble]),
        ("Published numbers: config/published.yaml", [Published]),
    ]
    lines = [PAGE]
    for heading, classes in sections:
        lines.append(f"## {heading}\n")
        for cls in classes:
            lines += [*section(cls), ""]
    return "\n".join(lines).rstrip() + "\n"


def section(cls: type[Strict]) -> list[str]:
    """Return the lines that say what a class is, and what each of its keys means."""
    title = cls.__name__
    if "family" in cls.model_fields:
        title = f"{cls.model_fields['family'].default}"
    summary = " ".join((cls.__doc__ or "").split())
    lines = [f"### {title}", "", summary, ""]
    lines += ["| key | value | default | meaning |", "|---|---|---|---|"]
    required = cls.model_json_schema().get("required", [])
    for key, schema in properties(cls).items():
        if key == "family":
            continue
        default = "" if key in required else shown(schema.get("default"))
        meaning = " ".join(schema.get("description", "").split()).replace("|", "\\|")
        lines.append(f"| `{key}` | {kind(schema)} | {default} | {meaning} |")
    if cls is Experiment:
        lines.append(f"| `base` | text or list of text | | {BASE['description']} |")
        lines += [
            "",
            "The keys of Training, of Decoding and of the row's family stand beside these.",
        ]
    return lines


def shown(value: object) -> str:
    """Return a default as YAML has it; that of a class stands with the class."""
    words = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return f"`{words[value]}`"
    return "see below" if isinstance(value, dict) and value else f"`{value}`"


def kind(schema: dict) -> str:
    """Return in words which values a schema allows."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        kinds = [kind(option) for option in schema["anyOf"]]
        return " or ".join(dict.fromkeys(kinds))
    name = schema.get("type", "")
    if name == "array":
        items = schema.get("items", {})
        return f"list of {kind(items)}" if items else "list"
    if name == "object":
        values = next(iter(schema.get("patternProperties", {}).values()), None)
        values = values or schema.get("additionalProperties")
        return f"names, each with {kind(values)}" if isinstance(values, dict) else "names"
    words = {
        "integer": "whole number",
        "number": "number",
        "boolean": "`true` or `false`",
        "string": "text",
        "null": "`null`",
    }
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    bounds = [f"{sign} {schema[bound]}" for bound, sign in signs.items() if bound in schema]
    return " ".join([words.get(name, name), ", ".join(bounds)]).strip()


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--schemas", type=Path, required=True, metavar="FOLDER", help="as workflow/schemas"
    )
    parser.add_argument(
        "--page", type=Path, required=True, metavar="FILE", help="as docs/configuration.md"
    )
    command.run(main, parser)
