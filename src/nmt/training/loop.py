"""The training loop: from the last state, or from the start, to the last update."""

import logging
import math
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from nmt.configuration import Training
from nmt.data.batches import Batch, Batches
from nmt.errors import UserError
from nmt.files import remove
from nmt.models.protocol import Model
from nmt.models.weights import parameters, save_tensors
from nmt.progress import Progress
from nmt.training.metrics import Metrics
from nmt.training.objective import cross_entropy
from nmt.training.schedule import learning_rate, source_weight
from nmt.training.state import Counters, load_state, save_state

UPDATES_BETWEEN_METRICS = 20
SECONDS_BETWEEN_STATES = 60


class Stopped(Exception):
    """A signal asked training to stop; its state is on disk."""


def train(
    model: Model,
    training: Training,
    peak: float,
    batches: Batches,
    dev: Batches,
    dev_bleu: Callable[[], float],
    folder: Path,
    fingerprint: str,
    made_by: dict,
) -> Counters:
    """Trains `model` in `folder`, which keeps state.safetensors, metrics.jsonl and checkpoints/<update>.safetensors.

    The state is written every minute, at every interval and when a signal (SIGINT, SIGTERM, SIGUSR1) asks to stop,
    which then raises Stopped. Goes on from the state where there is one: interrupted and resumed equals
    uninterrupted, bit for bit, on the same machine. `made_by` describes code and machine; the state keeps those of
    all calls that made updates.
    """
    device = next(model.parameters()).device
    optimiser = build_optimiser(model, training)
    state = folder / "state.safetensors"
    counters = Counters()
    if state.exists():
        counters = load_state(state, model, optimiser, fingerprint)
        logging.info(f"going on from update {counters.update}")
    if made_by not in counters.made_by and not finished(counters, training):
        counters.made_by.append(made_by)
    metrics = Metrics(folder / "metrics.jsonl", counters.update)
    stream = batches.stream(counters.epoch, counters.position)
    saved = clock = time.monotonic()

    with stop_signals() as stop, Progress("training", training.updates, "updates", counters.update) as progress:
        while not finished(counters, training):
            counters.epoch, counters.position, batch = next(stream)
            counters.update += 1
            rate = learning_rate(counters.update, training, peak)
            learn(model, optimiser, batch.to(device), rate, training, counters)
            clock, counters.seconds = time.monotonic(), counters.seconds + time.monotonic() - clock

            if counters.update % UPDATES_BETWEEN_METRICS == 0:
                speed = log(counters, rate, metrics)
                progress.update(0, loss=f"{speed['loss']:.3f}", tokens_per_second=speed["tokens_per_second"])
            if counters.update % training.interval == 0 or counters.update == training.updates:
                at_interval(counters, model, training, dev, dev_bleu, folder, metrics)
                clock, counters.seconds = time.monotonic(), counters.seconds + time.monotonic() - clock
            at_end = counters.update % training.interval == 0 or finished(counters, training)
            if stop or at_end or time.monotonic() - saved >= SECONDS_BETWEEN_STATES:
                metrics.flush_to_disk()
                save_state(state, model, optimiser, counters, fingerprint)
                saved = time.monotonic()
            if stop and not finished(counters, training):
                raise Stopped(f"stopped at update {counters.update}, all saved: run the same command to go on.")
            progress.update()
    return counters


def build_optimiser(model: Model, training: Training) -> torch.optim.Optimizer:
    """The rate is set before each update."""
    adam = {"betas": training.adam_betas, "eps": training.adam_epsilon}
    match training.optimiser:
        case "adam":
            return torch.optim.Adam(model.parameters(), lr=0.0, **adam, fused=True)
        case "adamw":
            return torch.optim.AdamW(model.parameters(), lr=0.0, **adam, weight_decay=training.weight_decay, fused=True)
        case "sgd":
            return torch.optim.SGD(model.parameters(), lr=0.0, fused=True)


