"""The gradient norm of each layer of a Transformer: Xiong et al. 2020, section 3."""

from torch import nn

from nmt.configuration import Training
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.protocol import Model
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer


def gradient_norms(
    model: Model, tokens: ParallelTokens, settings: Training, seed: int
) -> dict[str, float]:
    """Return the norm of the gradient of each layer's parameters, "encoder 1" first.

    The loss is that of training's first update, dropout and label smoothing included: the mean over
    its target tokens.
    """
    device = next(model.parameters()).device
    batches = Batches.for_training(tokens, settings, seed)
    trainer = Trainer(model, settings, ProcessGroup(device), seed)
    trainer.compute_gradients(next(batches.updates(1, 0, Partition(), device)), update=1)
    trainer.scaler.unscale_(trainer.optimizer)
    norms = {}
    for stack in ("encoder", "decoder"):
        for number, layer in enumerate(model.get_submodule(stack).children(), start=1):
            gradients = [it.grad for it in layer.parameters() if it.grad is not None]
            norms[f"{stack} {number}"] = float(nn.utils.get_total_norm(gradients))
    return norms
