"""Batched beam search with cached steps; all it knows of a model is the protocol."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.models.protocol import BOS, EOS, PAD, StepModel

# B sentences still open, K beam, R = B * K rows, N best that are wanted, D width of hidden states,
# V vocabulary

# Rows whose logits are held at a time: each product with the output matrix has to rearrange it
# first
ROWS_PER_CHUNK = {"cpu": 512, "cuda": 4096}


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation of one sentence."""

    tokens: list[int]  # without BOS and EOS
    log_prob: float  # of tokens and EOS
    score: float  # log probability / length penalty


Length = TypeVar("Length", float, Tensor)


def length_penalty(length: Length, decoding: Decoding) -> Length:
    """Return the divisor of a log probability, which never falls with the length.

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
    model: StepModel, source: Tensor, limits: list[int], decoding: Decoding, n_best: int = 1
) -> list[list[Hypothesis]]:
    """Return the `n_best` best finished hypotheses of each source, or all if fewer, best first.

    source: (B, S). limits: the most tokens each translation may have, EOS not counted. n_best: at
    most the beam. A hypothesis is finished when EOS is among its sentence's best `beam`
    continuations. A sentence is closed when no open hypothesis can still beat the last of its N
    best finished ones: log probabilities only fall, so an open one is worth at most its own over
    the largest penalty that its sentence's limit allows. With the stop "beam" it is closed as soon
    as `beam` are finished, whatever the open ones might come to. A beam of 1 is greedy search: it
    ends with the first EOS.
    """
    beam = decoding.beam
    stop = "beam" if beam == 1 else decoding.stop
    state = model.start(model.encode(source), beam)
    sentences = OpenSentences.begin(limits, decoding, source.device)
    finished = Finished(len(limits), n_best, source.device)

    length = 0
    while len(sentences.number):
        hidden, state = model.step(sentences.prefixes[..., -1].flatten(), state)
        at_limit = (sentences.limit == length).repeat_interleave(beam)
        next_log_probs, next_tokens = top_next_tokens(model.output, hidden, 2 * beam, at_limit)
        length += 1
        continuations = sentences.continuations(next_log_probs, next_tokens)
        finished.add(sentences, continuations, length_penalty(length, decoding))

        kept = continuations.without_eos(beam)
        if stop == "exact":
            threshold = finished.best_scores[:, -1]
        else:
            threshold = torch.where(finished.count < beam, -torch.inf, torch.inf)
        best_possible = kept.log_probs[:, 0] / sentences.largest_penalty
        still_open = torch.nonzero(best_possible > threshold)[:, 0]
        rows = sentences.advance(kept, still_open)
        finished.keep_open(still_open)
        if len(still_open):
            state.reorder(rows)
    return [
        sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best]
        for hypotheses in finished.hypotheses
    ]


@dataclass(frozen=True)
class Continuations:
    """Continuations of each sentence's open hypotheses by one token, the best first.

    log_probs: (B, C). origin: (B, C), the beam that each continues. tokens: (B, C).
    """

    log_probs: Tensor
    origin: Tensor
    tokens: Tensor

    def without_eos(self, count: int) -> "Continuations":
        """Return the `count` best that do not end."""
        log_probs, kept = self.log_probs.masked_fill(self.tokens == EOS, -torch.inf).topk(count)
        return Continuations(log_probs, self.origin.gather(1, kept), self.tokens.gather(1, kept))


@dataclass
class OpenSentences:
    """The sentences still open, each with K open hypotheses.

    number: (B,), that of the sentence among all. limit: (B,), the most tokens of its translation.
    largest_penalty: (B,), that of a translation of so many. log_probs: (B, K), falling.
    prefixes: (B, K, 1 + length), tokens from BOS on.
    """

    number: Tensor
    limit: Tensor
    largest_penalty: Tensor
    log_probs: Tensor
    prefixes: Tensor

    @classmethod
    def begin(cls, limits: list[int], decoding: Decoding, device: torch.device) -> "OpenSentences":
        """Return all sentences, of whose beams only the first is continued: they begin alike."""
        limit = torch.tensor(limits, device=device)
        log_probs = torch.full((len(limits), decoding.beam), -torch.inf, device=device)
        log_probs[:, 0] = 0.0
        return cls(
            number=torch.arange(len(limits), device=device),
            limit=limit,
            largest_penalty=length_penalty(limit + 1, decoding),
            log_probs=log_probs,
            prefixes=torch.full((len(limits), decoding.beam, 1), BOS, device=device),
        )

    def continuations(self, next_log_probs: Tensor, next_tokens: Tensor) -> Continuations:
        """Return the best 2K: even if EOS follows every beam, K others are left.

        Next tokens and their log probabilities: (R, C).
        """
        beam = self.log_probs.size(1)
        next_log_probs = next_log_probs.unflatten(0, (-1, beam))  # (R, C) -> (B, K, C)
        totals = (self.log_probs[..., None] + next_log_probs).flatten(1)
        log_probs, index = totals.topk(2 * beam)
        tokens = next_tokens.view(totals.shape).gather(1, index)
        return Continuations(log_probs, index // next_log_probs.size(-1), tokens)

    def advance(self, kept: Continuations, still_open: Tensor) -> Tensor:
        """Continue the hypotheses of the sentences `still_open` (B',), and forget the others.

        kept: K of each sentence. Returns the rows (B', K) of the R that they continue.
        """
        rows = still_open[:, None] * self.log_probs.size(1) + kept.origin[still_open]
        tokens = kept.tokens[still_open][..., None]
        self.prefixes = torch.cat([self.prefixes.flatten(0, 1)[rows], tokens], dim=-1)
        self.number = self.number[still_open]
        self.limit = self.limit[still_open]
        self.largest_penalty = self.largest_penalty[still_open]
        self.log_probs = kept.log_probs[still_open]
        return rows


class Finished:
    """The finished hypotheses.

    hypotheses: of all sentences, by number. best_scores: (B, N), the best of the sentences still
    open, falling. count: (B,), how many these have.
    """

    def __init__(self, sentences: int, n_best: int, device: torch.device):
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in range(sentences)]
        self.best_scores = torch.full((sentences, n_best), -torch.inf, device=device)
        self.count = torch.zeros(sentences, dtype=torch.long, device=device)

    def add(self, sentences: OpenSentences, continuations: Continuations, penalty: float) -> None:
        """Add what ends among the best K continuations, unless N better ones are there."""
        log_probs = continuations.log_probs
        ended = (continuations.tokens == EOS) & (log_probs > -torch.inf)
        ended[:, sentences.log_probs.size(1) :] = False
        scores = torch.where(ended, log_probs / penalty, -torch.inf)
        row, column = torch.nonzero(scores > self.best_scores[:, -1:]).unbind(1)
        tokens = sentences.prefixes[row, continuations.origin[row, column], 1:]
        for number, *hypothesis in zip(
            sentences.number[row].tolist(),
            tokens.tolist(),
            log_probs[row, column].tolist(),
            scores[row, column].tolist(),
            strict=True,
        ):
            self.hypotheses[number].append(Hypothesis(*hypothesis))
        n_best = self.best_scores.size(1)
        self.best_scores = torch.cat([self.best_scores, scores], 1).topk(n_best).values
        self.count += ended.sum(1)

    def keep_open(self, still_open: Tensor) -> None:
        """Keep the scores and counts of the sentences `still_open` (B',)."""
        self.best_scores = self.best_scores[still_open]
        self.count = self.count[still_open]


def top_next_tokens(
    output: Callable[[Tensor], Tensor], hidden: Tensor, count: int, at_limit: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the log probabilities of each row's most probable next tokens, and these tokens.

    Both are (R, C), C <= count. hidden: (R, D). at_limit: (R,), rows that may only end.
    """
    chunks = []
    for (log_probs,) in log_prob_chunks(output, hidden):
        end = log_probs[:, EOS].clone()
        log_probs[:, [PAD, BOS]] = -torch.inf
        chunks.append((*top_k(log_probs, min(count, log_probs.size(1))), end))
    log_probs, tokens, end = (torch.cat(parts) for parts in zip(*chunks, strict=True))
    only_end = torch.full_like(log_probs, -torch.inf)
    only_end[:, 0] = end
    log_probs = torch.where(at_limit[:, None], only_end, log_probs)
    return log_probs, tokens.masked_fill(at_limit[:, None], EOS)


def top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return x.topk(k) of long rows, faster: (R, V) -> values, falling, and indices: (R, k) both.

    Written as a table, a row has its k largest values in the k columns with the largest maxima.
    """
    height = math.isqrt(x.size(1) // k)
    width = x.size(1) // height
    table = x[:, : height * width].unflatten(1, (height, width))
    columns = table.amax(1).topk(k).indices[:, None]  # (R, 1, k)
    values = table.gather(2, columns.expand(-1, height, -1)).flatten(1)
    starts = torch.arange(0, height * width, width, device=x.device)[:, None]
    indices = (columns + starts).flatten(1)
    # Columns that do not fill a row of the table
    left_over = torch.arange(height * width, x.size(1), device=x.device).expand(len(x), -1)
    values, chosen = torch.cat([values, x[:, height * width :]], 1).topk(k)
    return values, torch.cat([indices, left_over], 1).gather(1, chosen)


def log_prob_chunks(
    output: Callable[[Tensor], Tensor], hidden: Tensor, *row_tensors: Tensor
) -> Iterator[tuple[Tensor, ...]]:
    """Yield the log probabilities (., V) of a chunk of rows, with its rows of `row_tensors`.

    Those of all rows are never held together.
    """
    size = ROWS_PER_CHUNK[hidden.device.type]
    splits = [tensor.split(size) for tensor in (hidden, *row_tensors)]
    for hidden_chunk, *chunks in zip(*splits, strict=True):
        yield log_softmax(output(hidden_chunk)), *chunks


def log_softmax(logits: Tensor) -> Tensor:
    """Return log probabilities, in float32 where logits are in less."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
