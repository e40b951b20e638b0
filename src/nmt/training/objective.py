"""Label-smoothed cross-entropy (AIAYN section 5.4) without ever holding all logits."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.device import autocast, rows_per_chunk
from nmt.models.protocol import PAD

# B sentences, T target length, N = B * T target positions, D width, V vocabulary


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
    states = hidden.flatten(0, 1)
    weight: Tensor = output.weight
    bias: Tensor | None = output.bias
    if not torch.is_grad_enabled():
        # A Function does not know that, and would compute the gradients.
        states = states.detach()
        weight = weight.detach()
        bias = None if bias is None else bias.detach()
    dtype = dtype or hidden.dtype
    return CrossEntropy.apply(states, weight, bias, targets.flatten(), smoothing, dtype)


class CrossEntropy(torch.autograd.Function):
    """Cross-entropy that computes gradients together with the loss, chunk by chunk.

    The logits are needed once and only in part. With s the smoothing, q the target distribution
    (1 - s) onehot + s / V and p = softmax(logits), the loss is lse - q . logits and its gradient
    p - q. What s adds is the same for the whole vocabulary, so it is applied to sums over W and
    over hidden states, never to a matrix of logits.
    """

    @staticmethod
    def forward(
        ctx,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        targets: Tensor,
        smoothing: float,
        dtype: torch.dtype,
    ) -> tuple[Tensor, Tensor]:
        """Return the loss and the negative log-likelihood of hidden (N, D) and targets (N,).

        weight: (V, D). bias: (V,). dtype: of matrix products.
        """
        with autocast(hidden.device, None):
            exact_dtype = torch.promote_types(dtype, torch.float32)
            # float16 holds no probability below 6e-8, which is 17 nats.
            prob_dtype = exact_dtype if dtype == torch.float16 else dtype
            cast_weight = weight.to(dtype)
            share = smoothing / len(weight)  # s / V
            weight_sum = weight.sum(0) if smoothing else None  # (D,)
            bias_sum = 0.0 if bias is None else bias.sum()
            # Padding gets the loss 0, and its states are 0: so it adds nothing to the gradients of
            # the weights. Removing it would make a GPU wait until its number is known.
            real = targets != PAD
            states = hidden.to(dtype) * real[:, None]
            grads = Gradients.begin(states, weight, bias) if any(ctx.needs_input_grad[:3]) else None
            nll = torch.zeros((), dtype=exact_dtype, device=hidden.device)
            loss = torch.zeros_like(nll)
            chunk_size = rows_per_chunk(hidden.device, len(weight) * dtype.itemsize)
            rows = torch.arange(chunk_size, device=hidden.device)
            for start in range(0, len(targets), chunk_size):
                chunk = slice(start, start + chunk_size)
                state = states[chunk]  # (n, D)
                target = targets[chunk, None]  # (n, 1)
                is_real = real[chunk, None]  # (n, 1)
                if bias is None:
                    logits = state @ cast_weight.T  # (n, V)
                else:
                    logits = torch.addmm(bias.to(dtype), state, cast_weight.T)
                p = logits.softmax(1, dtype=prob_dtype)
                target_nll = negative_log(p.gather(1, target), exact_dtype)
                nll += target_nll.where(is_real, 0).sum()
                chunk_loss = target_nll
                if weight_sum is not None:
                    target_logit = logits.gather(1, target).to(exact_dtype)
                    logit_sum = state.to(exact_dtype) @ weight_sum.to(exact_dtype) + bias_sum
                    chunk_loss = target_nll + smoothing * target_logit - share * logit_sum[:, None]
                loss += chunk_loss.where(is_real, 0).sum()
                if grads:
                    # scatter_add_ would copy all of a bfloat16 p.
                    p[rows[: len(p)], target[:, 0]] += smoothing - 1
                    p = p.to(dtype)
                    grads.add(chunk, p, state, is_real, cast_weight)
            if grads:
                if weight_sum is not None:
                    grads.subtract_smoothing(share, weight_sum, states, real)
                grads.hidden *= real[:, None]
                ctx.save_for_backward(grads.hidden.to(hidden.dtype), grads.weight, grads.bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx, grad_loss: Tensor, _: Tensor):
        """Scale the gradients that `forward` computed."""
        grads = (
            None if grad is None else grad * grad_loss.to(grad.dtype) for grad in ctx.saved_tensors
        )
        return *grads, None, None, None


@dataclass
class Gradients:
    """The gradients of hidden states (N, D), weight (V, D) and bias (V,), added up by chunks."""

    hidden: Tensor
    weight: Tensor
    bias: Tensor | None

    @classmethod
    def begin(cls, states: Tensor, weight: Tensor, bias: Tensor | None) -> "Gradients":
        """Return those of no chunk: of states (N, D) still without values, of the others zero."""
        grad_bias = None if bias is None else torch.zeros_like(bias)
        return cls(torch.empty_like(states), torch.zeros_like(weight), grad_bias)

    def add(
        self, chunk: slice, grad_logits: Tensor, states: Tensor, real: Tensor, weight: Tensor
    ) -> None:
        """Add those of a chunk of n positions.

        grad_logits: (n, V), without what smoothing adds to all words. states: (n, D).
        real: (n, 1), false at padding. weight: (V, D), in the type of the states.
        """
        self.hidden[chunk] = grad_logits @ weight
        if grad_logits.dtype == self.weight.dtype:
            self.weight.addmm_(grad_logits.T, states)  # saves a matrix as large as the weights
        else:
            self.weight += grad_logits.T @ states
        if self.bias is not None:
            self.bias += grad_logits.T @ real[:, 0].to(grad_logits.dtype)

    def subtract_smoothing(
        self, share: float, weight_sum: Tensor, states: Tensor, real: Tensor
    ) -> None:
        """Subtract what smoothing adds to the target distribution of every word: `share`.

        weight_sum: (D,). states: (N, D), 0 at padding. real: (N,), false at padding.
        """
        exact_dtype = torch.promote_types(states.dtype, torch.float32)
        self.hidden -= (share * weight_sum).to(states.dtype)
        self.weight -= share * states.sum(0, dtype=exact_dtype)
        if self.bias is not None:
            self.bias -= share * real.sum(dtype=exact_dtype)


def negative_log(prob: Tensor, dtype: torch.dtype) -> Tensor:
    """Return -log of probabilities in `dtype`.

    One too small for its own type counts as the smallest there is: some 87 nats.
    """
    return -prob.to(dtype).clamp_min(torch.finfo(prob.dtype).tiny).log()
