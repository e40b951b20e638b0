"""One update: the gradient of a batch, summed over micro-batches and ranks, and a step."""

import logging
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.device import autocast, fused_attention
from nmt.models.protocol import PAD, Model
from nmt.training import schedule
from nmt.training.distributed import ProcessGroup
from nmt.training.graph import Graphs
from nmt.training.machine import AUTOCAST
from nmt.training.objective import cross_entropy


class Trainer:
    """A model with its optimizer and gradient scaler: everything an update changes but counters.

    Only `pop_gradient_norms` waits for a GPU, and mixtures of experts do. Random numbers depend on
    seed, update and micro-batch, and on nothing that came before. So there is no generator's state
    to save, and dropout is the same on any number of ranks that compute the same micro-batches.

    packed: whether sentences are packed into rows. The objective is then compiled, and a GPU's work
    captured as graphs: the gradient of a micro-batch of each shape, and the optimizer's step.
    """

    def __init__(
        self,
        model: Model,
        settings: Training,
        group: ProcessGroup,
        seed: int,
        packed: bool = False,
    ):
        device = group.device
        self.model = model
        self.settings = settings
        self.group = group
        self.seed = seed
        self.packed = packed
        group.share_parameters(model)
        # All gradients are views of one tensor: ranks add them up in one exchange.
        self.parameters = list(model.parameters())
        self.gradients = flat_gradients(self.parameters)
        # What changes from update to update are tensors: a graph reads them anew.
        number = torch.float32 if device.type == "cuda" else torch.float64
        self.learning_rate = torch.zeros((), dtype=number, device=device)
        self.source_weight = torch.zeros((), device=device)
        self.per_token = torch.zeros((), device=device)  # 1 / target tokens of the update
        self.optimizer = build_optimizer(model, settings, self.learning_rate)
        self.scaler = torch.amp.GradScaler(device.type, enabled=settings.precision == "float16")
        # This rank's loss, negative log-likelihood and target tokens: of the update, and since the
        # last line of metrics.jsonl
        self.update_sums = torch.zeros(3, dtype=torch.float64, device=device)
        self.sums = torch.zeros_like(self.update_sums)
        self.norm = torch.zeros((), device=device)
        self.scaler.scale(self.norm)  # an empty first update scales no loss
        # The gradient norm of each update since the last call of pop_gradient_norms
        self.gradient_norms: list[Tensor] = []
        self.minimized = self.objective
        self.add_gradient: list[Callable[[Batch], None]] = [
            partial(self.backward, with_source=with_source) for with_source in (False, True)
        ]
        self.step: Callable[[], None] = self.optimizer_step
        if packed:
            self.minimized = torch.compile(self.objective)
            if device.type == "cuda":
                self.add_gradient = [Graphs(function) for function in self.add_gradient]
                self.step = Graphs(self.optimizer_step)

    def train_step(self, batch: UpdateBatch, learning_rate: float, update: int) -> None:
        """Take one step along the gradient of the mean loss per target token.

        A step whose gradient is NaN or infinite is skipped.
        """
        self.learning_rate.fill_(learning_rate)
        self.compute_gradients(batch, update)
        self.group.sum_(self.gradients)
        self.step()
        self.gradient_norms.append(self.norm.clone())

    def compute_gradients(self, batch: UpdateBatch, update: int) -> None:
        """Add this rank's gradient, scaled for float16, to `gradients`."""
        self.model.train()
        source_weight = schedule.source_weight(update, self.settings.source_loss)
        self.source_weight.fill_(source_weight)
        self.per_token.fill_(1 / batch.target_tokens)
        for number, micro_batch in batch.micro_batches.items():
            seed_random(self.seed, update, number)
            self.add_gradient[source_weight > 0](micro_batch)

    def backward(self, batch: Batch, with_source: bool) -> None:
        """Add the gradient of a micro-batch to `gradients`, and what is logged to `update_sums`."""
        try:
            if self.packed:
                for tensor in batch.tensors:  # one program for any number of rows
                    torch._dynamo.maybe_mark_dynamic(tensor, 0)
            with fused_attention() if self.packed else nullcontext():
                total, sums = self.minimized(batch, with_source)
            scaled = self.scaler.scale(total * self.per_token)
            new = torch.autograd.grad(scaled, self.parameters, allow_unused=True)
        except RuntimeError as error:
            # The compiler's own errors are imported with it, which takes a second.
            if not type(error).__module__.startswith(("torch._dynamo", "torch._inductor")):
                raise
            reason = str(error).strip().partition("\n")[0]
            logging.warning(f"training is not compiled, and slower: {reason}")
            self.minimized = self.objective
            self.backward(batch, with_source)
        else:
            # All at once: a kernel for each parameter would take a GPU several times as long.
            pairs = zip(self.parameters, new, strict=True)
            used = [(parameter.grad, grad) for parameter, grad in pairs if grad is not None]
            torch._foreach_add_(*map(list, zip(*used, strict=True)))
            self.update_sums += sums

    def objective(self, batch: Batch, with_source: bool) -> tuple[Tensor, Tensor]:
        """Return what is minimized, as a sum over target tokens, and what is logged.

        with_source: whether the loss on source tokens counts, by `source_weight`. Logged are (3,):
        the loss on target tokens, their negative log-likelihood, and how many they are.
        """
        output, smoothing = self.model.output, self.settings.label_smoothing
        dtype = AUTOCAST[self.settings.precision]
        with autocast(batch.source.device, dtype):
            hidden = self.model(batch.source, batch.target)
            loss, nll = cross_entropy(hidden.target, output, batch.target_out, smoothing, dtype)
            tokens = (batch.target_out != PAD).sum()
            total = loss
            if with_source:
                assert hidden.source is not None
                states, targets = hidden.source
                source_loss, _ = cross_entropy(states, output, targets, 0.0, dtype)
                total = total + self.source_weight * source_loss
            if hidden.penalty is not None:
                total = total + hidden.penalty * tokens
        return total, torch.stack([loss.detach(), nll, tokens]).double()

    def optimizer_step(self) -> None:
        """Step unless the gradient is NaN or infinite, and set `norm` to its norm before clipping.

        The gradient and the update's sums are 0 then.
        """
        self.scaler.unscale_(self.optimizer)
        norm = torch.linalg.vector_norm(self.gradients)
        if self.settings.gradient_clip:
            self.gradients *= (self.settings.gradient_clip / (norm + 1e-6)).clamp(max=1)
        if not self.scaler.is_enabled():
            # The scaler sets this where it is enabled: a fused optimizer then skips the step.
            found_inf = (~norm.isfinite()).float()
            self.optimizer.found_inf = found_inf  # type: ignore[attr-defined]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.norm.copy_(norm)
        self.sums += self.update_sums.where(norm.isfinite(), 0)
        self.update_sums.zero_()
        self.gradients.zero_()

    def pop_gradient_norms(self) -> list[float]:
        """Return the gradient's norm before clipping at each update since the last call."""
        norms = torch.stack(self.gradient_norms).tolist() if self.gradient_norms else []
        self.gradient_norms = []
        return norms


def flat_gradients(parameters: list[nn.Parameter]) -> Tensor:
    """Return one tensor of zeros, of which the gradient of each parameter becomes a view."""
    sizes = [parameter.numel() for parameter in parameters]
    flat = torch.zeros(sum(sizes), dtype=parameters[0].dtype, device=parameters[0].device)
    for parameter, part in zip(parameters, flat.split(sizes), strict=True):
        parameter.grad = part.view_as(parameter)
    return flat


def build_optimizer(
    model: Model, settings: Training, learning_rate: Tensor
) -> torch.optim.Optimizer:
    """Return the experiment's optimizer, which reads the learning rate anew at each step."""
    if settings.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=learning_rate, fused=True)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.optimizer]
    return kind(
        model.parameters(),
        lr=learning_rate,
        betas=settings.adam_betas,
        eps=settings.adam_epsilon,
        weight_decay=settings.weight_decay,
        fused=True,
        capturable=learning_rate.device.type == "cuda",
    )


def seed_random(*numbers: int) -> None:
    """Seed torch's global generators from several numbers."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))
