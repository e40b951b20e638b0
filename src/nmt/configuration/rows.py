"""From the entries of experiments.yaml to rows: bases are followed, keys sorted, what makes no
sense is refused.
"""

from collections.abc import Iterable

from nmt.configuration.experiments import CHECKPOINT_KEYS, Decoding, Ensemble, Experiment, Training
from nmt.configuration.models import FAMILIES, DecoderOnly
from nmt.configuration.spelling import PRESENT
from nmt.configuration.strict import Strict, lookup, validated
from nmt.errors import UserError, nearest

OWN_KEYS = Experiment.model_fields.keys() - {"model", "training", "decoding"}
# Keys that only some values of another key make use of.
USED_WITH = {
    "max_positions": ("positions", ["learned"]),
    "positions_std": ("positions", ["learned"]),
    "max_distance": ("positions", ["relative"]),
    "adam_betas": ("optimizer", ["adam", "adamw"]),
    "adam_epsilon": ("optimizer", ["adam", "adamw"]),
    "average": ("checkpoint", ["average"]),
    "alpha": ("penalty", ["wu", "power"]),
}


def resolved_experiment(
    name: str, entries: dict, vocabularies: dict, file: str
) -> Experiment | None:
    """Follows `base` to the full entry, then sorts its flat keys into model, training and decoding.

    None for an entry without a family: it is only a base.
    """
    where = f"{file}, entry {name}"
    flat = with_base(name, entries, file, ())
    family = flat.get("family")
    if family is None:
        check_keys(flat, FAMILIES.values(), where)
        if "title" in entries[name]:
            raise UserError(
                f"{where}: there is a title but no family: give it one, or a base that has one."
            )
        return None
    lookup(FAMILIES, family, "family", where)
    check_keys(flat, [FAMILIES[family]], where)
    groups = {"model": FAMILIES[family], "training": Training, "decoding": Decoding}
    values: dict = {
        group: {key: value for key, value in flat.items() if key in cls.model_fields}
        for group, cls in groups.items()
    }
    values |= {key: flat[key] for key in OWN_KEYS & flat.keys()}
    experiment = validated(Experiment, values, where)
    check_use(entries[name], experiment, where)
    joint = lookup(vocabularies, experiment.vocabulary, "vocabulary", where).source_size is None
    if not joint and isinstance(experiment.model, DecoderOnly):
        raise UserError(
            f"{where}: one sequence needs one vocabulary, {experiment.vocabulary} is two."
        )
    if not joint and getattr(experiment.model, "tie", None) == "all":
        raise UserError(
            f"{where}: tie: all needs one vocabulary for both sides, {experiment.vocabulary} is"
            " two."
        )
    return experiment


def check_keys(keys: dict, families: Iterable[type[Strict]], where: str) -> None:
    """Raises UserError for a key that is neither a row's, nor training's or search's, nor one of
    these families'.
    """
    known = {"base", *OWN_KEYS}.union(
        *(cls.model_fields for cls in (Training, Decoding, *families))
    )
    for key in keys:
        if key in known:
            continue
        others = [family for family, cls in FAMILIES.items() if key in cls.model_fields]
        if others:
            hint = f"it is one of {', '.join(others)}, not of {keys['family']}"
        elif key in PRESENT:
            hint = f"it is called {PRESENT[key]}"
        else:
            hint = nearest(str(key), known)
        raise UserError(f"{where}: unknown key {key!r}: {hint}")


def check_use(own: dict, experiment: Experiment, where: str) -> None:
    """Raises UserError for a key of the entry's `own` that changes nothing; what comes from a base
    may lie idle.
    """
    values = (
        experiment.model.model_dump()
        | experiment.training.model_dump()
        | experiment.decoding.model_dump()
    )
    for key in [key for key in own if key in USED_WITH]:
        other, users = USED_WITH[key]
        if other in values and values[other] not in users:
            raise UserError(
                f"{where}: {key} is for {other}: {' or '.join(users)}, here it is {values[other]}:"
                f" leave {key} out."
            )


def with_base(name: str, entries: dict, file: str, seen: tuple[str, ...]) -> dict:
    if name in seen:
        raise UserError(f"{file}: entry {name} is its own base: {' -> '.join([*seen, name])}")
    entry = entries[name]
    if not isinstance(entry, dict):
        raise UserError(f"{file}, entry {name}: expected keys and values.")
    base = entry.get("base")
    if base is None:
        return entry
    lookup(entries, base, "base", f"{file}, entry {name}")
    return {
        **with_base(base, entries, file, (*seen, name)),
        "title": name,
        "trained_as": None,
        **entry,
    }


def check_shared_training(name: str, experiments: dict[str, Experiment], file: str) -> None:
    """Raises UserError where the row that it is `trained_as` has another training, or too few
    checkpoints.
    """
    own, other = experiments[name], experiments[name].trained_as
    if other is None:
        return
    where = f"{file}, entry {name}, trained_as"
    if other == name:
        raise UserError(f"{where}: this is the entry itself: leave it out.")
    shared = lookup(experiments, other, "experiment", where)
    if shared.trained_as is not None:
        raise UserError(
            f"{where}: {other} is itself trained as {shared.trained_as}: name that one."
        )
    if own.training.average > shared.training.average:
        raise UserError(
            f"{where}: {other} keeps {shared.training.average} checkpoints, average asks for more."
        )
    same_checkpoints = {key: getattr(shared.training, key) for key in CHECKPOINT_KEYS}
    if (own.vocabulary, own.model, own.training.model_copy(update=same_checkpoints)) != (
        shared.vocabulary,
        shared.model,
        shared.training,
    ):
        raise UserError(f"{where}: only average, checkpoint and search may differ from {other}.")


def resolved_ensemble(
    name: str, values: dict, experiments: dict[str, Experiment], file: str
) -> Ensemble:
    """Raises UserError for unknown members, and for members of different vocabularies."""
    where = f"{file}, ensemble {name}"
    if name in experiments:
        raise UserError(f"{where}: there is an experiment of that name.")
    ensemble = validated(Ensemble, values, where)
    for member in ensemble.members:
        lookup(experiments, member, "experiment", where)
    vocabularies = {member: experiments[member].vocabulary for member in ensemble.members}
    if len(set(vocabularies.values())) > 1:
        listed = ", ".join(
            f"{member} has {vocabulary}" for member, vocabulary in vocabularies.items()
        )
        raise UserError(f"{where}: its members need one vocabulary: {listed}.")
    return ensemble
