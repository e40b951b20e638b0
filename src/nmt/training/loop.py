"""The training loop: from the last state, or from the start, to the last update."""

import logging
import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from nmt.configuration import Training
from nmt.data.batches import Batches, Division
from nmt.errors import UserError
from nmt.files import remove
from nmt.models.protocol import Model
from nmt.models.weights import parameters, save_tensors
from nmt.progress import Progress
from nmt.training.trainer import Learner, autocast
from nmt.training.machine import Machine
from nmt.training.metrics import Metrics
from nmt.training.objective import cross_entropy
from nmt.training.distributed import Processes
from nmt.training.schedule import learning_rate, source_weight
from nmt.training.signals import stop_signals
from nmt.training.state import Counters, load_state, require_space, save_state

UPDATES_BETWEEN_METRICS = 20
SECONDS_BETWEEN_STATES = 60
MOST_TIME_FOR_STATES = 0.01  # a large state, which takes long to write, is written less often


class Stopped(Exception):
    """A signal asked training to stop; its state is on disk."""


def train(
    learner: Learner,
    peak: float,
    batches: Batches,
    division: Division,
    dev: Batches,
    dev_bleu: Callable[[], float],
    machine: Machine,
    folder: Path,
    fingerprint: str,
    made_by: dict,
) -> Counters:
    """Trains in `folder`, which keeps state.safetensors, metrics.jsonl and checkpoints/<update>.safetensors.

    The state is written every minute, at every interval and when a signal (SIGINT, SIGTERM, SIGUSR1) asks to stop,
    which then raises Stopped. Goes on from the state where there is one: interrupted and resumed equals
    uninterrupted, one process on a CPU bit for bit, with the same threads on the same machine. `made_by` describes
    code and machine; the state keeps those of all calls that made updates.

    Raises UserError when `most_skipped` updates in a row find no gradient that is a number.
    """
    settings, processes, state = learner.settings, learner.processes, folder / "state.safetensors"
    counters = resumed(state, learner, fingerprint, made_by)
    logged = replace(counters)  # what they were when the last line was written, for the rates since then
    metrics = Metrics(folder / "metrics.jsonl" if processes.first else None, counters.update)
    stream = batches.stream(counters.epoch, counters.position, division, processes.device)
    progress = Progress("training", settings.updates, "updates", counters.update, quiet=not processes.first)
    saved, clock = time.monotonic(), now()
    pause = SECONDS_BETWEEN_STATES

    with stop_signals() as stop, progress:
        while not finished(counters, settings):
            share = next(stream)
            counters.begin(share)
            counters.flops += machine.flops(share, source_weight(counters.update, settings.source_loss) > 0)
            rate = learning_rate(counters.update, settings, peak)
            learner.learn(share, rate, counters.update)

            to_log = counters.update % UPDATES_BETWEEN_METRICS == 0
            at_interval = counters.update % settings.interval == 0 or counters.update == settings.updates
            norm = settle(learner, counters, metrics) if to_log or at_interval else math.nan
            clock = spend(clock, processes, counters)
            if to_log:
                progress.update(0, **log(learner, counters, logged, rate, norm, machine, metrics))
                logged = replace(counters)
            if at_interval:
                evaluate(learner, counters, dev, dev_bleu, metrics)
                warn_of_flat_loss(counters, settings, batches.tokens.target.entropy)
                keep_checkpoint(learner, counters, folder)
                clock = spend(clock, processes, counters, logged)  # paid for, but training was no slower for it
            begun = time.monotonic()
            stopping, due = processes.any(bool(stop), processes.first and begun - saved >= pause)
            if stopping or due or at_interval:
                settle(learner, counters, metrics)
                metrics.flush_to_disk()
                save_state(state, learner, counters, fingerprint)
                saved = time.monotonic()
                pause = max(SECONDS_BETWEEN_STATES, (saved - begun) / MOST_TIME_FOR_STATES)
            if stopping and not finished(counters, settings):
                raise Stopped(f"stopped at update {counters.update}, all saved: run the same command to go on.")
            progress.update()
    return counters


def resumed(state: Path, learner: Learner, fingerprint: str, made_by: dict) -> Counters:
    """The last state, what the learner has of it being given to the learner; where there is none, the start."""
    if learner.processes.first:
        require_space(state.parent, learner)
    counters = load_state(state, learner, fingerprint)
    if learner.processes.first:
        forget_later(checkpoints(state.parent, "*"), counters.update)
    if made_by not in counters.made_by and not finished(counters, learner.settings):
        counters.made_by.append(made_by)
    return counters


def finished(counters: Counters, settings: Training) -> bool:
    out_of_patience = settings.patience is not None and counters.intervals_since_best >= settings.patience
    return counters.update >= settings.updates or out_of_patience


def now() -> tuple[float, float]:
    """Seconds of wall clock, and of this process's CPU time, both since some moment in the past."""
    return time.monotonic(), time.process_time()


def spend(since: tuple[float, float], processes: Processes, *counters: Counters) -> tuple[float, float]:
    """Count the seconds since then; return what time it is."""
    clock = now()
    seconds, cpu_seconds = (later - earlier for later, earlier in zip(clock, since, strict=True))
    for counter in counters:
        counter.spend(seconds, cpu_seconds, processes.size)
    return clock


