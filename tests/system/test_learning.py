"""Every family learns to copy and to reverse short sequences it has never seen, within a small budget."""

import pytest
import torch
from families import sources, target_inputs, target_outputs

from nmt.configuration import RNNSearch, Seq2Seq, Transformer
from nmt.decoding.search import search
from nmt.models.build import build
from nmt.models.protocol import EOS
from nmt.training.objective import cross_entropy

WORDS, LONGEST = 10, 5
TASKS = {"copy": lambda tokens: tokens, "reverse": lambda tokens: tokens[::-1]}
# family: model, updates, peak of the learning rate
LEARNERS = {
    "transformer": (Transformer(layers=1, d_model=64, d_ff=128, heads=4, dropout=0.0), 900, 0.003),
    "rnnsearch": (RNNSearch(d_embedding=32, d_hidden=64, dropout=0.0), 300, 0.008),
    "seq2seq": (Seq2Seq(layers=1, d_embedding=48, d_hidden=128, dropout=0.0), 1200, 0.004),
}


def random_sequences(count: int, seed: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, LONGEST + 1, (count,), generator=generator).tolist()
    return [torch.randint(EOS + 1, EOS + 1 + WORDS, (n,), generator=generator).tolist() for n in lengths]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", LEARNERS)
def test_learns(family, task):
    config, updates, peak = LEARNERS[family]
    torch.manual_seed(1)
    model = build(config, EOS + 1 + WORDS, EOS + 1 + WORDS)
    optimiser = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), fused=True)
    for update in range(1, updates + 1):
        optimiser.param_groups[0]["lr"] = peak * min(update / 50, (50 / update) ** 0.5)
        given = random_sequences(64, seed=update)
        wanted = [TASKS[task](tokens) for tokens in given]
        hidden = model(sources(given), target_inputs(wanted)).target
        loss, _ = cross_entropy(hidden, model.output, target_outputs(wanted), 0.0)
        (loss / 64).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
    model.eval()
    unseen = random_sequences(200, seed=0)
    found = search(model, sources(unseen), [2 * LONGEST] * len(unseen), beam=1, alpha=0.0)
    right = sum(best.tokens == TASKS[task](tokens) for best, tokens in zip(found, unseen, strict=True))
    assert right / len(unseen) > 0.99
