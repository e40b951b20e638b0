"""Translations drawn at random from a model's distribution, or from its most probable part."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.data.sequences import Source
from nmt.decoding.search import Hypothesis, diverged, log_prob_chunks, make_hypothesis
from nmt.models.protocol import BOS, EOS, PAD, StepModel

# B sentences still open, N samples of each, R = B * N rows, D width of hidden states, V vocabulary


@dataclass(frozen=True)
class Sampling:
    """The settings of sampling.

    temperature: what logits are divided by.
    top_k: draw only among so many tokens, 0 for all.
    top_p: draw only among the fewest tokens that together have this probability (Holtzman et al.
      2020).
    seed: with a sentence's number, the only thing that its random numbers depend on, so that
      batching changes nothing.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def sample(
    model: StepModel,
    source: Source,
    numbers: list[int],
    limits: list[int],
    decoding: Decoding,
    sampling: Sampling,
    samples: int,
) -> list[list[Hypothesis]]:
    """Return `samples` translations of each source, the best score first.

    numbers: the sentences' numbers, which their random numbers depend on. limits: the most tokens
    each translation may have, EOS not counted. Log probabilities are the model's own, whatever part
    of the distribution the translations were drawn from.
    """
    device = source.device
    generators = [np.random.default_rng([sampling.seed, number]) for number in numbers]
    state = model.start(source)
    sentences = torch.arange(len(limits), device=device)  # (B,): the index of each open sentence
    state.reorder(sentences[:, None].expand(-1, samples))
    limit = torch.tensor(limits, device=device)
    tokens = torch.full((len(limits) * samples,), BOS, device=device)  # (R,)
    sampled = []  # for each position tokens (all sentences, N), EOS behind what has ended
    totals = torch.zeros(len(limits), samples, dtype=torch.float64, device=device)
    unfinished = torch.ones(len(limits), samples, dtype=torch.bool, device=device)  # (B, N)

    length = 0
    while len(sentences):
        hidden = model.step(tokens, state)
        uniform = [generators[sentence].random(samples) for sentence in sentences.tolist()]
        draws = torch.tensor(np.concatenate(uniform), device=device)
        at_limit = (limit == length).repeat_interleave(samples)
        tokens, log_probs = draw_tokens(model.output, hidden, draws, at_limit, sampling)
        length += 1

        tokens = tokens.view(-1, samples)
        totals[sentences] += log_probs.view(-1, samples).where(unfinished, 0.0)
        ended = torch.full((len(limits), samples), EOS, device=device)
        sampled.append(ended.index_copy(0, sentences, tokens))
        unfinished = unfinished & (tokens != EOS)

        still_open = torch.nonzero(unfinished.any(1))[:, 0]
        rows = still_open[:, None] * samples + torch.arange(samples, device=device)
        tokens = tokens[still_open].flatten()
        sentences = sentences[still_open]
        limit = limit[still_open]
        unfinished = unfinished[still_open]
        if len(sentences):
            state.reorder(rows)

    hypotheses = []
    sampled_tokens = torch.stack(sampled, -1).tolist()
    for sentence_tokens, log_probs in zip(sampled_tokens, totals.tolist(), strict=True):
        sentence_hypotheses = [
            make_hypothesis(until_end(row), log_prob, decoding)
            for row, log_prob in zip(sentence_tokens, log_probs, strict=True)
        ]
        hypotheses.append(sorted(sentence_hypotheses, key=lambda hypothesis: -hypothesis.score))
    return hypotheses


def until_end(tokens: list[int]) -> list[int]:
    """Return the tokens before the first EOS, or all of them when there is none."""
    return tokens[: tokens.index(EOS)] if EOS in tokens else tokens


def draw_tokens(
    output: Callable[[Tensor], Tensor],
    hidden: Tensor,
    draws: Tensor,
    at_limit: Tensor,
    sampling: Sampling,
) -> tuple[Tensor, Tensor]:
    """Return the next token of each row and its log probability: (R,) both.

    hidden: (R, D). draws: (R,), uniform in 0 .. 1; a draw selects the token within whose share of
    the distribution it falls, tokens being sorted by probability. at_limit: (R,), rows that may
    only end.
    """
    tokens = []
    token_log_probs = []
    chunks = log_prob_chunks(output, hidden, draws, at_limit)
    for log_probs, chunk_draws, only_end in chunks:
        allowed = log_probs.clone()
        allowed[:, [PAD, BOS]] = -torch.inf
        p = (allowed / sampling.temperature).softmax(1).double()
        if p.isnan().any():
            raise diverged()
        p, order = p.topk(min(sampling.top_k or p.size(1), p.size(1)))  # the most probable first
        p = p.where(p.cumsum(1) - p < sampling.top_p, 0.0)
        cumulative = p.cumsum(1)
        point = chunk_draws[:, None] * cumulative[:, -1:]
        rank = torch.searchsorted(cumulative, point, right=True)
        last_rank = (p > 0).sum(1, keepdim=True) - 1
        token = order.gather(1, rank.clamp(max=last_rank))[:, 0]
        token = token.masked_fill(only_end, EOS)
        tokens.append(token)
        token_log_probs.append(log_probs.gather(1, token[:, None])[:, 0].double())
    return torch.cat(tokens), torch.cat(token_log_probs)
