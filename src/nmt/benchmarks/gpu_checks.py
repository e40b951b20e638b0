"""What is to be known of a GPU, in order of worth: correctness, resuming, speed, search."""

import logging
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from nmt.configuration import Decoding, Experiment
from nmt.data.batch import UpdateBatch
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.decoding.translator import translate_tokens
from nmt.models.build import build
from nmt.models.experts import Experts
from nmt.models.protocol import Model
from nmt.planning.roofline import Device, predict_training
from nmt.planning.texts import Texts, middle
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import Machine, least_tokens
from nmt.training.state import load_state, save_state
from nmt.training.trainer import Trainer

CPU = torch.device("cpu")
LARGEST_ERROR = 1e-4  # of gradients in float32, relative to their norm: TF32's are larger
LARGEST_RATIO = 2  # of a gradient's error, the device's to the CPU's
CHAOTIC = 0.5  # An error as large as this on the CPU says nothing about the device.
RATE = 1e-3
GROUPS = (0, 8_192, 16_384, 32_768, 65_536)  # least tokens of a group (nmt.data.grouping)
PROFILED_UPDATES = 8


@dataclass(frozen=True)
class Row:
    """A line of the table. predicted: by the roofline, where there is a prediction."""

    check: str
    experiment: str
    measured: str
    predicted: str = ""
    state: str = ""


@dataclass(frozen=True)
class Workload:
    """What is checked: small experiments of all families, and large ones at the paper's batch.

    device: where. predicted_for: the GPU that predictions are for, None for none. sentences: how
    many search translates. seconds: for which each speed is measured, after as long a warm-up.
    """

    families: list[Experiment]
    large: list[Experiment]
    texts: Texts
    device: torch.device
    predicted_for: Device | None
    sentences: int
    seconds: float


def checks(work: Workload) -> Iterator[Row]:
    """Yield the lines of the table, the most valuable first."""
    for experiment in work.families:
        yield tried(agreement, "error of the gradient", experiment, work)
    for experiment in work.families:
        yield tried(resuming, "state loaded after 2 of 4 updates", experiment, work)
    on_gpu = work.device.type == "cuda"
    groups = {0: "micro-batches as they are"} | {n: f"groups of {n:,} tokens" for n in GROUPS if n}
    sizes = GROUPS if on_gpu else (0,)  # a CPU has no use for groups
    for experiment in work.large:
        machine = Machine.of(work.device, experiment, make_trainer(experiment, work, CPU).model)
        for least in sizes:
            check = partial(training_speed, machine=machine, least=least)
            yield tried(check, f"training, {groups[least]}", experiment, work)
    yield tried(search_speed, "beam search, 4 hypotheses", work.large[-1], work)
    if on_gpu:  # After all speeds: what traces kernels may slow others down.
        for experiment in work.large:
            for least in sizes:
                check = partial(kernels, least=least)
                yield tried(check, f"kernels, {groups[least]}", experiment, work)


def tried(
    check: Callable[[Experiment, Workload], tuple[str, str, str]],
    name: str,
    experiment: Experiment,
    work: Workload,
) -> Row:
    """Return a check's line; an error is its state, and the next check goes on."""
    try:
        return Row(name, experiment.title, *check(experiment, work))
    except Exception as error:
        logging.exception(f"{name}, {experiment.title}")
        reason = str(error).partition("\n")[0] or repr(error)
        return Row(name, experiment.title, "", "", f"FAILED: {reason}")


def make_trainer(experiment: Experiment, work: Workload, device: torch.device) -> Trainer:
    """Return the trainer of a new model, whose weights are the same on any device."""
    torch.manual_seed(1)
    model = build(experiment.model, *work.texts.load("train").meta["vocabulary_sizes"])
    return Trainer(model.to(device), experiment.training, ProcessGroup(device), seed=1)


def updates(
    experiment: Experiment, work: Workload, device: torch.device, least: int = 0
) -> Iterator[UpdateBatch]:
    """Yield the updates of an epoch."""
    batches = Batches.for_training(work.texts.load("train"), experiment.training, seed=1)
    return batches.stream(1, 0, Partition(least_tokens=least), device)


def gradient(
    experiment: Experiment, work: Workload, device: torch.device, precision: str = "float32"
) -> Tensor:
    """Return the gradient of an update without dropout and noise, on the CPU.

    precision: one of training's, or float64.
    """
    exact = precision == "float64"
    model = experiment.model.model_copy(update={"dropout": 0.0})
    training = experiment.training.model_copy(
        update={"precision": "float32" if exact else precision}
    )
    experiment = experiment.model_copy(update={"model": model, "training": training})
    trainer = make_trainer(experiment, work, device)
    for module in trainer.model.modules():
        if isinstance(module, Experts):  # as gates start, all are equal, and the choice is chance
            module.gate.data.copy_(torch.randn(module.gate.shape))
    if exact:
        trainer.model.double()
    # Experts are without noise only in evaluation, in which cuDNN has no gradients.
    noisy = model.has_loss_of_batches
    trainer.objective.train(not noisy)
    batch = next(updates(experiment, work, device))
    with torch.backends.cudnn.flags(enabled=not noisy, allow_tf32=False):
        for micro_batch in batch.micro_batches.values():
            total, _ = trainer.objective(micro_batch, 0.0)
            (total / batch.target_tokens).backward()
    gradients = [parameter.grad for parameter in trainer.model.parameters()]
    return torch.cat([grad.flatten().cpu() for grad in gradients if grad is not None])


