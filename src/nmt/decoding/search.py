"""Batched beam search with cached steps, for any model of nmt.models.protocol."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten

from nmt.configuration import Decoding
from nmt.data.sequences import Source, copy_to
from nmt.device import captured, rows_per_chunk
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS, PAD, State, StepModel

# B sentences still open (active), K beam, R = B * K rows (one for each open hypothesis), N n_best,
# D width of hidden states, V vocabulary, M continuations of each sentence (2K, or K once those with
# EOS are taken out). Before the first step a sentence has one hypothesis, BOS: then K is 1.

# How often a step is repeated before closed sentences leave
REPEATS = {"cpu": 0, "cuda": 31}
# Repeated steps after which the device is waited for, to see whether any sentence is still open
STEPS_BETWEEN_LOOKS = 4
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


class Beams(NamedTuple):
    """The sentences of a batch that are open, and their open hypotheses, the best first.

    numbers, limits, lengths: (B,), which sentences, the most tokens they may have, and how many
    they have. log_probs, rows, tokens: (B, K), of each hypothesis its log probability, the row that
    it continues, and by which token. best_scores: (B, N), of finished ones, falling.

    The log probabilities of a sentence that has been closed by now are minus infinity.
    """

    numbers: Tensor
    limits: Tensor
    lengths: Tensor
    log_probs: Tensor
    rows: Tensor
    tokens: Tensor
    best_scores: Tensor

    @classmethod
    def of(cls, limits: list[int], n_best: int, device: torch.device) -> "Beams":
        """Return those before the first step: of each sentence one hypothesis, BOS."""
        numbers = torch.arange(len(limits), device=device)
        log_probs = torch.zeros(len(limits), 1, device=device)
        return cls(
            numbers,
            copy_to(torch.tensor(limits), device),
            torch.zeros_like(numbers),
            log_probs,
            numbers[:, None],
            torch.full_like(numbers, BOS)[:, None],
            torch.full_like(log_probs, -torch.inf).repeat(1, n_best),
        )


class Step(NamedTuple):
    """The best continuations of each sentence.

    numbers, open_rows, open_tokens: of the Beams that are continued. log_probs, rows, tokens:
    (B, 2K), as `best_continuations` has them. finished: (B, 2K), whether they end and are among the
    best so far.
    """

    numbers: Tensor
    open_rows: Tensor
    open_tokens: Tensor
    log_probs: Tensor
    rows: Tensor
    tokens: Tensor
    finished: Tensor


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def search(
    model: StepModel,
    source: Source,
    limits: list[int],
    decoding: Decoding,
    n_best: int = 1,
    steps: list[Step] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` best finished hypotheses of each source, or all if fewer, best first.

    limits: the most tokens each translation may have, EOS not counted. n_best: at most the beam.
    steps: a list to which the steps are appended.

    Each step continues all open hypotheses by one token. Of the best `beam` continuations of a
    sentence, those that end with EOS are finished; the best `beam` others stay open. A sentence is
    closed when none of them can come among its `n_best` any more, so that no better one is missed.
    A beam of 1 is greedy search, which ends with the first EOS. Raises UserError where log
    probabilities are NaN.
    """
    steps = [] if steps is None else steps
    state = model.start(source)
    beams = Beams.of(limits, n_best, source.device)
    while len(beams.numbers):
        # A GPU repeats a step of one shape by itself; closed sentences leave after that.
        repeats = 0
        if beams.rows.size(1) == decoding.beam and model.repeatable:
            repeats = min(REPEATS[source.device.type], max(limits) - len(steps))
        beams, step = take_step(model, state, beams, decoding, 1 + repeats)
        steps.append(step)
        if repeats:
            repeat: Callable[[], Step] = partial(step_in_place, model, state, beams, decoding)
            if source.device.type == "cuda":
                repeat = captured(repeat)
            for number in range(1, repeats + 1):
                look = number % STEPS_BETWEEN_LOOKS == 0
                if look and not (beams.log_probs > -torch.inf).any():
                    break
                steps.append(tree_map(torch.clone, repeat()))
        still_open = torch.nonzero(beams.log_probs[:, 0] > -torch.inf)[:, 0]
        if len(still_open) < len(beams.numbers):
            beams = Beams(*(part[still_open] for part in beams))
    finished = read_back(steps, len(limits), decoding)
    if not all(finished):
        raise diverged()
    return [sorted(of_one, key=lambda best: -best.score)[:n_best] for of_one in finished]


