"""What a model thinks of translations that are given."""

import torch
from torch import Tensor
from torch.nn.utils.parametrize import cached

from nmt.configuration import Decoding
from nmt.data.batches import pad
from nmt.decoding.search import Hypothesis, log_prob_chunks, make_hypothesis
from nmt.models.protocol import BOS, EOS, PAD, Model

# B sentences, T longest target


@torch.inference_mode()
@cached()  # weight-normalized matrices are computed once, not at every step
def force(
    model: Model, source: Tensor, targets: list[list[int]], decoding: Decoding
) -> list[list[Hypothesis]]:
    """The target of each source (B, S), scored as search scores what it finds: a list of one for
    each.

    Step by step, as search does: so it serves all that search serves, ensembles too.
    """
    wanted = pad([[*target, EOS] for target in targets]).to(source.device)
    state = model.start(model.encode(source), beam=1)
    tokens = torch.full_like(wanted[:, 0], BOS)
    total = torch.zeros(len(targets), dtype=torch.float64, device=source.device)
    for following in wanted.unbind(1):
        hidden, state = model.step(tokens, state)
        steps = [
            found.gather(1, right[:, None])[:, 0]
            for found, right in log_prob_chunks(model.output, hidden, following)
        ]
        total += torch.cat(steps).where(following != PAD, 0.0)
        tokens = following
    return [
        [make_hypothesis(target, log_prob, decoding)]
        for target, log_prob in zip(targets, total.tolist(), strict=True)
    ]
