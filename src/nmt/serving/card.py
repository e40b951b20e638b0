"""What a model's folder says of it: configuration.json and, for people, README.md."""

from nmt.configuration import Experiment, Strict, Vocabulary
from nmt.configuration.strict import Language, Length, Text

CARD = """\
# {experiment.title}, {source} to {target}

| | |
|:--|:--|
| Family | {experiment.model.family} |
| Corpus | {corpus} |
| License of the data, which binds the model | {license} |
| Vocabulary | {vocabulary.kind}, {vocabulary.size:,} subwords{preprocessing} |
| Parameters | {training[parameters]:,} |
| Training | {training[updates]:,} updates, seed {training[settings][seed]}; weights of {weights} |
| Measured cost | {hours:.2f} device-hours on {made_by[device]}, {training[flops]:.3g} FLOPs |
| Commit | {made_by[commit]} |

Translate with

    python src/translate.py --model FOLDER < source.txt > translations.txt
"""


class Settings(Strict):
    """What a model's configuration.json holds."""

    experiment: Experiment
    vocabulary: Vocabulary
    source: Language
    target: Language
    corpus: Text
    license: str
    max_length: Length
    provenance: dict


def model_card(settings: Settings) -> str:
    """Return the card of the model with these settings."""
    training = settings.provenance["training"]
    steps = ", ".join(settings.vocabulary.preprocessing)
    return CARD.format(
        **dict(settings),
        training=training,
        made_by=training["made_by"][-1],
        weights=", ".join(settings.provenance["checkpoints"]),
        hours=training["device_seconds"] / 3600,
        preprocessing=f" of text after: {steps} (Moses)" if steps else "",
    )
