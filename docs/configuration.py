"""Write docs/configuration.md: what the configuration's classes say of every key.

`python docs/configuration.py` in the root of the repository.
"""

import textwrap
from pathlib import Path

from nmt.configuration import (
    FAMILIES,
    Archive,
    Cleaning,
    Corpus,
    Decoding,
    Ensemble,
    Experiment,
    Generated,
    Part,
    Published,
    Reproduction,
    SelfAttention,
    Strict,
    Table,
    Training,
    Vocabulary,
)

PAGE = Path(__file__).with_suffix(".md")
HEADING = """\
# Configuration

Every key of reproductions and experiments, written by `python docs/configuration.py` from the
classes in `src/nmt/configuration`. In brackets stands what a key can be, and after a semicolon its
default.
Unknown keys are errors that name the nearest known one. [config/README.md](../config/README.md) has
the most common edits.
"""
SECTIONS: dict[str, list[type[Strict]]] = {
    "A reproduction: config/demo.yaml": [Reproduction, Table],
    "Corpora: config/corpora.yaml": [Corpus, Archive, Part, Generated, Cleaning],
    "Vocabularies: config/experiments/*.yaml": [Vocabulary],
    "Experiments: config/experiments/*.yaml": [Experiment, Training, Decoding],
    "Families: an experiment's keys by its `family`": [SelfAttention, *FAMILIES.values()],
    "Ensembles: config/experiments/*.yaml": [Ensemble],
    "Published numbers: config/published.yaml": [Published],
}
EXPERIMENT = """\
- `base` (text or list of text, optional): Entry, or entries, whose keys are inherited unless given
  here; later entries override earlier ones.

The keys of Training, of Decoding and of the experiment's family stand beside these."""
WORDS = {"string": "text"}
MANY = 1000  # Bounds from here on are there to catch typing errors.
SIGNS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def page() -> str:
    """Return the page in Markdown."""
    parts = [HEADING]
    for heading, classes in SECTIONS.items():
        parts.append(f"## {heading}\n")
        parts += [section(cls) for cls in classes]
    return "\n".join(parts)


def section(cls: type[Strict]) -> str:
    """Return what a class is, and a list of its keys."""
    family = cls.model_fields.get("family")
    lines = [f"### {family.default if family else cls.__name__}", ""]
    lines += [textwrap.fill(" ".join((cls.__doc__ or "").split()), 100), ""]
    schema = cls.model_json_schema()
    for key, of_key in schema["properties"].items():
        shared = cls != SelfAttention and issubclass(cls, SelfAttention)
        if key in ("family", "model", "training", "decoding"):
            continue
        if shared and key in SelfAttention.model_fields:
            continue
        value = kind(of_key)
        if key not in schema.get("required", []):
            value += shown(of_key.get("default"))
        item = f"- `{key}` ({value}): {of_key.get('description', '')}"
        lines.append(textwrap.fill(item, 100, subsequent_indent="  ", break_on_hyphens=False))
    if cls is Experiment:
        lines.append(EXPERIMENT)
    return "\n".join([*lines, ""])


def shown(default: object) -> str:
    """Return what the page says of a default."""
    if (not default and default != 0) or isinstance(default, dict):
        return ", optional"
    return f"; `{str(default).lower() if isinstance(default, bool) else default}`"


def kind(schema: dict) -> str:
    """Return in words which values a schema allows."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "anyOf" in schema:
        options = [option for option in schema["anyOf"] if option.get("type") != "null"]
        return " or ".join(dict.fromkeys(map(kind, options)))
    name = schema.get("type", "")
    if name == "array":
        return f"list of {kind(schema.get('items', {}))}".removesuffix(" of ")
    if name == "object":
        values = next(iter(schema.get("patternProperties", {}).values()), None)
        values = values or schema.get("additionalProperties")
        return f"names, each with {kind(values)}" if isinstance(values, dict) else "names"
    bounds = [
        f"{sign} {schema[bound]}" for bound, sign in SIGNS.items() if schema.get(bound, MANY) < MANY
    ]
    words = " ".join([WORDS.get(name, name), ", ".join(bounds)]).strip()
    return {"integer ≥ 1": "positive integer", "number > 0": "positive number"}.get(words, words)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
