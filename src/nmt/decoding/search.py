"""Batched beam search with cached steps; all it knows of a model is the protocol."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.models.protocol import BOS, EOS, PAD, Model

# B sentences still open, R = B * beam rows, C continuations of a row, N best that are wanted, V vocabulary

# Rows whose logits are held at a time: each product with the output's matrix has to rearrange it first
ROWS = {"cpu": 512, "cuda": 4096}


@dataclass(frozen=True)
class Hypothesis:
    tokens: list[int]  # without BOS and EOS
    log_probability: float  # of tokens and EOS
    score: float  # log probability / length penalty


def length_penalty(length: int | Tensor, decoding: Decoding) -> float | Tensor:
    """What a log probability is divided by; `length` is |Y|, EOS counted. It never falls with the length.

    wu: ((5 + |Y|) / 6)^alpha (Wu et al. 2016, equation 14); power: |Y|^alpha; none: 1.
    """
    match decoding.penalty:
        case "wu":
            return ((5 + length) / 6) ** decoding.alpha
        case "power":
            return length**decoding.alpha
        case "none":
            return length**0.0


def hypothesis(tokens: list[int], log_probability: float, decoding: Decoding) -> Hypothesis:
    return Hypothesis(tokens, log_probability, log_probability / length_penalty(len(tokens) + 1, decoding))


@torch.inference_mode()
@cached()  # normalized weights are computed once, not at every step
def search(
    model: Model, source: Tensor, limits: list[int], decoding: Decoding, n_best: int = 1
) -> list[list[Hypothesis]]:
    """The `n_best` best translations found of each source, the best first; fewer where fewer were finished.

    source: (B, S). limits: the most tokens each translation may have, EOS not counted. n_best: at most the beam.
    A hypothesis is finished when EOS is among its sentence's best `beam` continuations. A sentence is left when
    no open hypothesis can still beat the last of its N best finished ones: log probabilities only fall, so an open one
    is worth at most its own over the largest penalty that its sentence's limit allows. With the stop "beam" it is left
    as soon as `beam` are finished, whatever the open ones might come to.
    A beam of 1 is greedy search: it ends with the first EOS.
    """
    device, beam = source.device, decoding.beam
    stop = "beam" if beam == 1 else decoding.stop
    state = model.start(model.encode(source), beam)
    sentences = torch.arange(len(source), device=device)  # which sentence each open place holds
    limit = torch.tensor(limits, device=device)
    largest_penalty = length_penalty(limit + 1, decoding)
    log_probabilities = torch.full((len(source), beam), -torch.inf, device=device)
    log_probabilities[:, 0] = 0.0  # all beams of a sentence begin alike: let one speak
    prefixes = torch.empty((len(source), beam, 0), dtype=torch.long, device=device)
    tokens = torch.full((len(source) * beam,), BOS, device=device)
    finished: list[list[Hypothesis]] = [[] for _ in limits]
    best = torch.full((len(source), n_best), -torch.inf, device=device)  # their scores, falling
    ends = torch.zeros(len(source), dtype=torch.long, device=device)  # how many were finished

    length = 0
    while len(sentences):
        hidden, state = model.step(tokens, state)
        steps, following = likeliest(model.output, hidden, 2 * beam, (limit == length).repeat_interleave(beam))
        length += 1
        # Twice the beam: even if EOS follows every beam, enough others are left.
        steps, following = (each.unflatten(0, (-1, beam)) for each in (steps, following))
        candidates, places = (log_probabilities[..., None] + steps).flatten(1).topk(2 * beam)
        origin, token = places // steps.size(-1), following.flatten(1).gather(1, places)

        ended = (token == EOS) & (candidates > -torch.inf)
        ended[:, beam:] = False
        scores = torch.where(ended, candidates / length_penalty(length, decoding), -torch.inf)
        place, which = torch.nonzero(scores > best[:, -1:]).unbind(1)
        of = sentences[place].tolist()
        found = (prefixes[place, origin[place, which]], candidates[place, which], scores[place, which])
        for sentence, *hypothesis in zip(of, *(part.tolist() for part in found), strict=True):
            finished[sentence].append(Hypothesis(*hypothesis))
        best = torch.cat([best, scores], 1).topk(n_best).values
        ends += ended.sum(1)

        log_probabilities, kept = candidates.masked_fill(token == EOS, -torch.inf).topk(beam)
        origin, tokens = origin.gather(1, kept), token.gather(1, kept)
        enough = best[:, -1] if stop == "exact" else torch.where(ends < beam, -torch.inf, torch.inf)
        going_on = log_probabilities[:, 0] / largest_penalty > enough
        places = torch.nonzero(going_on)[:, 0]
        rows = places[:, None] * beam + origin[places]  # (B', beam)
        prefixes = torch.cat([prefixes.flatten(0, 1)[rows], tokens[places][..., None]], dim=-1)
        tokens = tokens[places].flatten()
        sentences, limit, largest_penalty = sentences[places], limit[places], largest_penalty[places]
        log_probabilities, best, ends = log_probabilities[places], best[places], ends[places]
        if len(sentences):
            state.reorder(rows)
    return [sorted(each, key=lambda found: -found.score)[:n_best] for each in finished]


def likeliest(
    output: Callable[[Tensor], Tensor], hidden: Tensor, count: int, at_limit: Tensor
) -> tuple[Tensor, Tensor]:
    """Log probabilities of each row's likeliest next tokens, and these: (R, C) both. At the limit there is only EOS.

    hidden (R, D), at_limit (R,)
    """
    parts = []
    for (log_probabilities,) in in_parts(output, hidden):
        end = log_probabilities[:, EOS].clone()
        log_probabilities[:, [PAD, BOS]] = -torch.inf
        parts.append((*largest(log_probabilities, min(count, log_probabilities.size(1))), end))
    steps, tokens, end = (torch.cat(each) for each in zip(*parts, strict=True))
    only_end = torch.full_like(steps, -torch.inf)
    only_end[:, 0] = end
    steps = torch.where(at_limit[:, None], only_end, steps)
    return steps, tokens.masked_fill(at_limit[:, None], EOS)


def largest(x: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """x.topk(count) of long rows: written as a table, a row has its largest in the columns with the largest maxima.

    (R, V) -> values, falling, and places: (R, count) both
    """
    height = math.isqrt(x.size(1) // count)
    width = x.size(1) // height
    table = x[:, : height * width].unflatten(1, (height, width))
    columns = table.amax(1).topk(count).indices[:, None]  # (R, 1, count)
    inside = table.gather(2, columns.expand(-1, height, -1)).flatten(1)
    starts = torch.arange(0, height * width, width, device=x.device)[:, None]
    places = (columns + starts).flatten(1)
    rest = torch.arange(height * width, x.size(1), device=x.device).expand(len(x), -1)
    values, found = torch.cat([inside, x[:, height * width :]], 1).topk(count)
    return values, torch.cat([places, rest], 1).gather(1, found)


def in_parts(output: Callable[[Tensor], Tensor], hidden: Tensor, *others: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Log probabilities (., V) of some rows after the other, with the same rows of `others`; those of all are never
    held together."""
    size = ROWS[hidden.device.type]
    for part, *rest in zip(hidden.split(size), *(other.split(size) for other in others), strict=True):
        yield normalized(output(part)), *rest


def normalized(logits: Tensor) -> Tensor:
    """Log probabilities, in float32 where logits are in less."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32)).log_softmax(-1)