def learn(
    model: Model, optimiser: torch.optim.Optimizer, batch: Batch, rate: float, training: Training, counters: Counters
) -> None:
    """One update: the gradient of the mean loss of a target token, and of what the family adds to it.

    Raises UserError when the loss is not finite.
    """
    for group in optimiser.param_groups:
        group["lr"] = rate
    model.train()
    with autocast(batch.source.device, training):
        hidden = model(batch.source, batch.target_in)
        loss, nll = cross_entropy(hidden.target, model.output, batch.target_out, training.label_smoothing)
        total = loss
        if weight := source_weight(counters.update, training.source_loss):
            total = total + weight * cross_entropy(hidden.source[0], model.output, hidden.source[1], 0.0)[0]
        if hidden.penalty is not None:
            total = total + hidden.penalty * batch.target_tokens
    if not math.isfinite(total.item()):
        raise UserError(f"the loss is no longer a number at update {counters.update}: lower the learning rate.")
    (total / batch.target_tokens).backward()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), training.gradient_clip or math.inf)
    optimiser.step()
    optimiser.zero_grad()
    counters.loss += loss.item()
    counters.nll += nll.item()
    counters.tokens += batch.target_tokens
    counters.target_tokens += batch.target_tokens
    counters.gradient_norm = norm.item()


def finished(counters: Counters, training: Training) -> bool:
    out_of_patience = training.patience is not None and counters.intervals_since_best >= training.patience
    return counters.update >= training.updates or out_of_patience


def log(counters: Counters, rate: float, metrics: Metrics) -> dict:
    """Writes the means since the last line and starts new sums."""
    line = {
        "update": counters.update,
        "epoch": counters.epoch,
        "target_tokens": counters.target_tokens,
        "loss": counters.loss / counters.tokens,
        "nll": counters.nll / counters.tokens,
        "learning_rate": rate,
        "gradient_norm": counters.gradient_norm,
        "seconds": round(counters.seconds, 2),
        "tokens_per_second": round(counters.target_tokens / counters.seconds),
    }
    metrics.write(**line)
    counters.loss = counters.nll = counters.tokens = 0
    return line


def at_interval(
    counters: Counters,
    model: Model,
    training: Training,
    dev: Batches,
    dev_bleu: Callable[[], float],
    folder: Path,
    metrics: Metrics,
) -> None:
    """Loss on the dev set, BLEU now and then, and a checkpoint; only the last `average` checkpoints are kept."""
    nll = dev_nll(model, dev, training)
    line = {"update": counters.update, "dev_nll": nll, "dev_perplexity": math.exp(nll)}
    if training.bleu_interval and counters.update % training.bleu_interval == 0:
        line["dev_bleu"] = dev_bleu()
    metrics.write(**line)
    logging.info(", ".join(f"{key} {value:.5g}" for key, value in line.items()))
    counters.intervals_since_best += 1
    if nll < counters.best_dev_nll:
        counters.best_dev_nll, counters.intervals_since_best = nll, 0
    save_tensors(folder / "checkpoints" / f"{counters.update:08d}.safetensors", parameters(model))
    for old in checkpoints(folder)[: -training.average]:
        remove(old)


def checkpoints(folder: Path) -> list[Path]:
    """Oldest first."""
    return sorted((folder / "checkpoints").glob("[0-9]*.safetensors"))


@torch.no_grad()
def dev_nll(model: Model, dev: Batches, training: Training) -> float:
    """Negative log-likelihood per subword (EOS counted) in nats, without smoothing; its exponential is perplexity."""
    device = next(model.parameters()).device
    model.eval()
    total, tokens = 0.0, 0
    for numbers in dev.in_order():
        batch = dev.load(numbers).to(device)
        with autocast(device, training):
            hidden = model(batch.source, batch.target_in)
            total += cross_entropy(hidden.target, model.output, batch.target_out, 0.0)[1].item()
        tokens += batch.target_tokens
    return total / tokens


def autocast(device: torch.device, training: Training) -> torch.autocast:
    return torch.autocast(device.type, torch.bfloat16, enabled=training.precision == "bfloat16")


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """A list that is filled when a signal asks to stop; a second one of the same kind ends the process at once."""
    received: list[int] = []

    def stop(number: int, _: object) -> None:
        received.append(number)
        signal.signal(number, before[number])

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
