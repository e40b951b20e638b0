"""The training loop: from the last state, or from the start, to the last update."""

import logging
import math
import time
from collections.abc import Iterator
from dataclasses import replace
from signal import SIGINT

import torch

from nmt.data.batch import UpdateBatch
from nmt.errors import UserError
from nmt.progress import Progress
from nmt.training.machine import Machine
from nmt.training.metrics import Metrics
from nmt.training.run_folder import RunFolder
from nmt.training.schedule import learning_rate, source_weight
from nmt.training.state import Counters, load_state, save_state
from nmt.training.stopping import Stopped, TimeLimit, stop_signals
from nmt.training.trainer import Trainer
from nmt.training.validation import Validation, dev_nll, perplexity

UPDATES_BETWEEN_METRICS = 20
SECONDS_BETWEEN_STATES = 60
TIME_FOR_STATES = 0.01  # fraction at most: a large state, which takes long, is written less often


def resume(trainer: Trainer, folder: RunFolder, made_by: dict) -> Counters:
    """Restore the last state, if there is one, and return what was done up to it.

    made_by: describes code and machine; the state keeps those of all calls that made updates.
    Raises UserError where ranks would resume from different updates.
    """
    group = trainer.group
    counters = load_state(folder.state, trainer, folder.fingerprint)
    if group.sum(torch.tensor(counters.update)) != group.world_size * counters.update:
        raise UserError(
            f"ranks would resume from different updates: {folder.state_folder} must be on a file"
            " system that all nodes share."
        )
    if group.is_main:
        folder.forget_checkpoints_after(counters.update)
    if made_by not in counters.made_by and not counters.is_finished(trainer.settings):
        counters.made_by.append(made_by)
    return counters


