"""The training loop: from the last state, or from the start, to the last update."""

import logging
import math
import time
from dataclasses import replace
from signal import SIGINT

from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.errors import UserError
from nmt.progress import Progress
from nmt.training import slurm
from nmt.training.counters import Counters
from nmt.training.machine import Machine
from nmt.training.metrics import Metrics
from nmt.training.run_folder import RunFolder
from nmt.training.schedule import learning_rate, source_weight
from nmt.training.signals import stop_signals
from nmt.training.state import load_state, save_state
from nmt.training.trainer import Trainer
from nmt.training.validation import Validation, dev_nll, has_diverged, perplexity

UPDATES_BETWEEN_METRICS = 20
SECONDS_BETWEEN_STATES = 60
TIME_FOR_STATES = 0.01  # fraction at most: a large state, which takes long, is written less often


class Stopped(Exception):
    """A signal asked training to stop; its state is on disk.

    by_hand: whether it was Ctrl-C, and not a service that ends the job.
    """

    def __init__(self, by_hand: bool):
        super().__init__()
        self.by_hand = by_hand


class TrainingLoop:
    """One run's updates, with all that is logged, kept and measured on the way.

    The state is written every minute, or less often where writing it would take more than
    TIME_FOR_STATES of the time, at every interval and when a signal (SIGINT, SIGTERM,
    SIGUSR1) asks to stop. Interrupted and resumed equals uninterrupted: on a CPU bit for bit, with
    one rank, the same threads and the same machine.
    """

    def __init__(
        self,
        trainer: Trainer,
        batches: Batches,
        partition: Partition,
        validation: Validation,
        machine: Machine,
        folder: RunFolder,
        peak_learning_rate: float,
    ):
        self.trainer = trainer
        self.settings = trainer.settings
        self.group = trainer.group
        self.batches = batches
        self.partition = partition
        self.validation = validation
        self.machine = machine
        self.folder = folder
        self.peak_learning_rate = peak_learning_rate

    def run(self, made_by: dict) -> Counters:
        """Train to the last update, and return what was done.

        made_by: describes code and machine; the state keeps those of all calls that made updates.
        Raises Stopped when a signal stopped it, and UserError when `most_skipped` updates in a row
        had a gradient that was NaN or infinite.
        """
        counters = self.resume(made_by)
        stream = self.batches.stream(
            counters.epoch, counters.update_in_epoch, self.partition, self.group.device
        )
        with stop_signals() as stop, self.progress:
            while not counters.is_finished(self.settings):
                batch = next(stream)
                counters.begin(batch)
                source_too = source_weight(counters.update, self.settings.source_loss) > 0
                counters.flops += self.machine.flops(batch, source_too)
                rate = learning_rate(counters.update, self.settings, self.peak_learning_rate)
                self.trainer.train_step(batch, rate, counters.update)

                to_log = counters.update % UPDATES_BETWEEN_METRICS == 0
                at_interval = self.at_interval()
                norm = self.check_gradients() if to_log or at_interval else math.nan
                self.spend(counters)
                if to_log:
                    self.log(rate, norm)
                if at_interval:
                    self.validate()
                    self.spend_beside_training()
                due = self.group.is_main and time.monotonic() >= self.next_state
                ends = self.group.is_main and self.is_out_of_time(due)
                stopping, by_hand, due = self.group.any(bool(stop) or ends, SIGINT in stop, due)
                if stopping or due or at_interval:
                    self.save()
                if stopping and not counters.is_finished(self.settings):
                    # torchrun ends all ranks with one, and the first may still be writing.
                    self.group.barrier()
                    logging.info(
                        f"stopped at update {counters.update}, all saved: run the same command to"
                        " go on."
                    )
                    raise Stopped(by_hand)
                self.progress.update()
        return counters

    def resume(self, made_by: dict) -> Counters:
        """Restore the last state, if there is one, and open the metrics."""
        if self.group.is_main:
            self.folder.require_space(self.trainer)
        self.counters = load_state(self.folder.state, self.trainer, self.folder.fingerprint)
        counters = self.counters
        self.require_same_update(counters.update)
        if self.group.is_main:
            self.folder.forget_checkpoints_after(counters.update)
        if made_by not in counters.made_by and not counters.is_finished(self.settings):
            counters.made_by.append(made_by)
        self.dev = self.validation.batches()
        self.logged = replace(counters)  # what they were at the last line, for the rates since then
        self.metrics = Metrics(self.folder.metrics if self.group.is_main else None, counters.update)
        self.progress = Progress(
            "training",
            self.settings.updates,
            "updates",
            counters.update,
            quiet=not self.group.is_main,
        )
        self.clock = now()
        self.next_state = time.monotonic() + SECONDS_BETWEEN_STATES
        self.state_seconds = 0.0  # what writing the last one took
        self.longest_update = 0.0  # in seconds, with the validation and the state after it
        self.updated = time.monotonic()
        self.end = slurm.end_of_training() if self.group.is_main else math.inf
        return counters

    def require_same_update(self, update: int) -> None:
        """Raise UserError where ranks would resume from different updates."""
        latest, earliest = self.group.max(update, -update)
        if latest != -earliest:
            raise UserError(
                f"ranks would resume from different updates, {-earliest} to {latest}:"
                f" {self.folder.state_folder} must be on a file system that all nodes share."
            )

    def is_out_of_time(self, due: bool) -> bool:
        """Return whether a job's time limit is so near that the state has to be written now.

        Called after each update. due: whether the state is written in any case; then squeue, where
        it has not answered yet, is asked for the limit again.
        """
        moment = time.monotonic()
        self.longest_update = max(self.longest_update, moment - self.updated)
        self.updated = moment
        ready = moment + self.longest_update + 2 * self.state_seconds
        if due if self.end is None else ready >= self.end:
            # The limit may have been changed; a squeue that does not answer changes nothing.
            self.end = slurm.end_of_training() or self.end
        return self.end is not None and ready >= self.end

    def at_interval(self) -> bool:
        """Return whether the model is validated and kept after this update."""
        update = self.counters.update
        return update % self.settings.interval == 0 or update == self.settings.updates

    def spend(self, *counters: Counters) -> None:
        """Count the time since the last call."""
        clock = now()
        seconds, cpu_seconds = clock[0] - self.clock[0], clock[1] - self.clock[1]
        for counter in counters:
            counter.spend(seconds, cpu_seconds, self.group.world_size)
        self.clock = clock

    def spend_beside_training(self) -> None:
        """Count the time since the last call as paid for, but not as slower training."""
        self.spend(self.counters, self.logged)

    def check_gradients(self) -> float:
        """Wait for the device, count skipped updates, and return the last gradient's norm.

        Raises UserError when too many in a row were skipped.
        """
        counters = self.counters
        gradient_norms = self.trainer.pop_gradient_norms()
        first_update = counters.update - len(gradient_norms) + 1
        for update, (sentences, norm) in enumerate(gradient_norms, start=first_update):
            if math.isfinite(norm):
                counters.skipped_in_a_row = 0
                continue
            counters.skipped += 1
            counters.skipped_in_a_row += 1
            ids = sentences.tolist()
            self.metrics.write(update=update, skipped_sentences=ids)
            if counters.skipped_in_a_row >= self.settings.most_skipped:
                more = f" and {len(ids) - 10} more" if len(ids) > 10 else ""
                raise UserError(
                    f"the gradient is NaN or infinite at update {update} and in the"
                    f" {counters.skipped_in_a_row - 1} before it: lower the learning rate (the last"
                    f" batch has the training pairs {', '.join(map(str, ids[:10]))}{more}, counted"
                    " from 0 after cleaning, see metrics.jsonl;"
                    f" {counters.skipped} updates were skipped in all)."
                )
        return gradient_norms[-1][1] if gradient_norms else math.nan

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
        real_tokens = counters.source_tokens + counters.target_tokens
        tokens_since = real_tokens - counters.logged_tokens
        padded_since = counters.padded_tokens - counters.logged_padded_tokens
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
            cpu_seconds=round(counters.cpu_seconds, 2),
            tokens_per_second=speed,
            mfu=(counters.flops - before.flops) / device_seconds / self.machine.peak,
            padding=1 - tokens_since / padded_since,
            memory=self.machine.memory(),
        )
        shown = {name: f"{value:.3f}" for name, value in means.items()}
        self.progress.update(0, **shown, tokens_per_second=speed)
        counters.logged_tokens = real_tokens
        counters.logged_padded_tokens = counters.padded_tokens
        self.logged = replace(counters)

    def validate(self) -> None:
        """Measure the loss on the dev set, BLEU now and then, and keep a checkpoint."""
        counters, model = self.counters, self.trainer.model
        nll = dev_nll(model, self.dev, self.settings, self.group)
        scores = {"dev_nll": nll, "dev_perplexity": perplexity(nll)}
        interval = self.settings.bleu_interval
        with_bleu = interval and counters.update % interval == 0 and math.isfinite(nll)
        if with_bleu and self.group.is_main:
            scores["dev_bleu"] = self.validation.bleu(model)
        self.metrics.write(counters.update, **scores)
        line = {"update": counters.update, **scores}
        logging.info(", ".join(f"{key} {value:.5g}" for key, value in line.items()))
        counters.record_dev_nll(nll)
        if self.group.is_main:
            self.warn_of_flat_loss()
            self.folder.keep_checkpoint(self.trainer, counters)

    def warn_of_flat_loss(self) -> None:
        """Warn of a loss that stays flat: Post-LN Transformers, above all, may never learn more."""
        counters, settings = self.counters, self.settings
        if counters.update < max(2 * settings.warmup, 3 * settings.interval):
            return
        entropy = self.batches.tokens.target.entropy
        if counters.best_dev_nll > 0.98 * entropy:
            logging.warning(
                f"the dev loss, {counters.best_dev_nll:.2f}, is still that of a model that knows"
                f" nothing but how frequent subwords are, {entropy:.2f}: try a longer warm-up, a"
                " lower learning rate or Pre-LN (norm: pre)."
            )

    def warn_of_divergence(self) -> bool:
        """Return whether the finished training has diverged, and say so."""
        nll, size = self.counters.dev_nll, self.batches.tokens.meta["vocabulary_sizes"][1]
        diverged = has_diverged(nll, size)
        if diverged:
            logging.warning(
                f"the training has diverged: its last dev perplexity, {perplexity(nll):.3g}, is"
                f" worse than that of guessing among the {size} subwords. Try a lower learning rate"
                " or a longer warm-up."
            )
        return diverged

    def save(self) -> None:
        """Write the state, whose metrics outlast a power cut as it does."""
        begun = time.monotonic()
        self.check_gradients()
        self.metrics.flush_to_disk()
        save_state(self.folder.state, self.trainer, self.counters, self.folder.fingerprint)
        self.state_seconds = time.monotonic() - begun
        pause = max(SECONDS_BETWEEN_STATES, self.state_seconds / TIME_FOR_STATES)
        self.next_state = time.monotonic() + pause
        self.spend_beside_training()


def now() -> tuple[float, float]:
    """Return seconds of wall clock, and of this process's CPU time, both since some moment."""
    return time.monotonic(), time.process_time()
