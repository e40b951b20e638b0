"""A model's folder: weights, vocabulary and configuration, for translating plain text."""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch

from nmt.configuration import (
    Cleaning,
    Corpus,
    Decoding,
    Experiment,
    Vocabulary,
    present_spelling,
    validated,
)
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.translator import cut, in_order, translate_tokens
from nmt.decoding.word_alignment import align, word_links, word_numbers
from nmt.device import choose_device
from nmt.errors import UserError
from nmt.files import atomic_write, read_json, write_json, write_text
from nmt.models.build import build_uninitialized
from nmt.models.positions import reach
from nmt.models.protocol import Model, StepModel
from nmt.models.weights import (
    load_tensors,
    require_same_parameters,
    save_tensors,
    set_parameters,
)
from nmt.serving.card import model_card
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SUBWORD_FILES, SubwordPair, check_subwords, copy_subwords

CONFIGURATION_KEYS = {
    "experiment": dict,
    "vocabulary": dict,
    "source": str,
    "target": str,
    "corpus": str,
    "license": str,
    "provenance": dict,
}
CONTROL_CHARACTERS = re.compile(r"[\n\r\t]")
REMEDY = (
    "delete {folder} and run snakemake, or average.py, which make it from checkpoints in seconds"
)
# Pairs of a source and a target token in one batch of alignments: the attention maps of all layers
# and heads are held.
ALIGNED_TOKEN_PAIRS = 2**17
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

    It has model.safetensors, source.model, target.model, SHA256SUMS, configuration.json and
    README.md.
    """
    configuration = {
        "experiment": experiment.model_dump(),
        "vocabulary": vocabulary.model_dump(),
        "source": corpus.source,
        "target": corpus.target,
        "corpus": corpus.title,
        "license": corpus.license,
        "cleaning": corpus.cleaning_for(vocabulary.max_length).of_subwords,
        "provenance": provenance,
    }
    with atomic_write(folder) as temporary:
        temporary.mkdir()
        save_tensors(temporary / "model.safetensors", weights)
        copy_subwords(subwords, temporary)
        write_json(temporary / "configuration.json", configuration)
        card = model_card(read_json(temporary / "configuration.json"), {})
        write_text(temporary / "README.md", card)


def read_configuration(folder: Path) -> dict:
    """Return the folder's configuration.json. Raises UserError when it is not a model's folder."""
    if not (folder / "configuration.json").exists():
        raise UserError(f"{folder} is no model's folder: it has no configuration.json.")
    configuration = present_spelling(
        read_json(folder / "configuration.json", remedy=REMEDY.format(folder=folder))
    )
    for key, kind in CONFIGURATION_KEYS.items():
        if not isinstance(configuration.get(key), kind):
            raise UserError(
                f"{folder} is no model's folder: its configuration.json has no {key!r}."
            )
    return configuration


class TranslationModel:
    """A model, or an ensemble of several, with all that it takes to translate plain text.

    experiment: the first folder's. precision: of weights and states; probabilities are in float32
    at least. gpus: how many the job was given; with none, a GPU is used where there is one.
    max_length: the most subwords of a line, TIMES_TRAINING_LENGTH as many as in training without
    it; a model with learned positions may reach less far. Raises UserError for a folder that is not
    a model's, and for one whose vocabulary or languages are not those of the first.
    """

    def __init__(
        self,
        *folders: Path,
        precision: torch.dtype = torch.float32,
        gpus: int = 0,
        max_length: int | None = None,
    ):
        configurations = [read_configuration(folder) for folder in folders]
        self.configuration = configurations[0]
        for folder, configuration in zip(folders, configurations, strict=True):
            check_subwords(folder, REMEDY.format(folder=folder))
            self.require_same_text(folders[0], folder, configuration)
        path = str(folders[0] / "configuration.json")
        vocabulary = validated(Vocabulary, self.configuration["vocabulary"], path)
        self.experiment = validated(Experiment, self.configuration["experiment"], path)
        self.source_preprocessing = Preprocessing(
            vocabulary.preprocessing, self.configuration["source"]
        )
        self.target_preprocessing = Preprocessing(
            vocabulary.preprocessing, self.configuration["target"]
        )
        self.subwords = SubwordPair.load(folders[0])
        self.precision = precision
        self.device = choose_device(gpus)
        models = [
            self.load(folder, configuration)
            for folder, configuration in zip(folders, configurations, strict=True)
        ]
        self.model: StepModel = models[0] if len(models) == 1 else Ensemble(models)
        trained = trained_length(self.configuration, vocabulary, path)
        longest = max_length or TIMES_TRAINING_LENGTH * trained
        self.longest = min(longest, reach(self.model) or longest)

    def require_same_text(self, first: Path, folder: Path, configuration: dict) -> None:
        """Raise UserError when a folder's vocabulary or languages are not those of the first."""
        same_configuration = all(
            configuration[key] == self.configuration[key]
            for key in ("vocabulary", "source", "target")
        )
        if not same_configuration or any(
            (folder / name).read_bytes() != (first / name).read_bytes() for name in SUBWORD_FILES
        ):
            raise UserError(
                f"{folder} has not the vocabulary and languages of {first}: they cannot translate"
                " as one."
            )

    def load(self, folder: Path, configuration: dict) -> Model:
        """Return a folder's model in evaluation mode, on a GPU if there is one."""
        path = str(folder / "configuration.json")
        experiment = validated(Experiment, configuration["experiment"], path)
        sizes = (self.subwords.source.size, self.subwords.target.size)
        remedy = REMEDY.format(folder=folder)
        weights = load_tensors(folder / "model.safetensors", remedy)[0]
        try:
            try:
                model = build_uninitialized(experiment.model, *sizes, self.device)
            except RuntimeError:
                # A configuration of another model may ask for more memory than there is.
                outline = build_uninitialized(experiment.model, *sizes, torch.device("meta"))
                require_same_parameters(outline, weights)
                raise
            set_parameters(model, weights)
        except UserError as error:
            text = str(error).removesuffix(".")
            raise UserError(f"{path}: {text}: {remedy}.") from None
        return model.to(self.precision).eval()

    @property
    def single(self) -> Model:
        """The model, of one folder: an ensemble has no attention, and cannot be exported."""
        assert isinstance(self.model, Model)
        return self.model

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

        Bytes that stand for unknown characters can spell line ends and tabs.
        """
        text = self.target_preprocessing.undo(self.subwords.target.decode(tokens))
        return CONTROL_CHARACTERS.sub(" ", text)

    def align(
        self, sources: list[list[int]], targets: list[list[list[int]]]
    ) -> list[list[list[tuple[int, int]]]]:
        """Return for each target of each source pairs of word numbers (source, target).

        Words are those of the text that subwords are made from. Raises UserError for a model
        without attention.
        """
        pairs = [
            (source, target)
            for source, source_targets in zip(sources, targets, strict=True)
            for target in source_targets
        ]
        links = []
        for batch in alignment_batches(pairs):
            batch_sources = [source for source, _ in batch]
            batch_targets = [target for _, target in batch]
            links += align(self.single, batch_sources, batch_targets)
        aligned = (
            word_links(
                pair_links,
                word_numbers(source, self.subwords.source),
                word_numbers(target, self.subwords.target),
            )
            for pair_links, (source, target) in zip(links, pairs, strict=True)
        )
        return [list(islice(aligned, len(source_targets))) for source_targets in targets]

    def translate(self, lines: list[str], decoding: Decoding) -> list[str]:
        """Return the translations of the lines, in their order."""
        batches = translate_tokens(self.model, self.encode(lines), decoding)
        return [self.decode(best.tokens) for (best,) in in_order(batches, len(lines))]


def trained_length(configuration: dict, vocabulary: Vocabulary, path: str) -> int:
    """Return the most subwords that a side of a training pair had.

    Folders of earlier versions do not record it: then it is the vocabulary's limit or the default.
    path: what errors call the configuration.
    """
    if "cleaning" in configuration:
        return validated(Cleaning, configuration["cleaning"], path).max_length
    return vocabulary.max_length or Cleaning().max_length


def alignment_batches(
    pairs: list[tuple[list[int], list[int]]],
) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Yield consecutive pairs of source and target whose attention maps fit into memory together.

    What counts is the number of pairs times the longest source times the longest target.
    """
    batch: list[tuple[list[int], list[int]]] = []
    longest_source = 0
    longest_target = 0
    for source, target in pairs:
        longest_source = max(longest_source, len(source) + 1)
        longest_target = max(longest_target, len(target) + 1)
        token_pairs = (len(batch) + 1) * longest_source * longest_target
        if batch and token_pairs > ALIGNED_TOKEN_PAIRS:
            yield batch
            batch = []
            longest_source = len(source) + 1
            longest_target = len(target) + 1
        batch.append((source, target))
    if batch:
        yield batch
