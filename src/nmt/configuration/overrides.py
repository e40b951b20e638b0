"""Rows that differ from a declared one by their name.

"demo-transformer+updates-60" is trained for 60 updates. A table may name such a row, and `--config
updates=60` makes all rows of a reproduction such rows, so that the files of a small run are never
mixed with those of the real one.
"""

from collections.abc import Iterable

import yaml

from nmt.configuration.experiments import CHECKPOINT_KEYS, Decoding, Ensemble, Experiment, Training
from nmt.configuration.models import FAMILIES
from nmt.configuration.rows import check_use, has_effect
from nmt.configuration.strict import Strict, UniqueKeys, lookup, validated
from nmt.errors import UserError, nearest

# A name is a part of paths and a wildcard, in whose values snakemake allows no comma and no "=".
BEFORE_KEY = "+"
BEFORE_VALUE = "-"

# Counted in updates: they keep their proportion to a changed number of updates.
SCALED = ("warmup", "interval", "halve_from", "halve_every")

CLASSES: tuple[type[Strict], ...] = (Training, Decoding, *FAMILIES.values())
KEYS = {"vocabulary"}.union(*(cls.model_fields for cls in CLASSES)) - {"family"}


def split_name(name: str) -> tuple[str, dict[str, object]]:
    """Return the declared row and the overrides by key: "a+updates-60" -> "a", {"updates": 60}."""
    declared, *overrides = name.split(BEFORE_KEY)
    pairs = (override.partition(BEFORE_VALUE) for override in overrides)
    return declared, {key: yaml.load(value, Loader=UniqueKeys) for key, _, value in pairs}


def with_overrides(name: str, overrides: dict[str, object], keys: Iterable[str]) -> str:
    """Return the row's name with the overrides whose key it knows, in alphabetical order."""
    known = sorted(overrides.keys() & set(keys))
    pairs = [f"{key}{BEFORE_VALUE}{text(overrides[key])}" for key in known]
    return BEFORE_KEY.join([name, *pairs])


def text(value: object) -> str:
    """Return a value as it stands in a name."""
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def row_keys(experiment: Experiment) -> set[str]:
    """Return the keys of a row that a name can override."""
    return KEYS & {"vocabulary", *experiment.values}


def effective_keys(experiment: Experiment, overrides: dict[str, object]) -> set[str]:
    """Return the keys of a row that have an effect with these overrides."""
    values = experiment.values | overrides
    return {key for key in row_keys(experiment) if has_effect(key, values)}


def overridden_experiment(name: str, experiments: dict[str, Experiment]) -> Experiment:
    """Return the declared experiment with the overrides in its name.

    What is counted in updates is scaled with `updates`. Overrides of search, and of the checkpoints
    that make the model, share the training of the row without them if it keeps as many checkpoints.
    Raises UserError for unknown rows and keys, keys without an effect, and values that are refused.
    """
    declared, overrides = split_name(name)
    experiment: Experiment = lookup(experiments, declared, "experiment")
    known = row_keys(experiment)
    check_known(name, overrides, known)
    groups = {
        group: getattr(experiment, group).model_dump()
        for group in ("model", "training", "decoding")
    }
    if "updates" in overrides:
        groups["training"] |= scaled(experiment.training, overrides["updates"], name)
    for values in groups.values():
        values |= {key: value for key, value in overrides.items() if key in values}
    own = {
        "title": overridden_title(experiment.title, overrides),
        "vocabulary": overrides.get("vocabulary", experiment.vocabulary),
    }
    overridden = validated(Experiment, groups | own, name)
    check_use(overrides, overridden, name)
    shared = experiment.trained_as or declared
    if overridden.training.average <= experiments[shared].training.average:
        after_training = Decoding.model_fields.keys() | CHECKPOINT_KEYS
        overrides = {key: overrides[key] for key in overrides.keys() - after_training}
    trained_as = with_overrides(shared, overrides, known)
    own_training = trained_as == with_overrides(*split_name(name), known)
    return overridden.model_copy(update={"trained_as": None if own_training else trained_as})


def scaled(training: Training, updates: object, where: str) -> dict[str, object]:
    """Return the settings of a training that are counted in updates, in proportion to `updates`."""
    if not isinstance(updates, int) or updates < 1:
        raise UserError(
            f"{where}, training: updates: expected a whole number of at least 1, not {updates!r}"
        )
    ratio = updates / training.updates
    values = {key: getattr(training, key) for key in SCALED}
    settings: dict = {
        key: max(1, round(value * ratio)) if value else value for key, value in values.items()
    }
    settings["bleu_interval"] = settings["interval"] * (training.bleu_interval // training.interval)
    settings["source_loss"] = [
        (round(update * ratio), weight) for update, weight in training.source_loss
    ]
    return settings


def overridden_ensemble(
    name: str, ensembles: dict[str, Ensemble], experiments: dict[str, Experiment]
) -> Ensemble:
    """Return the declared ensemble of members with the overrides in its name."""
    declared, overrides = split_name(name)
    ensemble: Ensemble = lookup(ensembles, declared, "ensemble")
    keys = {
        member: row_keys(lookup(experiments, member, "experiment")) for member in ensemble.members
    }
    check_known(name, overrides, set().union(*keys.values()))
    members = {
        with_overrides(member, overrides, keys[member]): seeds
        for member, seeds in ensemble.members.items()
    }
    title = overridden_title(ensemble.title, overrides)
    return ensemble.model_copy(update={"title": title, "members": members})


def check_known(name: str, overrides: Iterable[str], known: set[str]) -> None:
    """Raise UserError for an override whose key is not known."""
    for key in overrides:
        if key not in known:
            raise UserError(f"{name}: unknown key {key!r}: {nearest(key, known)}")


def overridden_title(title: str, overrides: dict[str, object]) -> str:
    """Return the title of a row with overrides: "Transformer, updates=60"."""
    return ", ".join([title, *(f"{key}={text(value)}" for key, value in overrides.items())])
