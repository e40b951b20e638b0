"""What an update does: the gradient of a batch, wherever its parts are computed, and a step against it."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from nmt.configuration import Training
from nmt.data.batches import Batch, Share
from nmt.errors import UserError
from nmt.models.protocol import PAD, Model
from nmt.training.machine import AUTOCAST
from nmt.training.objective import cross_entropy
from nmt.training.distributed import Processes
from nmt.training.requirements import require_support
from nmt.training.schedule import source_weight


class Objective(nn.Module):
    """What is minimized, as one module: torch shares the gradients of a module among processes."""

    def __init__(self, model: Model, settings: Training):
        super().__init__()
        self.model, self.settings = model, settings

    def forward(self, batch: Batch, weight_of_source: float) -> tuple[Tensor, Tensor]:
        """A sum over target tokens to minimize; and (3,): loss, negative log-likelihood, number of target tokens."""
        with autocast(batch.source.device, self.settings):
            hidden = self.model(batch.source, batch.target_in)
            loss, nll = cross_entropy(hidden.target, self.model.output, batch.target_out, self.settings.label_smoothing)
            tokens = (batch.target_out != PAD).sum()
            total = loss
            if weight_of_source:
                states, wanted = hidden.source
                total = total + weight_of_source * cross_entropy(states, self.model.output, wanted, 0.0)[0]
            if hidden.penalty is not None:
                total = total + hidden.penalty * tokens
        return total * (tokens > 0), torch.stack([loss.detach(), nll, tokens]).double()


def autocast(device: torch.device, settings: Training) -> torch.autocast:
    dtype = AUTOCAST[settings.precision]
    return torch.autocast(device.type, dtype, enabled=dtype is not None)


class Learner:
    """A model and all else that updates change but counters; it waits for a GPU only in `outcomes`.

    Random numbers are a function of seed, update and part of the batch, and of nothing that came before: there is
    no stream to save, and as many parts on any number of processes drop out the same.
    """

    def __init__(self, model: Model, settings: Training, processes: Processes, seed: int):
        require_support(model, settings, processes.device)
        self.model, self.settings, self.processes, self.seed = model, settings, processes, seed
        self.objective = Objective(model, settings)
        if processes.size > 1:
            # Buffers are tables of positions: each process makes its own. (torch 2.11 has not the argument's new name.)
            with warnings.catch_warnings(action="ignore", category=FutureWarning):
                self.objective = DistributedDataParallel(
                    self.objective, broadcast_buffers=False, gradient_as_bucket_view=True
                )
        self.optimizer = build_optimizer(model, settings)
        self.scaler = torch.amp.GradScaler(processes.device.type, enabled=settings.precision == "float16")
        # Loss, negative log-likelihood and target tokens since the last line of metrics.jsonl, of this process
        self.sums = torch.zeros(3, dtype=torch.float64, device=processes.device)
        self.latest: list[tuple[Share, Tensor]] = []

    def learn(self, share: Share, rate: float, update: int) -> None:
        """One update along the gradient of the mean loss of a target token. It is left out if that is no number."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.objective.train()
        weight = source_weight(update, self.settings.source_loss)
        scale = self.processes.size / share.target_tokens  # torch takes the mean over processes
        sums = torch.zeros_like(self.sums)
        for number, batch in share.parts.items():
            last = number == max(share.parts)
            seed_random(self.seed, update, number)
            alone = last or self.processes.size == 1
            with enough_memory(batch), nullcontext() if alone else self.objective.no_sync():
                total, found = self.objective(batch, weight)
                self.scaler.scale(total * scale).backward()
            sums += found
        with enough_memory(batch):  # the optimizer's moments are made in its first step
            norm = self.step()
        self.sums += sums.where(norm.isfinite(), 0)
        self.latest.append((share, norm))

    def step(self) -> Tensor:
        """Against the gradient, if it is a number; returns its norm before clipping."""
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.gradient_clip or math.inf)
        if not self.scaler.is_enabled():
            # What the scaler would say: fused optimizers then stand still.
            self.optimizer.found_inf = (~norm.isfinite()).float()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        return norm

    def outcomes(self) -> list[tuple[Share, float]]:
        """Of the updates since the last call, what each learned from and its gradient's norm before clipping."""
        latest, self.latest = self.latest, []
        norms = torch.stack([norm for _, norm in latest]).tolist() if latest else []
        return [(share, norm) for (share, _), norm in zip(latest, norms, strict=True)]


@contextmanager
def enough_memory(batch: Batch) -> Iterator[None]:
    """Raises UserError when there is not."""
    try:
        yield
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "can't allocate memory" not in str(error):
            raise
        (sentences, source), target = batch.source.shape, batch.target_in.size(1)
        raise UserError(
            f"there is not enough memory for {sentences} sentences of {source} source and {target} target tokens: give "
            f"train.py --device-tokens well below {sentences * max(source, target)}, or experiments.yaml a smaller "
            "batch_tokens."
        ) from None


def build_optimizer(model: Model, settings: Training) -> torch.optim.Optimizer:
    """The rate is set before each update."""
    adam = {"betas": settings.adam_betas, "eps": settings.adam_epsilon}
    match settings.optimizer:
        case "adam":
            return torch.optim.Adam(model.parameters(), lr=0.0, **adam, fused=True)
        case "adamw":
            return torch.optim.AdamW(model.parameters(), lr=0.0, **adam, weight_decay=settings.weight_decay, fused=True)
        case "sgd":
            return torch.optim.SGD(model.parameters(), lr=0.0, fused=True)


def seed_random(*numbers: int) -> None:
    torch.manual_seed(int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0]))
