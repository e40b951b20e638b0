"""Batched beam search with cached steps; all it knows of a model is the protocol."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.models.protocol import BOS, EOS, PAD, Model

# B sentences still open, R = B * beam rows, V vocabulary


@dataclass(frozen=True)
class Hypothesis:
    tokens: list[int]  # without BOS and EOS
    log_probability: float  # of tokens and EOS
    score: float  # log probability / length penalty


def length_penalty(length: int | Tensor, alpha: float) -> float | Tensor:
    """((5 + |Y|) / 6)^alpha with EOS counted in |Y| (Wu et al. 2016, equation 14)."""
    return ((5 + length) / 6) ** alpha


@torch.inference_mode()
def search(model: Model, source: Tensor, limits: list[int], beam: int, alpha: float) -> list[Hypothesis]:
    """The best translation found of each source.

    source: (B, S). limits: the most tokens each translation may have, EOS not counted.
    A hypothesis is finished when EOS is among its sentence's best `beam` continuations. A sentence is left when
    no open hypothesis can still beat its best finished one: log probabilities only fall, so an open one is worth
    at most its own over the largest penalty that its sentence's limit allows.
    A beam of 1 is greedy search: it ends with the first EOS, so no penalty compares lengths.
    """
    device, alpha = source.device, alpha if beam > 1 else 0.0
    state = model.start(model.encode(source), beam)
    sentences = torch.arange(len(source), device=device)  # which sentence each open place holds
    limit = torch.tensor(limits, device=device)
    largest_penalty = length_penalty(limit + 1, alpha)
    log_probabilities = torch.full((len(source), beam), -torch.inf, device=device)
    log_probabilities[:, 0] = 0.0  # all beams of a sentence begin alike: let one speak
    prefixes = torch.empty((len(source), beam, 0), dtype=torch.long, device=device)
    tokens = torch.full((len(source) * beam,), BOS, device=device)
    best = [Hypothesis([], -torch.inf, -torch.inf)] * len(source)
    best_score = torch.full((len(source),), -torch.inf, device=device)

    length = 0
    while len(sentences):
        step, state = model.step(tokens, state)
        step = step.view(len(sentences), beam, -1)
        step[..., [PAD, BOS]] = -torch.inf
        at_limit = limit == length
        if at_limit.any():
            end = step[..., EOS].clone()
            step[at_limit] = -torch.inf
            step[..., EOS] = end
        length += 1
        # Twice the beam: even if EOS follows every beam, enough others are left.
        candidates, places = (log_probabilities[..., None] + step).flatten(1).topk(2 * beam)
        origin, token = places // step.size(-1), places % step.size(-1)

        ended = (token == EOS) & (candidates > -torch.inf)
        ended[:, beam:] = False
        scores = torch.where(ended, candidates / length_penalty(length, alpha), -torch.inf)
        top, which = scores.max(1)
        for place in torch.nonzero(top > best_score)[:, 0].tolist():
            prefix = prefixes[place, origin[place, which[place]]].tolist()
            log_probability = candidates[place, which[place]].item()
            best[sentences[place]] = Hypothesis(prefix, log_probability, top[place].item())
        best_score = torch.maximum(best_score, top)

        open_candidates = candidates.masked_fill(token == EOS, -torch.inf)
        log_probabilities, kept = open_candidates.topk(beam)
        origin, tokens = origin.gather(1, kept), token.gather(1, kept)
        going_on = log_probabilities[:, 0] / largest_penalty > best_score
        places = torch.nonzero(going_on)[:, 0]
        rows = places[:, None] * beam + origin[places]  # (B', beam)
        prefixes = torch.cat([prefixes.flatten(0, 1)[rows], tokens[places][..., None]], dim=-1)
        tokens = tokens[places].flatten()
        sentences, limit, largest_penalty = sentences[places], limit[places], largest_penalty[places]
        log_probabilities, best_score = log_probabilities[places], best_score[places]
        if len(sentences):
            state.reorder(rows)
    return best
