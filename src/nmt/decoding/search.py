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
from nmt.models.protocol import BOS, EOS, PAD, State, StepModel

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
    power, |Y|^alpha.
    """
    base = (5 + length) / 6 if decoding.penalty == "wu" else length
    return base**decoding.alpha


def make_hypothesis(tokens: list[int], log_prob: float, decoding: Decoding) -> Hypothesis:
    """Return the hypothesis of these tokens, scored."""
    return Hypothesis(tokens, log_prob, log_prob / length_penalty(len(tokens) + 1, decoding))


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def search(
    model: StepModel,
    source: Source,
    limits: list[int],
    decoding: Decoding,
    n_best: int = 1,
    steps: list[tuple[Tensor, Tensor, Tensor]] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` best finished hypotheses of each source, or all if fewer, best first.

    limits: the most tokens each translation may have, EOS not counted. n_best: at most the beam.
    steps: a list to which the best continuations of each step are appended.

    Each step continues all open hypotheses by one token. Of the best `beam` continuations of a
    sentence, those that end with EOS are finished; the best `beam` others stay open. A sentence is
    closed when none of them can come among its `n_best` any more, so that no better one is missed.
    A beam of 1 is greedy search, which ends with the first EOS. Raises UserError where log
    probabilities are NaN.
    """
    beam, device = decoding.beam, source.device
    state = model.start(source)
    finished: list[list[Hypothesis]] = [[] for _ in limits]
    # Of each open sentence: its number, its limit, the length penalty there
    limit = copy_to(torch.tensor(limits), device)
    of_sentences = (
        torch.arange(len(limits), device=device),
        limit,
        length_penalty(limit + 1, decoding),
    )
    # Of each row: the tokens from BOS on
    hypotheses = State(len(limits), of_sentences, torch.full((len(limits), 1), BOS, device=device))
    log_probs = torch.zeros(len(limits), 1, device=device)  # (B, K), falling
    best_scores = torch.full((len(limits), n_best), -torch.inf, device=device)  # (B, N), falling

    while hypotheses.sentences:
        numbers, limit, largest_penalty = hypotheses.shared
        hidden = model.step(hypotheses.own[:, -1], state)
        at_limit = (limit == hypotheses.length).repeat_interleave(hypotheses.beam)
        next_tokens = top_next_tokens(model.output, hidden, 2 * beam, at_limit)
        # Of twice the beam at most one for each hypothesis ends: as many as the beam are left.
        log_probs, rows, tokens = best_continuations(log_probs, *next_tokens, 2 * beam)
        hypotheses.length += 1
        if steps is not None:
            steps.append((log_probs, rows, tokens))

        ended = tokens == EOS
        scores = log_probs / length_penalty(hypotheses.length, decoding)
        scores = scores.where(ended, -torch.inf)
        scores[:, beam:] = -torch.inf
        better = torch.nonzero(scores > best_scores[:, -1:]).unbind(1)
        written = hypotheses.own[rows[better], 1:]
        columns = (numbers[better[0]], written, log_probs[better], scores[better])
        for number, *hypothesis in zip(*(column.tolist() for column in columns), strict=True):
            finished[number].append(Hypothesis(*hypothesis))
        best_scores = torch.cat([best_scores, scores], 1).topk(n_best).values

        log_probs, kept = log_probs.masked_fill(ended, -torch.inf).topk(min(beam, ended.size(1)))
        # Log probabilities only fall, so an open hypothesis scores at most its present one over the
        # largest penalty that its sentence's limit allows.
        to_beat = best_scores[:, -1]
        if beam == 1:
            to_beat = torch.where(to_beat > -torch.inf, torch.inf, to_beat)
        still_open = torch.nonzero(log_probs[:, 0] / largest_penalty > to_beat)[:, 0]
        rows, tokens = (parts.gather(1, kept)[still_open] for parts in (rows, tokens))
        log_probs, best_scores = log_probs[still_open], best_scores[still_open]
        hypotheses.reorder(rows)
        hypotheses.own = torch.cat([hypotheses.own, tokens.view(-1, 1)], 1)
        if hypotheses.sentences:
            state.reorder(rows)
    if not all(finished):
        raise diverged()
    return [sorted(of_one, key=lambda best: -best.score)[:n_best] for of_one in finished]


def best_continuations(
    log_probs: Tensor, next_log_probs: Tensor, next_tokens: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the `count` best continuations of each sentence, or all if fewer, the best first.

    log_probs: (B, K), of the open hypotheses. next_log_probs, next_tokens: (R, M). Returned are log
    probabilities, the rows that are continued, and by which tokens: (B, 2K) or (B, K * M) each.
    """
    totals = (log_probs.view(-1, 1) + next_log_probs).view(len(log_probs), -1)  # (B, K * M)
    log_probs, index = totals.topk(min(count, totals.size(1)))
    index = index + torch.arange(0, totals.numel(), totals.size(1), device=index.device)[:, None]
    return log_probs, index // next_tokens.size(1), next_tokens.flatten()[index]


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
    return logits.log_softmax(-1, dtype=torch.promote_types(logits.dtype, torch.float32))
