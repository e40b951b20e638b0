"""Label-smoothed cross-entropy (AIAYN section 5.4) without ever holding all logits."""

import torch
from torch import Tensor, nn

from nmt.device import autocast, rows_per_chunk
from nmt.models.protocol import PAD

# B sentences, T target length, N = B * T target positions, n of a chunk, D width, V vocabulary


def cross_entropy(
    hidden: Tensor,
    output: nn.Linear,
    targets: Tensor,
    smoothing: float,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the smoothed loss to minimize, and the plain negative log-likelihood.

    Both are sums over all positions but padding, in nats. hidden (B, T, D), targets (B, T).
    dtype: of the logits and of all matrix products, whatever autocast says; None: that of hidden.
    Smoothing spreads `smoothing` over the whole vocabulary, the right word included (Szegedy et al.
    2016), as torch.nn.functional.cross_entropy does.
    """
    if torch.compiler.is_compiling():
        return fused_cross_entropy(hidden, output, targets, smoothing, dtype)
    tensors = hidden.flatten(0, 1), output.weight, output.bias, targets.flatten()
    with autocast(hidden.device, None):
        learns = torch.is_grad_enabled()  # always False inside of a Function
        return CrossEntropy.apply(*tensors, smoothing, dtype or hidden.dtype, learns)


def fused_cross_entropy(
    hidden: Tensor,
    output: nn.Linear,
    targets: Tensor,
    smoothing: float,
    dtype: torch.dtype | None,
) -> tuple[Tensor, Tensor]:
    """Return what `cross_entropy` does, of all logits at once, which a compiler never holds twice.

    With lse the logarithm of the sum of exponentials, the negative log-likelihood of a word is
    lse - its logit, and the mean over all words is lse - mean(logits).
    """
    with autocast(hidden.device, dtype):
        logits = output(hidden).flatten(0, 1)  # (N, V)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    words, right = torch.arange(logits.size(1), device=logits.device), targets.flatten()[:, None]
    lse = logits.logsumexp(1)
    nlls = lse - logits.where(words == right, 0).sum(1)  # gathering would write zeros for all words
    real = right[:, 0] != PAD
    nll, uniform = (x.where(real, 0).sum() for x in (nlls, lse - logits.mean(1)))
    return (1 - smoothing) * nll + smoothing * uniform, nll.detach()


class CrossEntropy(torch.autograd.Function):
    """Cross-entropy that computes gradients together with the loss, chunk by chunk.

    With s the smoothing, q = (1 - s) onehot + s / V the target distribution, p = softmax(logits):
    the loss is lse - q . logits and its gradient p - q. What s adds is the same for every word, so
    it is applied to sums over the vocabulary and over states, never to a matrix of logits.
    """

    @staticmethod
    def forward(ctx, hidden, weight, bias, targets, smoothing, dtype, learns):
        """Return the loss and the negative log-likelihood of hidden (N, D) and targets (N,)."""
        exact = torch.promote_types(dtype, torch.float32)
        # float16 holds no probability below 6e-8, which is 17 nats.
        p_dtype = exact if dtype == torch.float16 else dtype
        share, word_sum = smoothing / len(weight), weight.sum(0)  # s / V, (D,)
        real = (targets != PAD)[:, None]
        states = hidden.to(dtype) * real  # padding adds nothing to the weights' gradient
        cast_weight, cast_bias = weight.to(dtype), None if bias is None else bias.to(dtype)
        loss, nll = torch.zeros(2, dtype=exact, device=hidden.device)
        of_hidden, of_weight = torch.empty_like(states), torch.zeros_like(weight)
        of_bias = None if bias is None else torch.zeros_like(bias)
        size = rows_per_chunk(hidden.device, len(weight) * dtype.itemsize)
        for start in range(0, len(targets), size):
            chunk = slice(start, start + size)
            state, target, is_real = states[chunk], targets[chunk, None], real[chunk]
            logits = nn.functional.linear(state, cast_weight, cast_bias)  # (n, V)
            p = logits.softmax(1, dtype=p_dtype)
            nlls = -p.gather(1, target).to(exact).clamp_min(torch.finfo(p_dtype).tiny).log()
            logit_sum = state.to(exact) @ word_sum.to(exact) + (0.0 if bias is None else bias.sum())
            losses = nlls + smoothing * logits.gather(1, target).to(exact)
            nll += nlls.where(is_real, 0).sum()
            loss += (losses - share * logit_sum[:, None]).where(is_real, 0).sum()
            if learns:
                # scatter_add_ would copy all of a bfloat16 p.
                p[torch.arange(len(p), device=p.device), target[:, 0]] += smoothing - 1
                p = p.to(dtype)  # without - s / V, which follows below
                of_hidden[chunk] = p @ cast_weight
                if dtype == weight.dtype:
                    of_weight.addmm_(p.T, state)  # saves a matrix as large as the weights
                else:
                    of_weight += p.T @ state
                if bias is not None:
                    of_bias += p.T @ is_real[:, 0].to(dtype)
        if learns:
            of_hidden = (of_hidden - (share * word_sum).to(dtype)) * real
            of_weight -= share * states.sum(0, dtype=exact)
            if bias is not None:
                of_bias -= share * real.sum(dtype=exact)
            ctx.save_for_backward(of_hidden.to(hidden.dtype), of_weight, of_bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx, grad_loss, _):
        """Scale the gradients that `forward` computed."""
        grads = [None if grad is None else grad * grad_loss for grad in ctx.saved_tensors]
        return *grads, None, None, None, None
