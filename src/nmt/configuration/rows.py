"""Experiments from the entries of experiments/*.yaml: bases are followed, keys are checked."""

from collections.abc import Iterable
from dataclasses import dataclass

from nmt.configuration.experiments import (
    CHECKPOINT_KEYS,
    Decoding,
    Ensemble,
    Experiment,
    Training,
    Vocabulary,
)
from nmt.configuration.models import FAMILIES
from nmt.configuration.spelling import PRESENT
from nmt.configuration.strict import Strict, lookup, validated
from nmt.errors import UserError, nearest

OWN_KEYS = Experiment.model_fields.keys() - {"model", "training", "decoding"}
# For keys that have an effect only with some values of another key: that key and these values
USED_WITH = {
    "max_positions": ("positions", ["learned"]),
    "positions_std": ("positions", ["learned"]),
    "max_distance": ("positions", ["relative"]),
    "adam_betas": ("optimizer", ["adam", "adamw"]),
    "adam_epsilon": ("optimizer", ["adam", "adamw"]),
    "average": ("checkpoint", ["average"]),
    "alpha": ("penalty", ["wu", "power"]),
}


@dataclass(frozen=True)
class Entry:
    """An entry as it stands in a file, before its bases are followed."""

    values: dict
    where: str  # file and entry, for messages


def resolved_experiment(
    name: str, entries: dict[str, Entry], vocabularies: dict[str, Vocabulary]
) -> Experiment | None:
    """Return the experiment of an entry, or None for an entry without a family: it is only a base.

    Raises UserError naming the file, the entry and the key at fault.
    """
    entry = entries[name]
    flat = with_bases(name, entries, ())
    family = flat.get("family")
    if family is None:
        check_keys(flat, FAMILIES.values(), entry.where)
        if "title" in entry.values:
            raise UserError(
                f"{entry.where}: there is a title but no family: give it one, or a base that has"
                " one."
            )
        return None
    lookup(FAMILIES, family, "family", entry.where)
    check_keys(flat, [FAMILIES[family]], entry.where)
    groups: dict[str, type[Strict]] = {
        "model": FAMILIES[family],
        "training": Training,
        "decoding": Decoding,
    }
    values: dict = {
        group: {key: value for key, value in flat.items() if key in cls.model_fields}
        for group, cls in groups.items()
    }
    values |= {key: flat[key] for key in OWN_KEYS & flat.keys()}
    experiment = validated(Experiment, values, entry.where)
    check_use(entry.values, experiment, entry.where)
    check_vocabulary(experiment, vocabularies, entry.where)
    return experiment


def with_bases(name: str, entries: dict[str, Entry], seen: tuple[str, ...]) -> dict:
    """Return an entry's keys on top of those of its bases, of which a later one goes before.

    `trained_as` is not passed on. Raises UserError for an unknown base and for a circle of bases.
    """
    entry = entries[name]
    if name in seen:
        circle = " -> ".join([*seen, name])
        raise UserError(f"{entry.where} is its own base: {circle}")
    bases = entry.values.get("base", [])
    bases = [bases] if isinstance(bases, str) else bases
    if not isinstance(bases, list) or not all(isinstance(base, str) for base in bases):
        raise UserError(f"{entry.where}, base: expected a name or a list of names, not {bases!r}")
    flat: dict = {}
    for base in bases:
        lookup(entries, base, "base", entry.where)
        flat |= with_bases(base, entries, (*seen, name))
    return flat | {"trained_as": None} | entry.values


def check_keys(keys: dict, families: Iterable[type[Strict]], where: str) -> None:
    """Raise UserError for a key that neither experiments nor these families have."""
    classes: tuple[type[Strict], ...] = (Training, Decoding, *families)
    known = {"base", *OWN_KEYS}.union(*(cls.model_fields for cls in classes))
    for key in keys:
        if key in known:
            continue
        families_with_key = [family for family, cls in FAMILIES.items() if key in cls.model_fields]
        if families_with_key:
            hint = f"it is one of {', '.join(families_with_key)}, not of {keys['family']}"
        elif key in PRESENT:
            hint = f"it is called {PRESENT[key]}"
        else:
            hint = nearest(str(key), known)
        raise UserError(f"{where}: unknown key {key!r}: {hint}")


def check_vocabulary(
    experiment: Experiment, vocabularies: dict[str, Vocabulary], where: str
) -> None:
    """Raise UserError for an unknown vocabulary, and for two where the model needs a joint one."""
    vocabulary = lookup(vocabularies, experiment.vocabulary, "vocabulary", where)
    reason = experiment.model.needs_joint_vocabulary
    if reason and vocabulary.source_size is not None:
        raise UserError(f"{where}: {reason}, {experiment.vocabulary} is two.")


def check_use(own: Iterable[str], experiment: Experiment, where: str) -> None:
    """Raise UserError for a key of the entry itself that has no effect.

    Keys that come from a base may have none.
    """
    values = experiment.values
    for key in own:
        if not has_effect(key, values):
            required_key, required_values = USED_WITH[key]
            raise UserError(
                f"{where}: {key} is for {required_key}: {' or '.join(required_values)}, here it is"
                f" {values[required_key]}: leave {key} out."
            )


def has_effect(key: str, values: dict) -> bool:
    """Return whether a key has an effect beside an experiment's values of the other keys."""
    if key not in USED_WITH:
        return True
    required_key, required_values = USED_WITH[key]
    return required_key not in values or values[required_key] in required_values


def check_shared_training(name: str, experiments: dict[str, Experiment], where: str) -> None:
    """Raise UserError where `trained_as` names an experiment that cannot serve this one."""
    own = experiments[name]
    shared_name = own.trained_as
    if shared_name is None:
        return
    where = f"{where}, trained_as"
    if shared_name == name:
        raise UserError(f"{where}: this is the entry itself: leave it out.")
    shared = lookup(experiments, shared_name, "experiment", where)
    if shared.trained_as is not None:
        raise UserError(
            f"{where}: {shared_name} is itself trained as {shared.trained_as}: name that one."
        )
    if own.training.average > shared.training.average:
        raise UserError(
            f"{where}: {shared_name} keeps {shared.training.average} checkpoints, average asks for"
            " more."
        )
    same_checkpoints = {key: getattr(shared.training, key) for key in CHECKPOINT_KEYS}
    own_training = own.training.model_copy(update=same_checkpoints)
    if (own.vocabulary, own.model, own_training) != (
        shared.vocabulary,
        shared.model,
        shared.training,
    ):
        raise UserError(
            f"{where}: only average, checkpoint and search may differ from {shared_name}."
        )


def resolved_ensemble(entry: Entry, experiments: dict[str, Experiment]) -> Ensemble:
    """Return an ensemble; raises UserError for unknown members, or members of two vocabularies."""
    ensemble = validated(Ensemble, entry.values, entry.where)
    for member in ensemble.members:
        lookup(experiments, member, "experiment", entry.where)
    vocabularies = {member: experiments[member].vocabulary for member in ensemble.members}
    if len(set(vocabularies.values())) > 1:
        listed = ", ".join(f"{member} has {name}" for member, name in vocabularies.items())
        raise UserError(f"{entry.where}: its members need one vocabulary: {listed}.")
    return ensemble
