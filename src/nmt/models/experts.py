"""A sparsely-gated mixture of experts: Shazeer et al. 2017, "Outrageously Large Neural
Networks".
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# N tokens, D width in and out, F inner width of an expert, E experts, K of them each token goes to


class Experts(nn.Module):
    """Sum over the K best of E experts of gate * W2 max(0, W1 x + b1) + b2, each token with its own
    K (equation 1).
    """

    def __init__(self, d_model: int, d_expert: int, experts: int, top: int):
        super().__init__()
        self.top = top
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
        """(N, D), no padding among them -> (N, D), and the unweighted balance losses, a scalar."""
        clean = (x @ self.gate.to(x.dtype)).float()
        spread = F.softplus((x @ self.noise.to(x.dtype)).float())  # equation 4
        noisy = clean + torch.randn_like(clean) * spread if self.training else clean
        best, chosen = noisy.topk(self.top)  # (N, K)
        gates = best.softmax(-1)
        # Tokens sorted by expert: each expert multiplies its own in one product.
        order = chosen.flatten().argsort(stable=True)
        sizes = chosen.flatten().bincount(minlength=len(self.inner)).tolist()
        parts = x[order // self.top].split(sizes)
        answers = [
            torch.addmm(outer_bias, F.relu(torch.addmm(inner_bias, part, inner)), outer)
            for part, inner, inner_bias, outer, outer_bias in zip(
                parts, self.inner, self.inner_bias, self.outer, self.outer_bias, strict=True
            )
        ]
        weighed = torch.cat(answers) * gates.flatten()[order, None].to(x.dtype)
        mixed = weighed.new_zeros(x.shape).index_add(0, order // self.top, weighed)
        return mixed, self.balance(clean, spread, noisy, gates, chosen)

    def balance(
        self, clean: Tensor, spread: Tensor, noisy: Tensor, gates: Tensor, chosen: Tensor
    ) -> Tensor:
        """CV(importance)^2 + CV(load)^2: equations 7 and 11."""
        importance = torch.zeros_like(clean).scatter(1, chosen, gates).sum(0)
        if not self.training or self.top == clean.size(1):
            return variation(importance)
        # The chance that an expert is chosen when its noise alone is drawn again (equations 8 and
        # 9): its rivals are the K best without it.
        ranked = noisy.topk(self.top + 1)[0]
        threshold = torch.where(noisy > ranked[:, -1:], ranked[:, -1:], ranked[:, -2:-1])
        load = torch.special.ndtr((clean - threshold) / spread).sum(0)
        return variation(importance) + variation(load)


def variation(x: Tensor) -> Tensor:
    """The square of the coefficient of variation (equation 7)."""
    return x.var(unbiased=False) / (x.mean() ** 2 + 1e-10)
