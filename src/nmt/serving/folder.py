"""A model's folder: weights, vocabulary and configuration together, plain text in and plain text
out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import torch

from nmt.configuration import Corpus, Decoding, Experiment, Vocabulary, present_spelling, validated
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.translator import fitted, translate_tokens
from nmt.decoding.word_alignment import align, word_links, words_of
from nmt.errors import UserError
from nmt.files import read_json, write_json, write_text, written_whole
from nmt.models.build import build
from nmt.models.protocol import Model
from nmt.models.weights import load_tensors, save_tensors, set_parameters
from nmt.serving.card import card
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SUBWORD_FILES, SubwordPair


def save_model(
    folder: Path,
    weights: dict[str, torch.Tensor],
    subwords: Path,
    experiment: Experiment,
    vocabulary: Vocabulary,
    corpus: Corpus,
    provenance: dict,
) -> None:
    """Writes a folder, whole or not at all: model.safetensors, source.model, target.model,
    configuration.json and
    README.md."""
    with written_whole(folder) as beside:
        beside.mkdir()
        save_tensors(beside / "model.safetensors", weights)
        for name in SUBWORD_FILES:
            (beside / name).write_bytes((subwords / name).read_bytes())
        write_json(
            beside / "configuration.json",
            {
                "experiment": experiment.model_dump(),
                "vocabulary": vocabulary.model_dump(),
                "source": corpus.source,
                "target": corpus.target,
                "corpus": corpus.title,
                "license": corpus.license,
                "provenance": provenance,
            },
        )
        write_text(beside / "README.md", card(read_json(beside / "configuration.json"), {}))


def read_configuration(folder: Path) -> dict:
    if not (folder / "configuration.json").exists():
        raise UserError(f"{folder} is no model's folder: it has no configuration.json.")
    found = present_spelling(read_json(folder / "configuration.json"))
    if not isinstance(found, dict):
        raise UserError(
            f"{folder} is no model's folder: its configuration.json has no keys and values."
        )
    for key in ("experiment", "vocabulary", "source", "target"):
        if key not in found:
            raise UserError(
                f"{folder} is no model's folder: its configuration.json has no {key!r}."
            )
    return found


CONTROL = re.compile(r"[\n\r\t]")
ALIGNED_AT_ONCE = (
    2**17
)  # pairs of a source and a target token: the maps of all layers and heads are held


class TranslationModel:
    """A model, or several as an ensemble, with all it needs to read and write plain text.

    experiment: the first folder's. precision: of weights and states; probabilities are in float32
    at least. Raises UserError for a folder that is no model's, and for one that does not read and
    write as the first does.
    """

    def __init__(self, *folders: Path, precision: torch.dtype = torch.float32):
        found = [read_configuration(folder) for folder in folders]
        self.configuration, first = found[0], folders[0]
        for folder, other in zip(folders, found, strict=True):
            same = all(
                other[key] == self.configuration[key] for key in ("vocabulary", "source", "target")
            )
            if not same or any(
                (folder / name).read_bytes() != (first / name).read_bytes()
                for name in SUBWORD_FILES
            ):
                raise UserError(
                    f"{folder} has not the vocabulary and languages of {first}: they cannot"
                    " translate as one."
                )
        where = str(first / "configuration.json")
        vocabulary = validated(Vocabulary, self.configuration["vocabulary"], where)
        self.experiment = validated(Experiment, self.configuration["experiment"], where)
        self.before = Preprocessing(vocabulary, self.configuration["source"])
        self.after = Preprocessing(vocabulary, self.configuration["target"])
        self.subwords = SubwordPair.load(first)
        self.precision = precision
        models = [self.load(folder, other) for folder, other in zip(folders, found, strict=True)]
        self.model: Model = models[0] if len(models) == 1 else Ensemble(models)

    def load(self, folder: Path, configuration: dict) -> Model:
        experiment = validated(
            Experiment, configuration["experiment"], str(folder / "configuration.json")
        )
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = build(experiment.model, self.subwords.source.size, self.subwords.target.size).to(
            device
        )
        set_parameters(model, load_tensors(folder / "model.safetensors")[0])
        return model.to(self.precision).eval()

    def encode(self, lines: list[str]) -> list[list[int]]:
        """The tokens of each line, at most as many as the model has positions for."""
        return fitted(
            self.model, self.subwords.source.encode([self.before.apply(line) for line in lines])
        )

    def encode_target(self, lines: list[str]) -> list[list[int]]:
        return self.subwords.target.encode([self.after.apply(line) for line in lines])

    def decode(self, tokens: list[int]) -> str:
        """One line, whatever the tokens: bytes that stand for unknown letters can spell line ends
        and tabs.
        """
        return CONTROL.sub(" ", self.after.undo(self.subwords.target.decode(tokens)))

    def align(
        self, sources: list[list[int]], targets: list[list[list[int]]]
    ) -> list[list[list[tuple[int, int]]]]:
        """For each target of each source pairs of word numbers, of texts as subwords see them.

        Raises UserError as nmt.decoding.word_alignment.align does.
        """
        pairs = [
            (source, target)
            for source, several in zip(sources, targets, strict=True)
            for target in several
        ]
        links = [
            each
            for chunk in chunks(pairs)
            for each in align(self.model, *map(list, zip(*chunk, strict=True)))
        ]
        found = iter(
            word_links(
                each, words_of(source, self.subwords.source), words_of(target, self.subwords.target)
            )
            for each, (source, target) in zip(links, pairs, strict=True)
        )
        return [[next(found) for _ in several] for several in targets]

    def translate(self, lines: list[str], decoding: Decoding) -> Iterator[list[tuple[int, str]]]:
        """Yields (line number, translation) batch by batch, in the order that suits the model."""
        for numbers, hypotheses in translate_tokens(self.model, self.encode(lines), decoding):
            yield [
                (number, self.decode(best.tokens))
                for number, (best,) in zip(numbers, hypotheses, strict=True)
            ]


def chunks(pairs: list[tuple[list[int], list[int]]]) -> Iterator[list[tuple[list[int], list[int]]]]:
    """Consecutive pairs whose maps fit together: their number times the longest source times the
    longest target.
    """
    chunk, longest = [], (0, 0)
    for pair in pairs:
        longest = tuple(
            max(most, len(tokens) + 1) for most, tokens in zip(longest, pair, strict=True)
        )
        if chunk and (len(chunk) + 1) * longest[0] * longest[1] > ALIGNED_AT_ONCE:
            yield chunk
            chunk, longest = [], tuple(len(tokens) + 1 for tokens in pair)
        chunk.append(pair)
    if chunk:
        yield chunk
