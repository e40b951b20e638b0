"""The gradient norm of each layer, before and after training: Xiong et al. 2020, section 3."""

import re
from collections import defaultdict

from nmt.configuration import Training
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.protocol import Model
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer

# About the most tokens of a side that go through a model at a time, which any machine has room for
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

    The loss is that of training's first update, dropout and label smoothing included: the mean over
    its target tokens.
    """
    device = next(model.parameters()).device
    batches = Batches.for_training(tokens, settings, seed)
    partition = Partition(chunks=-(-batches.budget // MOST_TOKENS))
    trainer = Trainer(model, settings, ProcessGroup(device), seed)
    trainer.compute_gradients(next(batches.updates(1, 0, partition, device)), update=1)
    trainer.scaler.unscale_(trainer.optimizer)
    squares: dict[str, float] = defaultdict(float)
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None
        squares[layer_of(name)] += float(parameter.grad.double().square().sum())
    model.zero_grad()
    return {layer: square**0.5 for layer, square in squares.items()}
