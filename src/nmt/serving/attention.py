"""A sentence's translations and all attention that a model pays when it writes the best one."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.batch import pad_sources
from nmt.data.source import Source
from nmt.decoding.search import Hypothesis
from nmt.decoding.translator import in_order, translate_tokens
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS
from nmt.serving.folder import TranslationModel

CROSS = "cross-attention"
ENCODER = "encoder self-attention"
DECODER = "decoder self-attention"
# Weights are whole numbers of 1/SCALE in JSON: pages with many of them stay small.
SCALE = 1000
# The longest sentence: maps grow with its square, and nobody can read larger ones.
MOST_SUBWORDS = 250

Maps = dict[str, Tensor]  # by layer: [heads][query][key]


@dataclass(frozen=True)
class Attended:
    """A translated sentence.

    source, target: subwords, </s> at the end of both. hypotheses: the best translations, best
    first. inputs: what the decoder reads at each position of `target`: <s> and the subwords before.
    """

    sentence: str
    source: list[str]
    target: list[str]
    inputs: list[str]
    hypotheses: list[Hypothesis]
    source_tokens: list[int]

    @property
    def best(self) -> Hypothesis:
        """The translation that attention belongs to."""
        return self.hypotheses[0]


def attend(model: TranslationModel, sentence: str, n_best: int = 1) -> Attended:
    """Translate the sentence. Raises UserError when it has no words."""
    (source,) = model.encode([sentence])
    if not source:
        raise UserError("the sentence is empty: give one with words in it.")
    batches = translate_tokens(model.model, [source], model.experiment.decoding, n_best)
    (hypotheses,) = in_order(batches, 1)
    target = model.subwords.target.pieces([*hypotheses[0].tokens, EOS])
    return Attended(
        sentence=sentence,
        source=model.subwords.source.pieces([*source, EOS]),
        target=target,
        inputs=["<s>", *target[:-1]],
        hypotheses=hypotheses,
        source_tokens=source,
    )


@torch.inference_mode()
def cross_attention(model: TranslationModel, attended: Attended) -> Maps:
    """Return the weights [heads][target][source] of the best translation, by layer."""
    maps = model.single.attention(*teacher_forcing(model, attended))
    return {name: weights[0] for name, weights in maps.items()}


@torch.inference_mode()
def all_attention(model: TranslationModel, attended: Attended) -> dict[str, Maps]:
    """Return the maps of cross-attention and, where a model has it, of self-attention, by kind."""
    names = {"encoder": ENCODER, "decoder": DECODER}
    kinds = {CROSS: cross_attention(model, attended)}
    for stack, maps in model.single.self_attention(*teacher_forcing(model, attended)).items():
        kinds[names[stack]] = {name: weights[0] for name, weights in maps.items()}
    return {kind: maps for kind, maps in kinds.items() if maps}


def teacher_forcing(model: TranslationModel, attended: Attended) -> tuple[Source, Tensor]:
    """Return the source and the target's inputs (1, T)."""
    source = pad_sources([attended.source_tokens])
    target_in = torch.tensor([[BOS, *attended.best.tokens]])
    return source.to(model.device), target_in.to(model.device)


def as_json(model: TranslationModel, attended: Attended) -> dict:
    """Return all that a page shows of the sentence.

    maps: {kind: {layer: [heads][query][key]}}, in thousandths. A query of the decoder is the
    subword that is written, a key of its self-attention what it has read.
    """
    maps = all_attention(model, attended)
    return {
        "sentence": attended.sentence,
        "source": attended.source,
        "target": attended.target,
        "inputs": attended.inputs,
        "translations": [
            {"text": model.decode(hypothesis.tokens), "score": round(hypothesis.score, 4)}
            for hypothesis in attended.hypotheses
        ],
        "maps": {
            kind: {layer: thousandths(weights) for layer, weights in layers.items()}
            for kind, layers in maps.items()
        },
    }


def thousandths(weights: Tensor) -> list[list[list[int]]]:
    """Return the weights as whole numbers."""
    return (weights.float() * SCALE).round().int().tolist()
