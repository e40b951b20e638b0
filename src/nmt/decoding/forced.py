"""Forced decoding: the scores that a model gives to translations from elsewhere."""

import math

import torch
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.data.batch import pad
from nmt.data.sequences import Source
from nmt.decoding.search import Hypothesis, diverged, log_prob_chunks, make_hypothesis
from nmt.models.protocol import BOS, EOS, PAD, StepModel

# B sentences, S source length, T longest target, R rows of a chunk, V vocabulary


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def force(
    model: StepModel, source: Source, targets: list[list[int]], decoding: Decoding
) -> list[list[Hypothesis]]:
    """Return the target of each source, scored as search scores: one hypothesis a list.

    The model takes a step for each token, as in search, so that this works with all models that
    search works with, ensembles too. Raises UserError where log probabilities are NaN.
    """
    target_out = pad([[*target, EOS] for target in targets]).to(source.device)  # (B, T)
    state = model.start(source)
    rows = torch.arange(len(targets), device=source.device)
    state.reorder(rows[:, None], steps=target_out.size(1))
    last_tokens = torch.full_like(target_out[:, 0], BOS)
    totals = torch.zeros(len(targets), dtype=torch.float64, device=source.device)
    for next_tokens in target_out.unbind(1):
        hidden = model.step(last_tokens, state)
        step_log_probs = [
            log_probs.gather(1, tokens[:, None])[:, 0]  # (R, V) -> (R,)
            for log_probs, tokens in log_prob_chunks(model.output, hidden, next_tokens)
        ]
        totals += torch.cat(step_log_probs).where(next_tokens != PAD, 0.0)
        last_tokens = next_tokens
    log_probs = totals.tolist()
    if any(map(math.isnan, log_probs)):
        raise diverged()
    return [
        [make_hypothesis(target, log_prob, decoding)]
        for target, log_prob in zip(targets, log_probs, strict=True)
    ]