def take_step(
    model: StepModel, state: State, beams: Beams, decoding: Decoding, steps: int = 0
) -> tuple[Beams, Step]:
    """Continue all open hypotheses by one token. The device is asked for no value.

    steps: how many will be taken, this one counted, before the next call that says so.
    """
    beam, limits, lengths = decoding.beam, beams.limits, beams.lengths + 1
    state.reorder(beams.rows, steps)
    hidden = model.step(beams.tokens.flatten(), state)
    at_limit = (limits == beams.lengths).repeat_interleave(beams.rows.size(1))
    next_tokens = top_next_tokens(model.output, hidden, 2 * beam, at_limit)
    # Of twice the beam at most one for each hypothesis ends: as many as the beam are left.
    best = best_continuations(beams.log_probs, *next_tokens, 2 * beam)
    log_probs, rows, tokens = best
    dtype = log_probs.dtype

    ended = tokens == EOS
    scores = log_probs / length_penalty(lengths[:, None].to(dtype), decoding)
    scores = scores.where(ended, -torch.inf)
    scores[:, beam:] = -torch.inf
    is_among_best = scores > beams.best_scores[:, -1:]
    step = Step(beams.numbers, beams.rows, beams.tokens, *best, finished=is_among_best)
    best_scores = torch.cat([beams.best_scores, scores], 1).topk(beams.best_scores.size(1)).values

    log_probs, kept = log_probs.masked_fill(ended, -torch.inf).topk(min(beam, ended.size(1)))
    rows, tokens = rows.gather(1, kept), tokens.gather(1, kept)
    # Log probabilities only fall, so an open hypothesis scores at most its present one over the
    # largest penalty that its sentence's limit allows.
    to_beat = best_scores[:, -1]
    if beam == 1:
        to_beat = torch.where(to_beat > -torch.inf, torch.inf, to_beat)
    is_open = log_probs[:, 0] / length_penalty((limits + 1).to(dtype), decoding) > to_beat
    log_probs = log_probs.where(is_open[:, None], -torch.inf)
    return Beams(beams.numbers, limits, lengths, log_probs, rows, tokens, best_scores), step


def step_in_place(model: StepModel, state: State, beams: Beams, decoding: Decoding) -> Step:
    """Take a step, and overwrite the tensors of beams and state with those after it."""
    parts, structure = tree_flatten((beams, state.own, state.length))
    after, step = take_step(model, state, beams, decoding)
    step = tree_map(torch.clone, step)
    torch._foreach_copy_(parts, tree_leaves((after, state.own, state.length)))
    _, state.own, state.length = tree_unflatten(parts, structure)
    return step


def read_back(steps: list[Step], sentences: int, decoding: Decoding) -> list[list[Hypothesis]]:
    """Return the finished hypotheses of each sentence."""
    finished: list[list[Hypothesis]] = [[] for _ in range(sentences)]
    written = torch.empty(sentences, 0, dtype=torch.long)  # the tokens of each row, from BOS on
    for step in steps:
        numbers, open_rows, open_tokens, log_probs, rows, _, ended = tree_map(Tensor.cpu, step)
        written = torch.cat([written[open_rows.flatten()], open_tokens.view(-1, 1)], 1)
        numbers = numbers[ended.nonzero()[:, 0]].tolist()
        columns = written[rows[ended], 1:].tolist(), log_probs[ended].tolist()
        for number, tokens, log_prob in zip(numbers, *columns, strict=True):
            finished[number].append(make_hypothesis(tokens, log_prob, decoding))
    return finished


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
