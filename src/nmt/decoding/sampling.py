"""Translations drawn at random from a model's distribution, cut to its top_k_tokens part where
wanted.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.decoding.search import Hypothesis, log_prob_chunks, make_hypothesis
from nmt.models.protocol import BOS, EOS, PAD, Model

# B sentences still open, N samples of each, R = B * N rows, V vocabulary


@dataclass(frozen=True)
class Sampling:
    """temperature: what logits are divided by. top_k: only among so many tokens, 0 for all. top_p:
    only among the
    fewest tokens that together have this probability (Holtzman et al. 2020).

    The random numbers of a sentence depend on the seed and its number alone, so batches change
    nothing.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def sample(
    model: Model,
    source: Tensor,
    numbers: list[int],
    limits: list[int],
    decoding: Decoding,
    sampling: Sampling,
    samples: int,
) -> list[list[Hypothesis]]:
    """`samples` translations of each source (B, S), the top_k_tokens first; `limits` as in search.

    Their log probabilities are the model's own, whatever the distribution was cut to.
    """
    device = source.device
    randoms = [np.random.default_rng([sampling.seed, number]) for number in numbers]
    state = model.start(model.encode(source), samples)
    sentences = torch.arange(len(source), device=device)
    limit = torch.tensor(limits, device=device)
    tokens = torch.full((len(source) * samples,), BOS, device=device)
    said = []  # (B, N) for each position, EOS where nothing is said any more
    total = torch.zeros(len(source), samples, dtype=torch.float64, device=device)
    open_rows = torch.ones(len(source), samples, dtype=torch.bool, device=device)

    length = 0
    while len(sentences):
        hidden, state = model.step(tokens, state)
        draws = [randoms[sentence].random(samples) for sentence in sentences.tolist()]
        draws = torch.tensor(np.concatenate(draws), device=device)
        tokens, steps = drawn(
            model, hidden, draws, (limit == length).repeat_interleave(samples), sampling
        )
        length += 1
        tokens, steps = tokens.view(-1, samples), steps.view(-1, samples)
        total[sentences] += steps.where(open_rows, 0.0)
        said.append(
            torch.full((len(source), samples), EOS, device=device).index_copy(0, sentences, tokens)
        )
        open_rows = open_rows & (tokens != EOS)
        places = torch.nonzero(open_rows.any(1))[:, 0]
        rows = places[:, None] * samples + torch.arange(samples, device=device)
        tokens = tokens[places].flatten()
        sentences, limit, open_rows = sentences[places], limit[places], open_rows[places]
        if len(sentences):
            state.reorder(rows)
    found = []
    for sentence, values in zip(torch.stack(said, -1).tolist(), total.tolist(), strict=True):
        words = [[*row, EOS][: [*row, EOS].index(EOS)] for row in sentence]
        each = [make_hypothesis(*pair, decoding) for pair in zip(words, values, strict=True)]
        found.append(sorted(each, key=lambda one: -one.score))
    return found


def drawn(
    model: Model, hidden: Tensor, draws: Tensor, at_limit: Tensor, sampling: Sampling
) -> tuple[Tensor, Tensor]:
    """Tokens (R,) and their log probabilities (R,): the place where a uniform draw falls among
    them, sorted.
    """
    parts = []
    for log_probs, draw, ending in log_prob_chunks(model.output, hidden, draws, at_limit):
        allowed = log_probs.clone()
        allowed[:, [PAD, BOS]] = -torch.inf
        p = (allowed / sampling.temperature).softmax(1).double()
        p, order = p.topk(min(sampling.top_k or p.size(1), p.size(1)))  # the most probable first
        p = p.where(p.cumsum(1) - p < sampling.top_p, 0.0)
        reached = p.cumsum(1)
        place = torch.searchsorted(reached, draw[:, None] * reached[:, -1:], right=True)
        token = order.gather(1, place.clamp(max=(p > 0).sum(1, keepdim=True) - 1))[:, 0]
        token = token.masked_fill(ending, EOS)
        parts.append((token, log_probs.gather(1, token[:, None])[:, 0].double()))
    tokens, steps = zip(*parts, strict=True)
    return torch.cat(tokens), torch.cat(steps)
