"""The gradient norm of each layer, before and after training: Xiong et al. 2020, section 3."""

import re
from collections import defaultdict

from nmt.configuration import Training
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.protocol import Model
from nmt.training.schedule import source_weight
from nmt.training.trainer import Objective, seed_random

# The most tokens a side in the batch whose gradient is measured
MOST_TOKENS = 4096
# The rest of a model: embeddings, output and what stands between encoder and decoder
REST = "rest"
STACKED = re.compile(r"(encoder|decoder|layers)(?:\.convolutions)?\.(\d+)\.")
RECURRENT = re.compile(r"(encoder|decoder)\.(?:weight|bias)_\w\w_l(\d+)(?:_reverse)?$")


def layer_of(parameter: str) -> str:
    """Return the layer that a parameter's name belongs to, such as "encoder 1", or REST."""
    match = STACKED.match(parameter) or RECURRENT.match(parameter)
    if not match:
        return REST
    part = "layer" if match[1] == "layers" else match[1]
    return f"{part} {int(match[2]) + 1}"


def gradient_norms(
    model: Model, tokens: ParallelTokens, settings: Training, seed: int
) -> dict[str, float]:
    """Return the norm of the gradient of each layer's parameters, in the model's order.

    The loss is that of training's first batch, which has at most MOST_TOKENS tokens here, dropout
    and label smoothing included.
    """
    device = next(model.parameters()).device
    size = min(settings.batch_tokens, MOST_TOKENS)
    settings = settings.model_copy(update={"batch_tokens": size, "micro_batches": 1})
    batches = Batches.for_training(tokens, settings, seed)
    batch = next(batches.updates(1, 0, Partition.coarsest(settings, 0, 1), device))
    objective = Objective(model, settings).train()
    model.zero_grad()
    for number, micro_batch in batch.micro_batches.items():
        seed_random(seed, 1, number)
        total, _ = objective(micro_batch, source_weight(1, settings.source_loss))
        (total / batch.target_tokens).backward()
    squares: dict[str, float] = defaultdict(float)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            squares[layer_of(name)] += float(parameter.grad.double().square().sum())
    model.zero_grad()
    return {layer: square**0.5 for layer, square in squares.items()}
