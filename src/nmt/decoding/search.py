"""Batched beam search with cached steps, for any model of nmt.models.protocol."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.data.sequences import Source, copy_to
from nmt.device import rows_per_chunk
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS, PAD, StepModel

# B sentences still open (active), K beam, R = B * K rows (one for each open hypothesis), N n_best,
# D width of hidden states, V vocabulary, M continuations of each sentence (2K, or K once those with
# EOS are taken out). Before the first step a sentence has one hypothesis, BOS: then K is 1.

MAX_ROW_BYTES = 4 * 2**16  # float32 log probabilities of 65,536 words


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation of one sentence."""

    tokens: list[int]  # without BOS and EOS
    log_prob: float  # of tokens and EOS
    score: float  # log probability / length penalty


Length = TypeVar("Length", float, Tensor)


def length_penalty(length: Length, decoding: Decoding) -> Length:
    """Return what a log probability is divided by; it never falls with the length.

    length: |Y|, EOS counted. Penalties: wu, ((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14);
    power, |Y|^alpha; none, 1.
    """
    match decoding.penalty:
        case "wu":
            return ((5 + length) / 6) ** decoding.alpha
        case "power":
            return length**decoding.alpha
        case "none":
            return length**0.0


def make_hypothesis(tokens: list[int], log_prob: float, decoding: Decoding) -> Hypothesis:
    """Return the hypothesis of these tokens, scored."""
    return Hypothesis(tokens, log_prob, log_prob / length_penalty(len(tokens) + 1, decoding))


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def search(
    model: StepModel, source: Source, limits: list[int], decoding: Decoding, n_best: int = 1
) -> list[list[Hypothesis]]:
    """Return the `n_best` best finished hypotheses of each source, or all if fewer, best first.

    limits: the most tokens each translation may have, EOS not counted. n_best: at
    most the beam.

    Each step continues all open hypotheses by one token. Of the best `beam` continuations of a
    sentence, those that end with EOS are finished; the best `beam` others stay open. A sentence is
    closed when none of them can come among its `n_best` any more, so that no better one is missed.
    A beam of 1 is greedy search, which ends with the first EOS. Raises UserError where log
    probabilities are NaN.
    """
    beam = decoding.beam
    state = model.start(source)
    sentences = OpenSentences.begin(limits, decoding, source.device)
    finished = Finished(len(limits), n_best, source.device)

    length = 0
    while len(sentences.sentence_ids):
        hidden = model.step(sentences.prefixes[..., -1].flatten(), state)
        at_limit = (sentences.limit == length).repeat_interleave(sentences.log_probs.size(1))
        next_log_probs, next_tokens = top_next_tokens(model.output, hidden, 2 * beam, at_limit)
        length += 1
        continuations = sentences.continuations(next_log_probs, next_tokens, 2 * beam)
        finished.add(sentences, continuations, beam, length_penalty(length, decoding))

        kept = continuations.without_eos(beam)
        # Log probabilities only fall, so an open hypothesis scores at most its present one over the
        # largest penalty that its sentence's limit allows.
        best_possible = kept.log_probs[:, 0] / sentences.largest_penalty
        to_beat = finished.best_scores[:, -1]
        if beam == 1:
            to_beat = torch.where(to_beat > -torch.inf, torch.inf, to_beat)
        still_open = torch.nonzero(best_possible > to_beat)[:, 0]
        rows = sentences.advance(kept, still_open)
        finished.best_scores = finished.best_scores[still_open]
        if len(still_open):
            state.reorder(rows)
    if not all(finished.hypotheses):
        raise diverged()
    return [
        sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best]
        for hypotheses in finished.hypotheses
    ]


@dataclass(frozen=True)
class Continuations:
    """Each sentence's open hypotheses continued by one token, the best first.

    log_probs: (B, M), of the whole continuation. beam_index: (B, M), which of the sentence's K
    hypotheses is continued. tokens: (B, M), by which token.
    """

    log_probs: Tensor
    beam_index: Tensor
    tokens: Tensor

    def without_eos(self, count: int) -> "Continuations":
        """Return the `count` best that do not end with EOS, or all if fewer."""
        open_ = self.log_probs.masked_fill(self.tokens == EOS, -torch.inf)
        log_probs, kept = open_.topk(min(count, open_.size(1)))
        beam_index = self.beam_index.gather(1, kept)
        return Continuations(log_probs, beam_index, self.tokens.gather(1, kept))


