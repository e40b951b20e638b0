"""The page of documentation on the configuration: what its classes say of every key."""

import textwrap

from nmt.configuration.corpora import Archive, Cleaning, Corpus, Generated, Part
from nmt.configuration.experiments import Decoding, Ensemble, Experiment, Training, Vocabulary
from nmt.configuration.models import FAMILIES
from nmt.configuration.published import Published
from nmt.configuration.reproductions import Reproduction, Table
from nmt.configuration.schemas import BASE, properties
from nmt.configuration.strict import Strict

PAGE = """\
# Configuration

Every key of every file in `config/`, generated from the classes in `src/nmt/configuration` by
`python src/document.py --schemas workflow/schemas --page docs/configuration.md`. Unknown keys are
errors that name the nearest known one.
"""


def page() -> str:
    """Return the page of documentation, in Markdown."""
    sections: list[tuple[str, list[type[Strict]]]] = [
        ("A reproduction: config/demo.yaml", [Reproduction, Table]),
        ("Corpora: config/corpora.yaml", [Corpus, Archive, Part, Generated, Cleaning]),
        ("Vocabularies: config/experiments/*.yaml", [Vocabulary]),
        ("Experiments: config/experiments/*.yaml", [Experiment, Training, Decoding]),
        ("Families: an experiment's keys by its `family`", list(FAMILIES.values())),
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
    summary = textwrap.fill(" ".join((cls.__doc__ or "").split()), 100)
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
            "The keys of Training, of Decoding and of the experiment's family stand beside these.",
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
