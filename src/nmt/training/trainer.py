"""One update: the gradient of a batch, summed over micro-batches and ranks, and a step."""

import numpy as np
import torch
from torch import Tensor, nn

from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.device import allow_tf32, autocast
from nmt.models.protocol import PAD, Model
from nmt.training import schedule
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import AUTOCAST
from nmt.training.objective import cross_entropy


class Trainer:
    """A model with its optimizer and gradient scaler: everything an update changes but counters.

    Only `pop_gradient_norms` synchronizes with a GPU, and what docs/performance.md lists of some
    families. Random numbers depend on seed, update and micro-batch, and on nothing that came
    before. So there is no generator's state to save, and dropout is the same on any number of ranks
    that compute the same micro-batches.
    """

    def __init__(self, model: Model, settings: Training, group: ProcessGroup, seed: int):
        allow_tf32(settings.precision)
        self.model = model
        self.settings = settings
        self.group = group
        self.seed = seed
        group.share_parameters(model)
        self.optimizer = build_optimizer(model, settings)
        self.scaler = torch.amp.GradScaler(
            group.device.type, enabled=settings.precision == "float16"
        )
        # This rank's loss, negative log-likelihood and target tokens since the last line of
        # metrics.jsonl
        self.sums = torch.zeros(3, dtype=torch.float64, device=group.device)
        # The gradient norm of each update since the last call of pop_gradient_norms
        self.gradient_norms: list[Tensor] = []

    def train_step(self, batch: UpdateBatch, learning_rate: float, update: int) -> None:
        """Take one step along the gradient of the mean loss per target token.

        A step whose gradient is NaN or infinite is skipped.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        sums = self.backward(batch, update)
        self.group.sum_gradients(self.model)
        norm = self.optimizer_step()
        self.sums += sums.where(norm.isfinite(), 0)
        self.gradient_norms.append(norm)

    def backward(self, batch: UpdateBatch, update: int) -> Tensor:
        """Give the parameters this rank's gradient, scaled for float16; return its `sums`."""
        self.model.train()
        source_weight = schedule.source_weight(update, self.settings.source_loss)
        sums = torch.zeros_like(self.sums)
        for number, micro_batch in batch.micro_batches.items():
            seed_random(self.seed, update, number)
            total, micro_sums = self.objective(micro_batch, source_weight)
            self.scaler.scale(total * (1 / batch.target_tokens)).backward()
            sums += micro_sums
        return sums

    def objective(self, batch: Batch, source_weight: float) -> tuple[Tensor, Tensor]:
        """Return what is minimized, as a sum over target tokens, and what is logged.

        source_weight: the weight of the loss on source tokens. Logged are (3,): the loss on target
        tokens, their negative log-likelihood, and how many they are.
        """
        output, smoothing = self.model.output, self.settings.label_smoothing
        dtype = AUTOCAST[self.settings.precision]
        with autocast(batch.source.device, dtype):
            hidden = self.model(batch.source, batch.target)
            loss, nll = cross_entropy(hidden.target, output, batch.target_out, smoothing, dtype)
            tokens = (batch.target_out != PAD).sum()
            total = loss
            if source_weight:
                assert hidden.source is not None
                states, targets = hidden.source
                source_loss, _ = cross_entropy(states, output, targets, 0.0, dtype)
                total = total + source_weight * source_loss
            if hidden.penalty is not None:
                total = total + hidden.penalty * tokens
        return total, torch.stack([loss.detach(), nll, tokens]).double()

    def optimizer_step(self) -> Tensor:
        """Step unless the gradient is NaN or infinite; return its norm before clipping."""
        self.scaler.unscale_(self.optimizer)
        parameters = list(self.model.parameters())
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if self.settings.gradient_clip:
            nn.utils.clip_grads_with_norm_(parameters, self.settings.gradient_clip, norm)
        if not self.scaler.is_enabled():
            # The scaler sets this where it is enabled: a fused optimizer then skips the step.
            found_inf = (~norm.isfinite()).float()
            self.optimizer.found_inf = found_inf  # type: ignore[attr-defined]
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return norm

    def pop_gradient_norms(self) -> list[float]:
        """Return the gradient's norm before clipping at each update since the last call."""
        norms = torch.stack(self.gradient_norms).tolist() if self.gradient_norms else []
        self.gradient_norms = []
        return norms


def build_optimizer(model: Model, settings: Training) -> torch.optim.Optimizer:
    """Return the experiment's optimizer; the learning rate is set before each update."""
    if settings.optimizer == "sgd":
        return torch.optim.SGD(model.parameters(), lr=0.0, fused=True)
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[settings.optimizer]
    return kind(
        model.parameters(),
        lr=0.0,
        betas=settings.adam_betas,
        eps=settings.adam_epsilon,
        weight_decay=settings.weight_decay,
        fused=True,
    )


def seed_random(*numbers: int) -> None:
    """Seed torch's global generators from several numbers."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))