def agreement(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Compare the errors of the device's gradient and the CPU's, relative to float64 on the CPU.

    Families differ: the gradient of some is chaotic before training.
    """
    exact = gradient(experiment, work, CPU, "float64")
    measured, right = [], True
    for precision in ("float32", "bfloat16"):
        on_cpu = relative(gradient(experiment, work, CPU, precision), exact)
        error = relative(gradient(experiment, work, work.device, precision), exact)
        largest = max(LARGEST_RATIO * on_cpu, LARGEST_ERROR if precision == "float32" else 0)
        right = right and error < (math.inf if on_cpu > CHAOTIC else largest)  # no NaN is
        measured.append(f"{precision} {error:.1e} (CPU {on_cpu:.1e})")
    return ", ".join(measured), "", "right" if right else "WRONG"


def relative(computed: Tensor, expected: Tensor) -> float:
    """Return the norm of the difference, relative to that of what is expected."""
    return ((computed - expected).norm() / expected.norm()).item()


def resuming(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Compare four updates with two, a saved state, and two more: bit for bit."""
    torch.use_deterministic_algorithms(True)
    try:
        whole = make_trainer(experiment, work, work.device)
        resumed = make_trainer(experiment, work, work.device)
        stream = updates(experiment, work, work.device)
        for number, batch in enumerate(islice(stream, 4), start=1):
            whole.train_step(batch, RATE, number)
            if number == 2:
                with tempfile.TemporaryDirectory() as folder:
                    save_state(Path(folder) / "state", whole, Counters(), "check")
                    load_state(Path(folder) / "state", resumed, "check")
            if number > 2:
                resumed.train_step(batch, RATE, number)
    finally:
        torch.use_deterministic_algorithms(False)
    pairs = zip(whole.model.parameters(), resumed.model.parameters(), strict=True)
    return "", "", "same" if all(torch.equal(one, other) for one, other in pairs) else "OTHER"


def training_speed(
    experiment: Experiment, work: Workload, machine: Machine, least: int
) -> tuple[str, str, str]:
    """Measure target tokens a second, MFU and memory of training in groups of a size.

    MFU is relative to the machine's measured peak. The prediction is for the size that train.py
    uses.
    """
    trainer = make_trainer(experiment, work, work.device)
    if work.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(work.device)
    stream = updates(experiment, work, work.device, least)
    train(trainer, until(time.monotonic() + work.seconds, stream))  # first calls load kernels
    begun = time.monotonic()
    batches = train(trainer, until(begun + work.seconds, stream))
    seconds = time.monotonic() - begun
    tokens = sum(batch.target_tokens for batch in batches)
    flops = sum(machine.flops(batch, source_too=False) for batch in batches)
    mfu = flops / seconds / machine.peak
    memory = machine.memory() / 1e9
    measured = f"{tokens / seconds:,.0f} tokens/s, MFU {mfu:.0%}, {memory:.1f} GB"
    if work.predicted_for is None or least != least_tokens(work.device, experiment.model):
        return measured, "", ""
    prediction = predict_training(experiment, work.texts, work.predicted_for)
    rate = f"{prediction.tokens_per_second:,.0f} tokens/s"
    return measured, f"{rate}, bound by {prediction.bound}", ""


def kernels(experiment: Experiment, work: Workload, least: int) -> tuple[str, str, str]:
    """Count the kernels of an update in groups of a size, and measure the GPU's time for them."""
    trainer = make_trainer(experiment, work, work.device)
    stream = updates(experiment, work, work.device, least)
    train(trainer, islice(stream, PROFILED_UPDATES))
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        batches = train(trainer, islice(stream, PROFILED_UPDATES))
    events = [event for event in profiler.key_averages() if event.self_device_time_total]
    events = [event for event in events if not event.key.startswith(("Memcpy", "Memset"))]
    count = sum(event.count for event in events) / len(batches)
    microseconds = sum(event.self_device_time_total for event in events)
    cost = microseconds / sum(batch.target_tokens for batch in batches)
    return f"{count:,.0f} an update, {cost:.2f} ms for 1,000 target tokens", "", ""


def until(end: float, batches: Iterator[UpdateBatch]) -> Iterator[UpdateBatch]:
    """Yield batches until a time, but at least one."""
    yield next(batches)
    while time.monotonic() < end:
        yield next(batches)


def train(trainer: Trainer, batches: Iterable[UpdateBatch]) -> list[UpdateBatch]:
    """Train on batches, wait for the device, and return them."""
    trained = []
    for number, batch in enumerate(batches, start=1):
        trainer.train_step(batch, RATE, number)
        trained.append(batch)
    trainer.pop_gradient_norms()
    return trained


def search_speed(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Translate sentences as long as news by beam search; the weights are random."""
    model: Model = make_trainer(experiment, work, work.device).model
    dev = middle(work.texts.load("dev"), work.sentences)
    sources = dev.source.lists()
    # An untrained model does not know where to end: its translations get a trained one's length.
    decoding = Decoding(beam=4, max_extra=1)
    for batch in (sources[:100], sources):  # first calls load kernels
        begun = time.monotonic()
        for _ in translate_tokens(model, batch, decoding):
            pass
    rate = len(sources) / (time.monotonic() - begun)
    return f"{rate:,.1f} sentences/s", "", ""
