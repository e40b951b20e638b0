"""A sparsely-gated mixture of experts.

Shazeer et al. 2017, "Outrageously Large Neural Networks".
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# N tokens, D width in and out, F inner width of an expert, E experts, K of them each token goes to


class Experts(nn.Module):
    """The sum over the K best of E experts of gate * (W2 max(0, W1 x + b1) + b2): equation 1.

    Each token has its own K experts.
    """

    def __init__(self, d_model: int, d_expert: int, experts: int, top_k: int):
        super().__init__()
        self.top_k = top_k
        # Zeros, so that at first only noise chooses and the load is even (appendix A).
        self.gate = nn.Parameter(torch.zeros(d_model, experts))
        self.noise = nn.Parameter(torch.zeros(d_model, experts))
        self.inner = nn.Parameter(torch.empty(experts, d_model, d_expert))
        self.inner_bias = nn.Parameter(torch.zeros(experts, d_expert))
        self.outer = nn.Parameter(torch.empty(experts, d_expert, d_model))
        self.outer_bias = nn.Parameter(torch.zeros(experts, d_model))
        for weight in (self.inner, self.outer):
            bound = (6 / sum(weight.shape[1:])) ** 0.5  # Xavier, for each expert
            nn.init.uniform_(weight, -bound, bound)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Send each token to its experts: (N, D) -> (N, D), and the load-balancing loss.

        There must be no padding among the tokens. The loss is a scalar without its weight.
        """
        logits = (x @ self.gate.to(x.dtype)).float()  # (N, E)
        noise_std = F.softplus((x @ self.noise.to(x.dtype)).float())  # equation 4
        noisy = logits + torch.randn_like(logits) * noise_std if self.training else logits
        top_logits, chosen = noisy.topk(self.top_k)  # (N, K)
        gates = top_logits.softmax(-1)
        # Tokens are sorted by expert: each expert processes its own in one product.
        order = chosen.flatten().argsort(stable=True)
        experts = torch.arange(len(self.inner), device=x.device)
        tokens_of_expert = (chosen.flatten() == experts[:, None]).sum(1).tolist()
        inputs = x[order // self.top_k].split(tokens_of_expert)
        weights = zip(self.inner, self.inner_bias, self.outer, self.outer_bias, strict=True)
        outputs = []
        for tokens, (inner, inner_bias, outer, outer_bias) in zip(inputs, weights, strict=True):
            hidden = F.relu(torch.addmm(inner_bias, tokens, inner))
            outputs.append(torch.addmm(outer_bias, hidden, outer))
        weighted = torch.cat(outputs) * gates.flatten()[order, None].to(x.dtype)  # (N * K, D)
        mixed = weighted.new_zeros(x.shape).index_add(0, order // self.top_k, weighted)
        return mixed, self.balance_loss(logits, noise_std, noisy, gates, chosen)

    def balance_loss(
        self, logits: Tensor, noise_std: Tensor, noisy: Tensor, gates: Tensor, chosen: Tensor
    ) -> Tensor:
        """Return CV(importance)^2 + CV(load)^2: equations 7 and 11.

        logits, noise_std, noisy: (N, E). gates, chosen: (N, K).
        """
        importance = torch.zeros_like(logits).scatter(1, chosen, gates).sum(0)
        if not self.training or self.top_k == logits.size(1):
            return squared_variation(importance)
        # The probability that an expert is chosen when only its own noise is drawn again
        # (equations 8 and 9): its rivals are the K best without it.
        ranked = noisy.topk(self.top_k + 1)[0]
        threshold = torch.where(noisy > ranked[:, -1:], ranked[:, -1:], ranked[:, -2:-1])
        load = torch.special.ndtr((logits - threshold) / noise_std).sum(0)
        return squared_variation(importance) + squared_variation(load)


def squared_variation(x: Tensor) -> Tensor:
    """Return the square of the coefficient of variation (equation 7)."""
    return x.var(unbiased=False) / (x.mean() ** 2 + 1e-10)
