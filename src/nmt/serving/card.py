"""The model card: README.md of a model's folder."""

from nmt.configuration import Vocabulary

CARD = """\
# {title}, {source} to {target}

| | |
|:--|:--|
| Family | {family} |
| Corpus | {corpus} |
| License of the data, which binds the model | {license} |
| Vocabulary | {vocabulary} |
| Parameters | {parameters:,} |
| Training | {updates:,} updates, seed {seed}; weights of {checkpoints} |
| Measured cost | {hours:.2f} device-hours on {device}, {flops:.3g} FLOPs |
| Commit | {commit} |

Translate with

    python src/translate.py --model FOLDER < source.txt > translations.txt
"""


def model_card(configuration: dict) -> str:
    """Return the card of the model's folder with this configuration.json."""
    training = configuration["provenance"]["training"]
    vocabulary = Vocabulary(**configuration["vocabulary"])
    steps = ", ".join(vocabulary.preprocessing)
    made_by = training["made_by"][-1]
    return CARD.format(
        title=configuration["experiment"]["title"],
        source=configuration["source"],
        target=configuration["target"],
        family=configuration["experiment"]["model"]["family"],
        corpus=configuration["corpus"],
        license=configuration["license"],
        vocabulary=f"{vocabulary.kind}, {vocabulary.size:,} subwords"
        + (f" of text after: {steps} (Moses)" if steps else ""),
        parameters=training["parameters"],
        updates=training["updates"],
        seed=training["settings"]["seed"],
        checkpoints=", ".join(configuration["provenance"]["checkpoints"]),
        hours=training["device_seconds"] / 3600,
        device=made_by["device"],
        flops=training["flops"],
        commit=made_by["commit"],
    )
