"""A model's folder: weights, vocabulary and configuration, for translating plain text."""

from pathlib import Path

import torch

from nmt.configuration import Corpus, Decoding, Experiment, Vocabulary, validated
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.translator import cut, in_order, translate_tokens
from nmt.device import choose_device
from nmt.errors import UserError
from nmt.files import UNSAFE, atomic_write, read_json, write_json, write_text
from nmt.models.build import build_uninitialized
from nmt.models.protocol import Model, StepModel
from nmt.models.weights import load_tensors, require_same_parameters, save_tensors, set_parameters
from nmt.serving.card import Settings, model_card
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SubwordPair, copy_subwords

REMEDY = (
    "delete {folder} and run snakemake, or average.py, which make it from checkpoints in seconds"
)
# A line is translated up to so many times the longest sentence of training: far beyond that models
# know nothing, and memory and time grow with its square.
TIMES_TRAINING_LENGTH = 4


def save_model(
    folder: Path,
    weights: dict[str, torch.Tensor],
    subwords: Path,
    experiment: Experiment,
    vocabulary: Vocabulary,
    corpus: Corpus,
    provenance: dict,
) -> None:
    """Write a model's folder, whole or not at all.

    It has model.safetensors, source.model, target.model, SHA256SUMS, configuration.json and the
    card, README.md.
    """
    settings = Settings(
        experiment=experiment,
        vocabulary=vocabulary,
        source=corpus.source,
        target=corpus.target,
        corpus=corpus.title,
        license=corpus.license,
        max_length=vocabulary.max_length or corpus.cleaning.max_length,
        provenance=provenance,
    )
    with atomic_write(folder) as temporary:
        temporary.mkdir()
        save_tensors(temporary / "model.safetensors", weights)
        copy_subwords(subwords, temporary)
        write_json(temporary / "configuration.json", settings.model_dump())
        write_text(temporary / "README.md", model_card(settings))


def read_configuration(folder: Path) -> Settings:
    """Return the folder's configuration.json. Raises UserError when it is not a model's folder."""
    path = folder / "configuration.json"
    if not path.exists():
        raise UserError(f"{folder} is no model's folder: it has no configuration.json.")
    for file in folder.iterdir():
        if file.exists() and not (file.is_file() or file.is_dir()):
            raise UserError(f"{file} is no file, but a pipe or a device: delete {folder}.")
    return validated(Settings, read_json(path), str(path))


class TranslationModel:
    """A model, or an ensemble of several, with all that it takes to translate plain text.

    experiment: the first folder's. gpus: how many the job was given; with none, a GPU is used where
    there is one.
    max_length: the most subwords of a line, TIMES_TRAINING_LENGTH as many as in training without
    it; a model with learned positions may reach less far. Raises UserError for a folder that is
    damaged or not a model's, and for one whose vocabulary or languages are not those of the first.
    """

    def __init__(self, *folders: Path, gpus: int = 0, max_length: int | None = None):
        self.configuration = read_configuration(folders[0])
        self.experiment = self.configuration.experiment
        self.source_preprocessing, self.target_preprocessing = (
            Preprocessing(self.configuration.vocabulary.preprocessing, language)
            for language in (self.configuration.source, self.configuration.target)
        )
        self.subwords = SubwordPair.load(folders[0])
        self.device = choose_device(gpus)
        models = [self.load(folder) for folder in folders]
        self.model: StepModel = models[0] if len(models) == 1 else Ensemble(models)
        longest = max_length or TIMES_TRAINING_LENGTH * self.configuration.max_length
        self.longest = min(longest, self.model.reach or longest)

    def load(self, folder: Path) -> Model:
        """Return a folder's model in evaluation mode, on a GPU if there is one."""
        configuration = read_configuration(folder)
        subwords = SubwordPair.load(folder)
        if subwords.checksums != self.subwords.checksums or any(
            getattr(configuration, key) != getattr(self.configuration, key)
            for key in ("vocabulary", "source", "target")
        ):
            raise UserError(
                f"{folder} has another vocabulary or other languages than the first model: they"
                " cannot translate as one."
            )
        model_settings = configuration.experiment.model
        remedy = REMEDY.format(folder=folder)
        weights, _ = load_tensors(folder / "model.safetensors", remedy)
        sizes = (subwords.source.size, subwords.target.size)
        try:
            # No memory is taken for what a configuration of another model says.
            outline = build_uninitialized(model_settings, *sizes, torch.device("meta"))
            require_same_parameters(outline, weights)
        except UserError as error:
            path = folder / "configuration.json"
            raise UserError(f"{path}: {str(error).removesuffix('.')}: {remedy}.") from None
        model = build_uninitialized(model_settings, *sizes, self.device)
        set_parameters(model, weights)
        return model.eval()

    def halve_on_gpu(self) -> None:
        """Compute in float16 on a GPU, faster: few translations change, fewer than by bfloat16."""
        if self.device.type == "cuda":
            self.model.half()

    @property
    def single(self) -> Model:
        """The model of one folder. Raises UserError for an ensemble, which has no attention."""
        if not isinstance(self.model, Model):
            raise UserError("several models have no common attention or weights: give one.")
        return self.model

    @property
    def length_power(self) -> float:
        """The exponent of |Y| that CTranslate2 and transformers call length_penalty.

        The penalty of Wu et al. has none, and gets their usual 1.
        """
        decoding = self.experiment.decoding
        return 1.0 if decoding.penalty == "wu" and decoding.alpha else decoding.alpha

    def encode(self, lines: list[str], first_line: int = 1) -> list[list[int]]:
        """Return the tokens of source lines, cut where there are too many.

        first_line: what warnings call the first line.
        """
        texts = [self.source_preprocessing.apply(line) for line in lines]
        return cut(self.subwords.source.encode(texts), self.longest, "source", first_line)

    def encode_target(self, lines: list[str], first_line: int = 1) -> list[list[int]]:
        """Return the tokens of target lines, cut where there are too many."""
        texts = [self.target_preprocessing.apply(line) for line in lines]
        return cut(self.subwords.target.encode(texts), self.longest, "target", first_line)

    def decode(self, tokens: list[int]) -> str:
        """Return the text of a translation, as one line whatever the tokens.

        Subwords, and bytes that stand for unknown characters, can spell line ends and what
        terminals obey.
        """
        text = self.target_preprocessing.undo(self.subwords.target.decode(tokens))
        return UNSAFE.sub(" ", text)

    def translate(self, lines: list[str], decoding: Decoding | None = None) -> list[str]:
        """Return the translations of the lines, in their order.

        decoding: instead of the experiment's own.
        """
        batches = translate_tokens(
            self.model, self.encode(lines), decoding or self.experiment.decoding
        )
        return [self.decode(best.tokens) for (best,) in in_order(batches, len(lines))]
