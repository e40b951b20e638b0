"""Label-smoothed cross-entropy (AIAYN section 5.4) without ever holding all logits."""

import torch
from torch import Tensor, nn

from nmt.models.protocol import PAD

# B sentences, T target length, N = B * T target positions, D width, V vocabulary

# Positions whose logits are held at a time: few enough for a CPU's cache, enough to fill a GPU
ROWS_PER_CHUNK = {"cpu": 512, "cuda": 4096}


def cross_entropy(
    hidden: Tensor, output: nn.Linear, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Return the smoothed loss to minimize, and the plain negative log-likelihood.

    Both are sums over all positions but padding, in nats. hidden (B, T, D), targets (B, T).
    Smoothing spreads `smoothing` over the whole vocabulary, the right word included (Szegedy et al.
    2016), as torch.nn.functional.cross_entropy does.
    """
    states = hidden.flatten(0, 1)
    weight = output.weight
    bias = output.bias
    if not torch.is_grad_enabled():
        # A Function does not know that, and would compute the gradients.
        states = states.detach()
        weight = weight.detach()
        bias = None if bias is None else bias.detach()
    return CrossEntropy.apply(states, weight, bias, targets.flatten(), smoothing)


class CrossEntropy(torch.autograd.Function):
    """Cross-entropy that computes gradients together with the loss, chunk by chunk.

    The logits are needed once and only in part. With s the smoothing, q the target distribution
    (1 - s) onehot + s / V and p = softmax(logits), the loss is lse - q . logits and its gradient
    p - q. What s adds is the same for the whole vocabulary, so it is applied to sums over W and
    over hidden states, never to a matrix of logits.
    """

    @staticmethod
    def forward(
        ctx, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """Return the loss and the negative log-likelihood of hidden (N, D) and targets (N,).

        weight: (V, D). bias: (V,).
        """
        device = hidden.device.type
        autocast = torch.is_autocast_enabled(device)
        dtype = torch.get_autocast_dtype(device) if autocast else hidden.dtype
        with torch.autocast(device, enabled=False):
            exact_dtype = torch.promote_types(dtype, torch.float32)
            # float16 ends at 6e-8, which is 17 nats.
            prob_dtype = exact_dtype if dtype == torch.float16 else dtype
            cast_weight = weight.to(dtype)
            share = smoothing / len(weight)  # s / V
            weight_sum = weight.sum(0)  # (D,)
            bias_sum = None if bias is None else bias.sum()
            # Padding gets the loss 0, and its states are 0: so it adds nothing to the gradients of
            # the weights. Removing it would make a GPU wait until its number is known.
            real = targets != PAD
            states = hidden.to(dtype) * real[:, None]
            grad_hidden = torch.empty_like(states)
            grad_weight = torch.zeros_like(weight)
            grad_bias = None if bias is None else torch.zeros_like(bias)
            nll = torch.zeros((), dtype=exact_dtype, device=hidden.device)
            loss = torch.zeros_like(nll)
            chunk_size = ROWS_PER_CHUNK[device]
            rows = torch.arange(chunk_size, device=hidden.device)
            for start in range(0, len(targets), chunk_size):
                chunk = slice(start, start + chunk_size)
                state = states[chunk]  # (n, D)
                target = targets[chunk, None]  # (n, 1)
                counts = real[chunk, None]  # (n, 1)
                if bias is None:
                    logits = state @ cast_weight.T  # (n, V)
                else:
                    logits = torch.addmm(bias.to(dtype), state, cast_weight.T)
                target_logit = logits.gather(1, target).to(exact_dtype)
                p = logits.softmax(1, dtype=prob_dtype)
                # A probability too small for its type counts as the smallest there is: some 87
                # nats.
                target_prob = p.gather(1, target).to(exact_dtype)
                target_nll = -target_prob.clamp_min(torch.finfo(prob_dtype).tiny).log()
                nll += target_nll.where(counts, 0).sum()
                logit_sum = state.to(exact_dtype) @ weight_sum.to(exact_dtype)  # (n,)
                if bias is not None:
                    logit_sum = logit_sum + bias_sum
                chunk_loss = target_nll + smoothing * target_logit - share * logit_sum[:, None]
                loss += chunk_loss.where(counts, 0).sum()
                if any(ctx.needs_input_grad[:3]):
                    # scatter_add_ would copy all of a bfloat16 p.
                    p[rows[: len(p)], target[:, 0]] += smoothing - 1
                    p = p.to(dtype)
                    grad_hidden[chunk] = p @ cast_weight
                    if p.dtype == grad_weight.dtype:
                        grad_weight.addmm_(p.T, state)  # saves a matrix as large as the weights
                    else:
                        grad_weight += p.T @ state
                    if bias is not None:
                        grad_bias += p.T @ counts[:, 0].to(dtype)
            grad_hidden -= (share * weight_sum).to(dtype)
            grad_hidden *= real[:, None]
            grad_weight -= share * states.sum(0, dtype=exact_dtype)
            if bias is not None:
                grad_bias -= share * real.sum(dtype=exact_dtype)
        ctx.save_for_backward(grad_hidden.to(hidden.dtype), grad_weight, grad_bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx, grad_loss: Tensor, _: Tensor):
        """Scale the gradients that `forward` computed."""
        grads = (
            None if grad is None else grad * grad_loss.to(grad.dtype) for grad in ctx.saved_tensors
        )
        return *grads, None, None