@dataclass
class OpenSentences:
    """The sentences still open, each with K open hypotheses.

    sentence_ids: (B,), indices among all sentences of the search. limit: (B,), the most tokens of
    the translation. largest_penalty: (B,), the length penalty of a translation with so many.
    log_probs: (B, K), falling. prefixes: (B, K, 1 + length), tokens from BOS on.
    """

    sentence_ids: Tensor
    limit: Tensor
    largest_penalty: Tensor
    log_probs: Tensor
    prefixes: Tensor

    @classmethod
    def begin(cls, limits: list[int], decoding: Decoding, device: torch.device) -> "OpenSentences":
        """Return all sentences, with one hypothesis each, which consists of BOS."""
        limit = copy_to(torch.tensor(limits), device)
        return cls(
            sentence_ids=torch.arange(len(limits), device=device),
            limit=limit,
            largest_penalty=length_penalty(limit + 1, decoding),
            log_probs=torch.zeros(len(limits), 1, device=device),
            prefixes=torch.full((len(limits), 1, 1), BOS, device=device),
        )

    def continuations(
        self, next_log_probs: Tensor, next_tokens: Tensor, count: int
    ) -> Continuations:
        """Return the `count` best continuations of each sentence, or all if fewer.

        Of twice the beam at most one for each hypothesis ends, so that as many as the beam are
        left. next_log_probs, next_tokens: (R, M).
        """
        next_log_probs = next_log_probs.unflatten(0, self.log_probs.shape)  # (B, K, M)
        totals = (self.log_probs[..., None] + next_log_probs).flatten(1)
        log_probs, index = totals.topk(min(count, totals.size(1)))
        tokens = next_tokens.view(totals.shape).gather(1, index)
        return Continuations(log_probs, index // next_tokens.size(1), tokens)

    def advance(self, kept: Continuations, still_open: Tensor) -> Tensor:
        """Continue the hypotheses of some sentences, and forget the other sentences.

        kept: the K continuations of each sentence that stay open. still_open: (B',), the indices of
        the sentences. Returns which rows (B', K) of the R are continued.
        """
        rows = still_open[:, None] * self.log_probs.size(1) + kept.beam_index[still_open]
        tokens = kept.tokens[still_open][..., None]
        self.prefixes = torch.cat([self.prefixes.flatten(0, 1)[rows], tokens], dim=-1)
        self.sentence_ids = self.sentence_ids[still_open]
        self.limit = self.limit[still_open]
        self.largest_penalty = self.largest_penalty[still_open]
        self.log_probs = kept.log_probs[still_open]
        return rows


class Finished:
    """The finished hypotheses.

    hypotheses: those of each sentence of the search, by sentence id. best_scores: (B, N), the best
    scores of each sentence still open, falling.
    """

    def __init__(self, sentences: int, n_best: int, device: torch.device):
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.best_scores = torch.full((sentences, n_best), -torch.inf, device=device)

    def add(
        self, sentences: OpenSentences, continuations: Continuations, beam: int, penalty: float
    ) -> None:
        """Add those of the best `beam` continuations that end, where they are among N.

        penalty: the length penalty of the continuations.
        """
        log_probs = continuations.log_probs
        ended = (continuations.tokens == EOS) & (log_probs > -torch.inf)
        ended[:, beam:] = False
        scores = torch.where(ended, log_probs / penalty, -torch.inf)
        row, column = torch.nonzero(scores > self.best_scores[:, -1:]).unbind(1)
        prefixes = sentences.prefixes[row, continuations.beam_index[row, column], 1:]
        for sentence_id, tokens, log_prob, score in zip(
            sentences.sentence_ids[row].tolist(),
            prefixes.tolist(),
            log_probs[row, column].tolist(),
            scores[row, column].tolist(),
            strict=True,
        ):
            self.hypotheses[sentence_id].append(Hypothesis(tokens, log_prob, score))
        n_best = self.best_scores.size(1)
        self.best_scores = torch.cat([self.best_scores, scores], 1).topk(n_best).values


def top_next_tokens(
    output: Callable[[Tensor], Tensor], hidden: Tensor, count: int, at_limit: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log probabilities of each row's most probable next tokens, and these tokens.

    hidden: (R, D). at_limit: (R,), true at rows that may only end. Both results are (R, M), with M
    at most `count` and the size of the vocabulary.
    """
    chunks = []
    for (log_probs,) in log_prob_chunks(output, hidden):
        end = log_probs[:, EOS].clone()
        log_probs[:, PAD] = -torch.inf
        log_probs[:, BOS] = -torch.inf
        chunks.append((*log_probs.topk(min(count, log_probs.size(1))), end))
    log_probs, tokens, end = (torch.cat(parts) for parts in zip(*chunks, strict=True))
    only_end = torch.full_like(log_probs, -torch.inf)
    only_end[:, 0] = end
    log_probs = torch.where(at_limit[:, None], only_end, log_probs)
    return log_probs, tokens.masked_fill(at_limit[:, None], EOS)


def log_prob_chunks(
    output: Callable[[Tensor], Tensor], hidden: Tensor, *row_tensors: Tensor
) -> Iterator[tuple[Tensor, ...]]:
    """Yield log probabilities by chunks of n rows: (n, V).

    Those of all rows are never held at once. hidden: (R, D). row_tensors: tensors with R rows; each
    chunk comes with its n rows of them.
    """
    size = rows_per_chunk(hidden.device, MAX_ROW_BYTES)
    splits = [tensor.split(size) for tensor in (hidden, *row_tensors)]
    for hidden_chunk, *chunks in zip(*splits, strict=True):
        yield log_softmax(output(hidden_chunk)), *chunks


def diverged() -> UserError:
    """Return the error of log probabilities that are NaN."""
    return UserError(
        "the model gives log probabilities that are NaN: its training has diverged, or its files"
        " are damaged."
    )


def log_softmax(logits: Tensor) -> Tensor:
    """Return log probabilities, in float32 where the logits have a lower precision."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
