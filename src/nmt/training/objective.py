"""Label-smoothed cross-entropy (AIAYN section 5.4) without ever holding all logits."""

import torch
from torch import Tensor, nn

from nmt.models.protocol import PAD

# N target positions, D width, V vocabulary

ROWS = 256  # logits held at a time


def cross_entropy(hidden: Tensor, output: nn.Linear, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Sums over all positions but padding: the smoothed loss to minimise, and the plain negative log-likelihood.

    hidden (B, T, D), targets (B, T). Smoothing spreads `smoothing` over the whole vocabulary, the right word
    included (Szegedy et al. 2016), as torch.nn.functional.cross_entropy does.
    """
    return CrossEntropy.apply(hidden.flatten(0, 1), output.weight, output.bias, targets.flatten(), smoothing)


class CrossEntropy(torch.autograd.Function):
    """Computes gradients together with the loss, chunk by chunk: the logits are needed once and only in part."""

    @staticmethod
    def forward(
        ctx, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        with torch.autocast(device, enabled=False):
            return CrossEntropy.chunks(ctx, hidden.to(dtype), weight, weight.to(dtype), bias, targets, smoothing)

    @staticmethod
    def chunks(ctx, hidden, weight, cast, bias, targets, smoothing) -> tuple[Tensor, Tensor]:
        wanted = any(ctx.needs_input_grad[:3])
        exact = torch.promote_types(hidden.dtype, torch.float32)
        loss = nll = torch.zeros((), dtype=exact, device=hidden.device)
        if wanted:
            grad_hidden, grad_weight = torch.empty_like(hidden), torch.zeros_like(weight)
            grad_bias = None if bias is None else torch.zeros_like(bias)
        for start in range(0, len(targets), ROWS):
            part = slice(start, start + ROWS)
            target, real = targets[part, None], (targets[part, None] != PAD).to(exact)
            logits = (hidden[part] @ cast.T).to(exact)
            if bias is not None:
                logits += bias
            log_probabilities = logits.log_softmax(-1)
            right = -log_probabilities.gather(1, target)
            spread = -log_probabilities.mean(-1, keepdim=True)
            nll = nll + (right * real).sum()
            loss = loss + ((1 - smoothing) * right * real + smoothing * spread * real).sum()
            if wanted:
                grad = log_probabilities.exp_().sub_(smoothing / logits.size(1))
                grad.scatter_add_(1, target, torch.full_like(right, smoothing - 1)).mul_(real)
                if bias is not None:
                    grad_bias += grad.sum(0)
                grad = grad.to(hidden.dtype)
                grad_hidden[part] = grad @ cast
                grad_weight += grad.T @ hidden[part]
        if wanted:
            ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx, grad_loss: Tensor, _: Tensor):
        grads = (None if grad is None else grad * grad_loss.to(grad.dtype) for grad in ctx.saved_tensors)
        return *grads, None, None
