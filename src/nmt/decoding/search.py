"""Batched beam search with cached steps; all it knows of a model is the protocol."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

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


def length_penalty(length: int | Tensor, decoding: Decoding) -> float | Tensor:
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
    device, beam = source.device, decoding.beam
    stop = "beam" if beam == 1 else decoding.stop
    state = model.start(model.encode(source), beam)
    sentences = torch.arange(len(source), device=device)  # (B,): the number of each open sentence
    limit = torch.tensor(limits, device=device)
    largest_penalty = length_penalty(limit + 1, decoding)
    log_probs = torch.full((len(source), beam), -torch.inf, device=device)  # (B, K) of open ones
    log_probs[:, 0] = 0.0  # all beams of a sentence begin alike: only the first is continued
    prefixes = torch.empty(
        (len(source), beam, 0), dtype=torch.long, device=device
    )  # (B, K, length)
    tokens = torch.full((len(source) * beam,), BOS, device=device)  # (R,)
    finished: list[list[Hypothesis]] = [[] for _ in limits]
    best_scores = torch.full((len(source), n_best), -torch.inf, device=device)  # (B, N), falling
    finished_count = torch.zeros(len(source), dtype=torch.long, device=device)  # (B,)

    length = 0
    while len(sentences):
        hidden, state = model.step(tokens, state)
        at_limit = (limit == length).repeat_interleave(beam)
        next_log_probs, next_tokens = top_next_tokens(model.output, hidden, 2 * beam, at_limit)
        length += 1
        # (R, C) -> (B, K, C) -> the best 2K of a sentence: even if EOS follows every beam, K others
        # are left.
        next_log_probs, next_tokens = (
            x.unflatten(0, (-1, beam)) for x in (next_log_probs, next_tokens)
        )
        candidates, index = (log_probs[..., None] + next_log_probs).flatten(1).topk(2 * beam)
        origin = index // next_log_probs.size(-1)  # (B, 2K): the beam that each candidate continues
        token = next_tokens.flatten(1).gather(1, index)

        ended = (token == EOS) & (candidates > -torch.inf)
        ended[:, beam:] = False
        scores = torch.where(ended, candidates / length_penalty(length, decoding), -torch.inf)
        row, column = torch.nonzero(scores > best_scores[:, -1:]).unbind(1)
        for sentence, *hypothesis in zip(
            sentences[row].tolist(),
            prefixes[row, origin[row, column]].tolist(),
            candidates[row, column].tolist(),
            scores[row, column].tolist(),
            strict=True,
        ):
            finished[sentence].append(Hypothesis(*hypothesis))
        best_scores = torch.cat([best_scores, scores], 1).topk(n_best).values
        finished_count += ended.sum(1)

        log_probs, kept = candidates.masked_fill(token == EOS, -torch.inf).topk(beam)
        origin, tokens = origin.gather(1, kept), token.gather(1, kept)
        if stop == "exact":
            threshold = best_scores[:, -1]
        else:
            threshold = torch.where(finished_count < beam, -torch.inf, torch.inf)
        still_open = torch.nonzero(log_probs[:, 0] / largest_penalty > threshold)[:, 0]
        rows = still_open[:, None] * beam + origin[still_open]  # (B', K)
        prefixes = torch.cat([prefixes.flatten(0, 1)[rows], tokens[still_open][..., None]], dim=-1)
        tokens = tokens[still_open].flatten()
        sentences = sentences[still_open]
        limit = limit[still_open]
        largest_penalty = largest_penalty[still_open]
        log_probs = log_probs[still_open]
        best_scores = best_scores[still_open]
        finished_count = finished_count[still_open]
        if len(sentences):
            state.reorder(rows)
    return [
        sorted(hypotheses, key=lambda hypothesis: -hypothesis.score)[:n_best]
        for hypotheses in finished
    ]


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
