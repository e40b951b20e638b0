"""Label-smoothed cross-entropy (AIAYN section 5.4) without ever holding all logits."""

import torch
from torch import Tensor, nn

from nmt.models.protocol import PAD

# N target positions, D width, V vocabulary

# Positions whose logits are held at a time: few enough for a CPU's cache, enough to fill a GPU
ROWS = {"cpu": 512, "cuda": 4096}


def cross_entropy(
    hidden: Tensor, output: nn.Linear, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    """Sums over all positions but padding: the smoothed loss to minimize, and the plain negative
    log-likelihood.

    hidden (B, T, D), targets (B, T). Smoothing spreads `smoothing` over the whole vocabulary, the
    right word included (Szegedy et al. 2016), as torch.nn.functional.cross_entropy does. Both sums
    are in nats.
    """
    tensors = hidden.flatten(0, 1), output.weight, output.bias
    if not torch.is_grad_enabled():  # a Function is not told, and would make the gradients
        tensors = (None if tensor is None else tensor.detach() for tensor in tensors)
    return CrossEntropy.apply(*tensors, targets.flatten(), smoothing)


class CrossEntropy(torch.autograd.Function):
    """Computes gradients together with the loss, chunk by chunk: the logits are needed once and
    only in part.

    With s the smoothing, q the target distribution (1 - s) onehot + s / V and p = softmax(logits),
    the loss is lse - q . logits and its gradient p - q. What s adds is the same for the whole
    vocabulary, so it is applied to sums over W and over hidden states, never to a matrix of logits.
    """

    @staticmethod
    def forward(
        ctx, hidden: Tensor, weight: Tensor, bias: Tensor | None, targets: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        device = hidden.device.type
        dtype = (
            torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else hidden.dtype
        )
        with torch.autocast(device, enabled=False):
            exact = torch.promote_types(dtype, torch.float32)
            wide = exact if dtype == torch.float16 else dtype  # float16 ends at 6e-8, 17 nats
            cast, share = weight.to(dtype), smoothing / len(weight)
            totals = weight.sum(0), None if bias is None else bias.sum()
            # Padding gets the loss 0, and its states are 0: so it adds nothing to the gradients of
            # the weights. To take it out would make a GPU wait until its number is known.
            real = targets != PAD
            states = hidden.to(dtype) * real[:, None]
            grad_hidden, grad_weight = torch.empty_like(states), torch.zeros_like(weight)
            grad_bias = None if bias is None else torch.zeros_like(bias)
            nll = torch.zeros((), dtype=exact, device=hidden.device)
            loss = torch.zeros_like(nll)
            rows = torch.arange(ROWS[device], device=hidden.device)
            for start in range(0, len(targets), ROWS[device]):
                part = slice(start, start + ROWS[device])
                state, target, counts = states[part], targets[part, None], real[part, None]
                logits = (
                    state @ cast.T if bias is None else torch.addmm(bias.to(dtype), state, cast.T)
                )
                right = logits.gather(1, target).to(exact)
                p = logits.softmax(1, dtype=wide)
                # A probability too small for its type counts as the smallest there is: some 87
                # nats.
                wrong = -p.gather(1, target).to(exact).clamp_min(torch.finfo(wide).tiny).log()
                nll += wrong.where(counts, 0).sum()
                spread = state.to(exact) @ totals[0].to(exact)
                if bias is not None:
                    spread = spread + totals[1]
                loss += (wrong + smoothing * right - share * spread[:, None]).where(counts, 0).sum()
                if any(ctx.needs_input_grad[:3]):
                    p[rows[: len(p)], target[:, 0]] += (
                        smoothing - 1
                    )  # scatter_add_ copies all of a bfloat16 p
                    p = p.to(dtype)
                    grad_hidden[part] = p @ cast
                    if p.dtype == grad_weight.dtype:
                        grad_weight.addmm_(p.T, state)  # saves a matrix as large as the weights
                    else:
                        grad_weight += p.T @ state
                    if bias is not None:
                        grad_bias += p.T @ counts[:, 0].to(dtype)
            grad_hidden -= (share * totals[0]).to(dtype)
            grad_hidden *= real[:, None]
            grad_weight -= share * states.sum(0, dtype=exact)
            if bias is not None:
                grad_bias -= share * real.sum(dtype=exact)
        ctx.save_for_backward(grad_hidden.to(hidden.dtype), grad_weight, grad_bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx, grad_loss: Tensor, _: Tensor):
        grads = (
            None if grad is None else grad * grad_loss.to(grad.dtype) for grad in ctx.saved_tensors
        )
        return *grads, None, None