class TrainingLoop:
    """One run's updates, with all that is logged, kept and measured on the way.

    The state is written every minute, or less often where writing it would take more than
    TIME_FOR_STATES of the time, at every interval and when a signal or a time limit asks to stop.
    Interrupted and resumed equals uninterrupted: on a CPU bit for bit, with one rank, the same
    threads and the same machine.

    stream: this rank's batches, from the update on that `counters` are at.
    """

    def __init__(
        self,
        trainer: Trainer,
        stream: Iterator[UpdateBatch],
        validation: Validation,
        machine: Machine,
        folder: RunFolder,
        counters: Counters,
    ):
        self.trainer = trainer
        self.settings = trainer.settings
        self.group = trainer.group
        self.stream = stream
        self.validation = validation
        self.machine = machine
        self.folder = folder
        self.counters = counters
        self.logged = replace(counters)  # what they were at the last line, for the rates since then
        self.metrics = Metrics(folder.metrics if self.group.is_main else None, counters.update)
        self.progress = Progress(
            "training",
            self.settings.updates,
            "updates",
            counters.update,
            quiet=not self.group.is_main,
        )
        self.limit = TimeLimit()
        self.clock = time.monotonic()
        self.next_state = self.clock + SECONDS_BETWEEN_STATES

    def run(self) -> None:
        """Train to the last update.

        Raises Stopped when a signal or a time limit stopped it, and UserError when many updates in
        a row had a gradient that was NaN or infinite.
        """
        counters = self.counters
        with stop_signals() as received, self.progress:
            while not counters.is_finished(self.settings):
                rate = self.train_step()
                self.progress.update()
                to_log = counters.update % UPDATES_BETWEEN_METRICS == 0
                at_interval = counters.update % self.settings.interval == 0
                at_interval |= counters.update == self.settings.updates
                norm = self.wait_for_updates() if to_log or at_interval else math.nan
                self.spend(counters)
                if to_log:
                    self.log(rate, norm)
                if at_interval:
                    self.validate()
                    self.spend(counters, self.logged)
                due = at_interval or (self.group.is_main and time.monotonic() >= self.next_state)
                ends = bool(received) or (self.group.is_main and self.limit.is_near())
                stopping, by_hand, due = self.group.any(ends, SIGINT in received, due)
                if stopping or due:
                    self.save()
                if stopping and not counters.is_finished(self.settings):
                    # torchrun ends all ranks with one, and the first may still be writing.
                    self.group.barrier()
                    logging.info(
                        f"stopped at update {counters.update}, all saved; the same command goes on."
                    )
                    raise Stopped(by_hand)

    def train_step(self) -> float:
        """Make one update, and return its learning rate."""
        counters, settings = self.counters, self.settings
        batch = next(self.stream)
        counters.begin(batch)
        source_too = source_weight(counters.update, settings.source_loss) > 0
        counters.flops += self.machine.flops(batch, source_too)
        peak = self.folder.experiment.peak_learning_rate
        rate = learning_rate(counters.update, settings, peak)
        self.trainer.train_step(batch, rate, counters.update)
        return rate

    def wait_for_updates(self) -> float:
        """Wait for the device, count skipped updates, and return the last gradient's norm."""
        norms = self.trainer.pop_gradient_norms()
        self.counters.count_skipped(norms)
        return norms[-1] if norms else math.nan

    def spend(self, *counters: Counters) -> None:
        """Count the time since the last call.

        What `logged` counts too is paid for, but does not slow the training that is logged.
        """
        before, self.clock = self.clock, time.monotonic()
        for counter in counters:
            counter.seconds += self.clock - before
            counter.device_seconds += (self.clock - before) * self.group.world_size

    def log(self, rate: float, norm: float) -> None:
        """Write means and rates since the last line.

        mfu: the model FLOPs utilization of Chowdhery et al. 2022, appendix B, with the measured
        rate of a large matrix product in place of the data sheet's peak.
        """
        counters, before = self.counters, self.logged
        loss, nll, tokens = self.group.sum(self.trainer.sums).tolist()
        self.trainer.sums.zero_()
        target_tokens = counters.target_tokens - before.target_tokens
        speed = round(target_tokens / (counters.seconds - before.seconds))
        device_seconds = counters.device_seconds - before.device_seconds
        means: dict[str, float] = {}
        if tokens:
            means = {
                "loss": loss / tokens,
                "nll": nll / tokens,
                "perplexity": perplexity(nll / tokens),
            }
        self.metrics.write(
            update=counters.update,
            epoch=counters.epoch,
            target_tokens=counters.target_tokens,
            flops=counters.flops,
            **means,
            learning_rate=rate,
            gradient_norm=norm,
            skipped=counters.skipped,
            seconds=round(counters.seconds, 2),
            tokens_per_second=speed,
            mfu=(counters.flops - before.flops) / device_seconds / self.machine.peak,
        )
        if means:
            self.progress.show(loss=f"{means['loss']:.3f}")
        self.logged = replace(counters)

    def validate(self) -> None:
        """Measure the loss on the dev set, BLEU now and then, and keep a checkpoint."""
        counters, model = self.counters, self.trainer.model
        nll = dev_nll(model, self.validation.batches, self.settings, self.group)
        scores = {"dev_nll": nll, "dev_perplexity": perplexity(nll)}
        interval = self.settings.bleu_interval
        with_bleu = interval and counters.update % interval == 0 and math.isfinite(nll)
        if with_bleu and self.group.is_main:
            scores["dev_bleu"] = self.validation.bleu(model)
            scores["training_bleu"] = self.validation.training_bleu(model)
        self.metrics.write(counters.update, **scores)
        if "dev_bleu" in scores:
            self.progress.show(dev_BLEU=f"{scores['dev_bleu']:.2f}")
        elif not interval:
            self.progress.show(dev_perplexity=f"{scores['dev_perplexity']:.2f}")
        self.progress.log()
        counters.record_dev_nll(nll)
        if self.group.is_main:
            self.folder.keep_checkpoint(self.trainer, counters)

    def save(self) -> None:
        """Write the state, whose metrics outlast a power cut as it does."""
        begun = time.monotonic()
        self.wait_for_updates()
        self.metrics.flush_to_disk()
        save_state(self.folder.state, self.trainer, self.counters, self.folder.fingerprint)
        end = time.monotonic()
        self.next_state = end + max(SECONDS_BETWEEN_STATES, (end - begun) / TIME_FOR_STATES)
        self.spend(self.counters, self.logged)