def settle(learner: Learner, counters: Counters, metrics: Metrics) -> float:
    """Waits for the device, and looks at the updates since the last call: those without a gradient were left out.

    Returns the last gradient's norm. Raises UserError when too many in a row were left out.
    """
    outcomes = learner.outcomes()
    for update, (share, norm) in enumerate(outcomes, start=counters.update - len(outcomes) + 1):
        if math.isfinite(norm):
            counters.skipped_in_a_row = 0
            continue
        counters.skipped += 1
        counters.skipped_in_a_row += 1
        metrics.write(update=update, skipped_sentences=share.sentences.tolist())
        if counters.skipped_in_a_row >= learner.settings.most_skipped:
            ids = share.sentences.tolist()
            shown = ", ".join(map(str, ids[:10])) + (f" and {len(ids) - 10} more" if len(ids) > 10 else "")
            raise UserError(
                f"at update {update} and in the {counters.skipped_in_a_row - 1} before it the gradient is no longer a "
                f"number: lower the learning rate (the last batch has the training sentences {shown}, see "
                f"metrics.jsonl; {counters.skipped} updates were left out in all)."
            )
    return outcomes[-1][1] if outcomes else math.nan


def log(
    learner: Learner,
    counters: Counters,
    before: Counters,
    rate: float,
    norm: float,
    machine: Machine,
    metrics: Metrics,
) -> dict:
    """Writes means and rates since the counters `before`, those of the last line; returns what a progress bar shows.

    mfu: the share of the rate of large matrix products that the model's own products reached (Chowdhery et al. 2022).
    """
    loss, nll, tokens = learner.processes.total(learner.sums).tolist()
    learner.sums.zero_()
    speed = round((counters.target_tokens - before.target_tokens) / (counters.seconds - before.seconds))
    spent = counters.device_seconds - before.device_seconds
    means = {"loss": loss / tokens, "nll": nll / tokens, "perplexity": math.exp(nll / tokens)} if tokens else {}
    metrics.write(
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
        mfu=(counters.flops - before.flops) / spent / machine.peak,
        padding=1 - (counters.source_tokens + counters.target_tokens) / counters.positions,
        memory=machine.memory(),
    )
    return {name: f"{value:.3f}" for name, value in means.items()} | {"tokens_per_second": speed}


def evaluate(
    learner: Learner, counters: Counters, dev: Batches, dev_bleu: Callable[[], float], metrics: Metrics
) -> None:
    """Loss on the dev set, and BLEU now and then."""
    nll = dev_nll(learner.model, dev, learner.settings, learner.processes)
    line = {"update": counters.update, "dev_nll": nll, "dev_perplexity": math.exp(nll)}
    every = learner.settings.bleu_interval
    if every and counters.update % every == 0 and learner.processes.first:
        line["dev_bleu"] = dev_bleu()
    metrics.write(**line)
    logging.info(", ".join(f"{key} {value:.5g}" for key, value in line.items()))
    counters.intervals_since_best += 1
    if nll < counters.best_dev_nll:
        counters.best_dev_nll, counters.intervals_since_best = nll, 0


def warn_of_flat_loss(counters: Counters, settings: Training, entropy: float) -> None:
    """Post-LN Transformers, above all, may never learn more than how frequent words are."""
    long = counters.update >= max(2 * settings.warmup, 3 * settings.interval)
    if long and counters.best_dev_nll > 0.98 * entropy:
        logging.warning(
            f"the dev loss, {counters.best_dev_nll:.2f}, is still that of a model that knows nothing but how frequent "
            f"subwords are, {entropy:.2f}: try a longer warm-up, a lower learning rate or Pre-LN (norm: pre)."
        )


@torch.no_grad()
def dev_nll(model: Model, dev: Batches, settings: Training, processes: Processes) -> float:
    """Negative log-likelihood per subword (EOS counted) in nats, without smoothing; its exponential is perplexity."""
    model.eval()
    total = torch.zeros(2, dtype=torch.float64, device=processes.device)
    for numbers in dev.in_order()[processes.rank :: processes.size]:
        batch = dev.load(numbers).to(processes.device)
        with autocast(processes.device, settings):
            hidden = model(batch.source, batch.target_in)
            nll = cross_entropy(hidden.target, model.output, batch.target_out, 0.0)[1]
        total += torch.stack([nll.double(), torch.tensor(dev.target_tokens(numbers), device=nll.device)])
    nll, tokens = processes.total(total).tolist()
    return nll / tokens


def keep_checkpoint(learner: Learner, counters: Counters, folder: Path) -> None:
    """Keep the last `average` checkpoints, which the average is of, and the best one so far, as best-<update>.

    The one that was the best before stays beside it: until the state is written, it is still the best of that state.
    """
    if learner.processes.first:
        path = folder / "checkpoints" / f"{counters.update:08d}.safetensors"
        save_tensors(path, parameters(learner.model))
        if counters.intervals_since_best == 0:
            best = path.with_name(f"best-{path.name}")
            remove(best)
            os.link(path, best)
        for old in checkpoints(folder)[: -learner.settings.average] + checkpoints(folder, "best-*")[:-2]:
            remove(old)


def forget_later(paths: list[Path], update: int) -> None:
    """Checkpoints of updates that the state knows nothing of: it was lost, and they are made again."""
    for path in paths:
        if int(path.stem.removeprefix("best-")) > update:
            remove(path)


def checkpoints(folder: Path, pattern: str = "[0-9]*") -> list[Path]:
    """Oldest first."""
    return sorted((folder / "checkpoints").glob(f"{pattern}.safetensors"))
