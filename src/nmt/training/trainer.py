"""One update: the gradient of a batch, summed over micro-batches and ranks, and a step."""

import warnings
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.device import allow_tf32, autocast, enough_memory
from nmt.models.protocol import PAD, Model
from nmt.training import schedule
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import AUTOCAST
from nmt.training.objective import cross_entropy
from nmt.training.requirements import require_support


class Trainer:
    """A model with its optimizer and gradient scaler: everything an update changes but counters.

    Only `pop_gradient_norms` synchronizes with a GPU, and what docs/performance.md lists of some
    families. Random numbers depend on seed, update and micro-batch, and on nothing that came
    before. So there is no generator's state to save, and dropout is the same on any number of ranks
    that compute the same micro-batches.
    """

    def __init__(self, model: Model, settings: Training, group: ProcessGroup, seed: int):
        require_support(model, settings, group.device)
        allow_tf32(settings.precision)
        self.model = model
        self.settings = settings
        self.group = group
        self.seed = seed
        self.objective: Objective | DistributedDataParallel = Objective(model, settings)
        if group.world_size > 1:
            # Buffers are tables of positions, which each process computes itself. (Later versions
            # of torch rename the argument and warn of this name; 2.11 does not know the new one.)
            with warnings.catch_warnings(action="ignore", category=FutureWarning):
                self.objective = DistributedDataParallel(
                    self.objective, broadcast_buffers=False, gradient_as_bucket_view=True
                )
        self.optimizer = build_optimizer(model, settings)
        self.scaler = torch.amp.GradScaler(
            group.device.type, enabled=settings.precision == "float16"
        )
        # This rank's loss, negative log-likelihood and target tokens since the last line of
        # metrics.jsonl
        self.sums = torch.zeros(3, dtype=torch.float64, device=group.device)
        # The sentences and gradient norm of each update since the last call of pop_gradient_norms
        self.gradient_norms: list[tuple[np.ndarray, Tensor]] = []

    def train_step(self, batch: UpdateBatch, learning_rate: float, update: int) -> None:
        """Take one step along the gradient of the mean loss per target token.

        A step whose gradient is NaN or infinite is skipped.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate
        self.objective.train()
        source_weight = schedule.source_weight(update, self.settings.source_loss)
        # DistributedDataParallel takes the mean of the ranks' gradients, an update needs the sum.
        scale = self.group.world_size / batch.target_tokens
        sums = torch.zeros_like(self.sums)
        last_number = max(batch.micro_batches)
        for number, micro_batch in batch.micro_batches.items():
            seed_random(self.seed, update, number)
            synchronize = number == last_number or self.group.world_size == 1
            with memory_for(micro_batch), nullcontext() if synchronize else self.no_sync():
                total, micro_sums = self.objective(micro_batch, source_weight)
                self.scaler.scale(total * scale).backward()
            sums += micro_sums
        with memory_for(micro_batch):  # the first step allocates the optimizer's moments
            norm = self.optimizer_step()
        self.sums += sums.where(norm.isfinite(), 0)
        self.gradient_norms.append((batch.sentences, norm))

    def no_sync(self) -> AbstractContextManager[None]:
        """Return a context in which a rank adds up its gradients without averaging over ranks."""
        assert isinstance(self.objective, DistributedDataParallel)
        return self.objective.no_sync()

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

    def pop_gradient_norms(self) -> list[tuple[np.ndarray, float]]:
        """Return the sentences and gradient norm of each update since the last call.

        Norms are those before clipping.
        """
        if not self.gradient_norms:
            return []
        sentences, norms = zip(*self.gradient_norms, strict=True)
        self.gradient_norms = []
        return list(zip(sentences, torch.stack(norms).tolist(), strict=True))


class Objective(nn.Module):
    """Model and loss as one module, as DistributedDataParallel needs them."""

    def __init__(self, model: Model, settings: Training):
        super().__init__()
        self.model = model
        self.settings = settings

    def forward(self, batch: Batch, source_weight: float) -> tuple[Tensor, Tensor]:
        """Return what is minimized, as a sum over target tokens, and what is logged.

        source_weight: the weight of the loss on source tokens. Logged are (3,): the loss on target
        tokens, their negative log-likelihood, and how many they are.
        """
        smoothing = self.settings.label_smoothing
        dtype = AUTOCAST[self.settings.precision]
        output = self.model.output
        with autocast(batch.source.device, dtype):
            hidden = self.model(batch.source, batch.target_in)
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
        return total * (tokens > 0), torch.stack([loss.detach(), nll, tokens]).double()


def memory_for(batch: Batch) -> AbstractContextManager[None]:
    """Return a context that raises UserError when there is not enough memory for a micro-batch."""
    (sentences, source), target = batch.source.tokens.shape, batch.target_in.size(1)
    return enough_memory(
        f"{sentences} sentences of {source} source and {target} target tokens",
        f"give train.py --device-tokens well below {sentences * max(source, target)}, or the"
        " experiment a smaller batch_tokens",
    )


def build_optimizer(model: Model, settings: Training) -> torch.optim.Optimizer:
    """Return the experiment's optimizer; the learning rate is set before each update."""
    match settings.optimizer:
        case "adam":
            return torch.optim.Adam(
                model.parameters(),
                lr=0.0,
                betas=settings.adam_betas,
                eps=settings.adam_epsilon,
                fused=True,
            )
        case "adamw":
            return torch.optim.AdamW(
                model.parameters(),
                lr=0.0,
                betas=settings.adam_betas,
                eps=settings.adam_epsilon,
                weight_decay=settings.weight_decay,
                fused=True,
            )
        case "sgd":
            return torch.optim.SGD(model.parameters(), lr=0.0, fused=True)


def seed_random(*numbers: int) -> None:
    """Seed torch's global generators from several numbers."""
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))
