"""Rows of tables from the entries of experiments/*.yaml.

An entry gives its keys on top of those of its base. A row may also differ from an entry by its
name: "demo-transformer+updates-60" is trained for 60 updates. `--config updates=60` makes all rows
of a reproduction such rows, so that the files of a small run are never mixed with the real one's.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import yaml

from nmt.configuration.experiments import CHECKPOINT_KEYS, Decoding, Ensemble, Experiment, Training
from nmt.configuration.models import FAMILIES
from nmt.configuration.strict import Strict, UniqueKeys, lookup, validated
from nmt.errors import UserError

OWN_KEYS = ("title", "vocabulary", "initialize_from", "trained_as")
FAMILY_KEYS = {key for cls in FAMILIES.values() for key in cls.model_fields}
# All keys of entries but `base` and those of families
KEYS = {*OWN_KEYS, *Training.model_fields, *Decoding.model_fields}
# Keys that `--config` or a name can override; vocabulary_size is that of the row's vocabulary.
OVERRIDABLE = KEYS | FAMILY_KEYS | {"vocabulary_size"}
OVERRIDABLE -= {"family", "title", "initialize_from", "trained_as"}
# Keys that matter after training: rows that differ in these alone share one.
AFTER_TRAINING = CHECKPOINT_KEYS | Decoding.model_fields.keys()
# Settings counted in updates: they keep their proportion to a changed number of updates.
SCALED = ("warmup", "interval", "bleu_interval", "halve_from", "halve_every", "cosine_updates")


@dataclass(frozen=True)
class Entry:
    """An entry as it stands in a file, or a row's name, before bases are followed."""

    values: dict
    where: str  # file and entry, for messages


Entries = dict[str, Entry]


def split_name(name: str) -> tuple[str, dict[str, object]]:
    """Return the declared row and the overrides: "a+updates-60" -> "a", {"updates": 60}."""
    declared, *overrides = name.split("+")
    pairs = (override.partition("-") for override in overrides)
    return declared, {key: yaml.load(text, Loader=UniqueKeys) for key, _, text in pairs}


def with_overrides(name: str, overrides: dict[str, object]) -> str:
    """Return the name of a row with overrides, in alphabetical order of their keys."""
    declared, own = split_name(name)
    pairs = sorted((own | overrides).items())
    return "+".join([declared, *(f"{key}-{text(value)}" for key, value in pairs)])


def text(value: object) -> str:
    """Return a value as YAML writes it."""
    return yaml.safe_dump(value).removesuffix("\n...\n").strip()


def with_bases(name: str, entries: Entries, seen: tuple[str, ...] = ()) -> dict:
    """Return an entry's keys on top of those of its bases, of which a later one goes before.

    `trained_as` is not passed on. Raises UserError for an unknown base and for a circle of bases.
    """
    entry = entries[name]
    if name in seen:
        raise UserError(f"{entry.where} is its own base: {' -> '.join([*seen, name])}")
    bases = entry.values.get("base", [])
    flat: dict = {}
    for base in bases if isinstance(bases, list) else [bases]:
        lookup(entries, base, "base", entry.where)
        flat |= with_bases(base, entries, (*seen, name))
    own = {key: value for key, value in entry.values.items() if key != "base"}
    return flat | {"trained_as": None} | own


def experiment(name: str, entries: Entries) -> Experiment | None:
    """Return the experiment of an entry, or None for an entry without a family: it is only a base.

    `name` may have overrides. Raises UserError naming the file, the entry and the key at fault.
    """
    declared, overrides = split_name(name)
    where = lookup(entries, declared, "experiment").where
    flat = with_bases(declared, entries)
    if overrides:
        where = name
        flat |= overridden(declared, flat, overrides, entries)
    family = flat.get("family")
    if family is not None:
        lookup(FAMILIES, family, "family", where)
    known = KEYS | (FAMILIES[family].model_fields.keys() if family else FAMILY_KEYS)
    for key in flat:
        lookup(dict.fromkeys(known), key, "key", where)
    if family is None:
        return None

    def part(cls: type[Strict]) -> dict:
        return {key: value for key, value in flat.items() if key in cls.model_fields}

    values = {key: flat[key] for key in OWN_KEYS if key in flat}
    if flat.get("initialize_from"):
        digest = hashlib.sha256(str(flat["initialize_from"]).encode()).hexdigest()
        values["vocabulary"] = f"{flat.get('vocabulary')}+from-{digest[:8]}"
    values |= {"model": part(FAMILIES[family]), "training": part(Training)}
    return validated(Experiment, values | {"decoding": part(Decoding)}, where)


def overridden(
    declared: str, flat: dict, overrides: dict[str, object], entries: Entries
) -> dict[str, object]:
    """Return the keys of a row that its name changes.

    What is counted in updates is scaled with `updates`. A row whose search or checkpoints alone are
    overridden shares the training of the row without these overrides, if that keeps enough
    checkpoints.
    """
    changes = dict(overrides)
    changes["title"] = overridden_title(flat.get("title", declared), overrides)
    if "vocabulary_size" in changes:
        changes["vocabulary"] = f"{flat['vocabulary']}+size-{changes.pop('vocabulary_size')}"
    updates = overrides.get("updates")
    if isinstance(updates, int) and updates > 0:
        changes = scaled(flat, updates / flat["updates"]) | changes
    shared = flat["trained_as"] or declared
    kept = with_bases(split_name(shared)[0], entries).get("average")
    average = overrides.get("average", 1)
    kept = kept or Training.model_fields["average"].default
    if isinstance(average, int) and average <= kept:
        of_training = {key: overrides[key] for key in overrides.keys() - AFTER_TRAINING}
        own = shared == declared and of_training == overrides
        changes["trained_as"] = None if own else with_overrides(shared, of_training)
    return changes


def scaled(flat: dict, ratio: float) -> dict[str, object]:
    """Return the settings of a training that are counted in updates, times `ratio`."""
    settings = {key: max(1, round(flat[key] * ratio)) for key in SCALED if flat.get(key)}
    if flat.get("bleu_interval"):  # stays a multiple of the interval
        settings["bleu_interval"] = settings["interval"] * (
            flat["bleu_interval"] // flat["interval"]
        )
    if "source_loss" in flat:
        settings["source_loss"] = [
            (round(update * ratio), weight) for update, weight in flat["source_loss"]
        ]
    return settings


def ensemble(name: str, declared: dict[str, Ensemble], known: Iterable[str]) -> Ensemble:
    """Return an ensemble, whose members have the overrides in its name, if any.

    Raises UserError for unknown members.
    """
    base, overrides = split_name(name)
    unchanged: Ensemble = lookup(declared, base, "ensemble")
    for member in unchanged.members:
        lookup(dict.fromkeys(known), split_name(member)[0], "experiment", f"ensemble {base}")
    if not overrides or not unchanged.members:
        return unchanged
    members = {
        with_overrides(member, overrides): seeds for member, seeds in unchanged.members.items()
    }
    return unchanged.changed(title=overridden_title(unchanged.title, overrides), members=members)


def overridden_title(title: str, overrides: dict[str, object]) -> str:
    """Return the title of a row with overrides: "Transformer, updates=60"."""
    return ", ".join([title, *(f"{key}={text(value)}" for key, value in overrides.items())])
