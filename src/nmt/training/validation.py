"""How well a model does on the dev set while it is trained."""

import math
import sys
from pathlib import Path

import numpy as np
import torch

from nmt.configuration import Decoding, Training
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.decoding.translator import in_order, translate_tokens
from nmt.device import autocast
from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.scores import Scorer
from nmt.files import read_lines
from nmt.models.protocol import Model
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SubwordPair
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import AUTOCAST
from nmt.training.objective import cross_entropy

TRAINING_SENTENCES = 200  # that are translated too, to see how far a model only remembers


class Validation:
    """The dev set: as batches for the loss, as text for BLEU; and a sample of the training set.

    preprocessing: of the target. decoding: how the finished model translates; here it is greedy.
    Raises UserError when tokens and text differ in number, or are of other subwords, and as Scorer.
    """

    def __init__(
        self,
        training: ParallelTokens,
        tokens: Path,
        reference: Path,
        subwords: SubwordPair,
        preprocessing: Preprocessing,
        decoding: Decoding,
    ):
        self.tokens = ParallelTokens.load(tokens)
        self.tokens.require_vocabulary(subwords, tokens)
        self.references = list(read_lines(reference))
        if len(self.references) != len(self.tokens):
            raise UserError(
                f"{reference} has {len(self.references)} lines, {tokens} {len(self.tokens)}"
                " sentences: give the text that these were made from."
            )
        self.training = training
        self.batches = Batches.for_evaluation(self.tokens)
        self.subwords = subwords
        self.preprocessing = preprocessing
        metric = METRICS["lowercased_bleu" if preprocessing.lowercase else "bleu"]
        self.scorer = Scorer(metric, preprocessing.language)
        self.scorer.sacrebleu_metric()  # refuses now what would fail when BLEU is due
        self.greedy = Decoding(beam=1, max_extra=decoding.max_extra)

    def bleu(self, model: Model) -> float:
        """Return sacreBLEU of greedy translations, without case where the vocabulary has none."""
        return self.bleu_of(model, self.tokens.source.lists(), self.references)

    def training_bleu(self, model: Model) -> float:
        """Return the same of some training sentences; references are what their subwords say."""
        count = min(len(self.training), TRAINING_SENTENCES)
        indices = np.linspace(0, len(self.training) - 1, count, dtype=int)
        sources = [self.training.source[index].tolist() for index in indices]
        references = [self.text(self.training.target[index].tolist()) for index in indices]
        return self.bleu_of(model, sources, references)

    def bleu_of(self, model: Model, sources: list[list[int]], references: list[str]) -> float:
        """Return sacreBLEU of greedy translations of these sources."""
        hypotheses = in_order(translate_tokens(model, sources, self.greedy), len(sources))
        translations = [self.text(best.tokens) for (best,) in hypotheses]
        return self.scorer.score(translations, [references]).score

    def text(self, tokens: list[int]) -> str:
        """Return plain text of the target language."""
        return self.preprocessing.undo(self.subwords.target.decode(tokens))


def perplexity(nll: float) -> float:
    """Return exp(nll), infinite where no float is as large."""
    return math.inf if nll > math.log(sys.float_info.max) else math.exp(nll)


def has_diverged(nll: float, vocabulary_size: int) -> bool:
    """Return whether a model is worse than an untrained one, by its loss on the dev set, in nats.

    An untrained one guesses: its perplexity is about the vocabulary's size, and less than e times
    as high. A model whose loss is NaN has diverged too.
    """
    return not nll < math.log(vocabulary_size) + 1


@torch.no_grad()
def dev_nll(model: Model, dev: Batches, settings: Training, group: ProcessGroup) -> float:
    """Return the negative log-likelihood per subword (EOS counted) in nats, without smoothing.

    Its exponential is perplexity. The batches are divided among ranks.
    """
    model.eval()
    dtype = AUTOCAST[settings.precision]
    total = torch.zeros(2, dtype=torch.float64, device=group.device)
    for indices in dev.in_order()[group.rank :: group.world_size]:
        batch = dev.load(indices).to(group.device)
        with autocast(group.device, dtype):
            hidden = model(batch.source, batch.target)
            nll = cross_entropy(hidden.target, model.output, batch.target_out, 0.0, dtype)[1]
        tokens = torch.tensor(dev.target_lengths[indices].sum(), device=nll.device)
        total += torch.stack([nll.double(), tokens])
    nll, tokens = group.sum(total).tolist()
    return nll / tokens
