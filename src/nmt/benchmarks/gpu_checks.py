"""What is to be known of a GPU, in order of worth: correctness, resuming, speed, search."""

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from nmt.configuration import Decoding, Experiment
from nmt.data.batch import UpdateBatch
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.decoding.translator import translate_tokens
from nmt.errors import UserError
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
LARGEST_DIFFERENCE = 1e-3  # of gradients in float32, relative to their norm
LARGEST_RATIO = 2  # of the errors of gradients in bfloat16, the device's to the CPU's
RATE = 1e-3
WARM_UP_UPDATES = 3


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
    many search translates. seconds: for which each speed is measured.
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
        yield tried(agreement, "gradient beside the CPU's", experiment, work)
    for experiment in work.families:
        yield tried(agreement_in_bfloat16, "error of the gradient in bfloat16", experiment, work)
    for experiment in work.families:
        yield tried(resuming, "resumed after 2 of 4 updates", experiment, work)
    for experiment in work.large:
        yield tried(grouped, "training, in groups", experiment, work)
        yield tried(ungrouped, "training, micro-batches as they are", experiment, work)
        if work.device.type != "cpu":  # where compiling takes minutes
            yield tried(compiled, "training, in groups, compiled", experiment, work)
    yield tried(search_speed, "beam search, 4 hypotheses", work.large[-1], work)


def tried(
    check: Callable[[Experiment, Workload], tuple[str, str, str]],
    name: str,
    experiment: Experiment,
    work: Workload,
) -> Row:
    """Return a check's line; an error is its state, and the next check goes on."""
    try:
        return Row(name, experiment.title, *check(experiment, work))
    except (RuntimeError, UserError) as error:
        return Row(name, experiment.title, "", "", f"FAILED: {str(error).splitlines()[0]}")


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
    """Return the gradient of an update without dropout and noise, on the CPU."""
    model = experiment.model.model_copy(update={"dropout": 0.0})
    training = experiment.training.model_copy(update={"precision": precision})
    exact = experiment.model_copy(update={"model": model, "training": training})
    trainer = make_trainer(exact, work, device)
    for module in trainer.model.modules():
        if isinstance(module, Experts):  # as gates start, all are equal, and the choice is chance
            module.gate.data.copy_(torch.randn(module.gate.shape))
    # Experts are without noise only in evaluation, in which cuDNN has no gradients.
    noisy = model.has_loss_of_batches
    trainer.objective.train(not noisy)
    batch = next(updates(exact, work, device))
    with torch.backends.cudnn.flags(enabled=not noisy, allow_tf32=False):
        for micro_batch in batch.micro_batches.values():
            total, _ = trainer.objective(micro_batch, 0.0)
            (total / batch.target_tokens).backward()
    gradients = [parameter.grad for parameter in trainer.model.parameters()]
    return torch.cat([grad.flatten().cpu() for grad in gradients if grad is not None])


def agreement(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Compare the gradient of an update with the CPU's."""
    expected = gradient(experiment, work, CPU)
    difference = relative(gradient(experiment, work, work.device), expected)
    return f"{difference:.1e}", "", "right" if difference < LARGEST_DIFFERENCE else "WRONG"


def agreement_in_bfloat16(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Compare the error of a gradient in bfloat16 with that on the CPU.

    Both are large where an untrained model is chaotic: it differs by family.
    """
    exact = gradient(experiment, work, CPU)
    on_cpu = relative(gradient(experiment, work, CPU, "bfloat16"), exact)
    difference = relative(gradient(experiment, work, work.device, "bfloat16"), exact)
    state = "right" if difference < LARGEST_RATIO * on_cpu else "WRONG"
    return f"{difference:.1e}, on the CPU {on_cpu:.1e}", "", state


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


def grouped(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Measure training as train.py does it, beside its prediction."""
    measured = speed(experiment, work, least_tokens(work.device, experiment.model))
    if work.predicted_for is None:
        return measured, "", ""
    prediction = predict_training(experiment, work.texts, work.predicted_for)
    rate = f"{prediction.tokens_per_second:,.0f} tokens/s"
    return measured, f"{rate}, bound by {prediction.bound}", ""


def ungrouped(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Measure training with the experiment's own micro-batches."""
    return speed(experiment, work, least=0), "", ""


def compiled(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Measure training with torch's compiler."""
    least = least_tokens(work.device, experiment.model)
    return speed(experiment, work, least, compiled=True), "", ""


def speed(experiment: Experiment, work: Workload, least: int, compiled: bool = False) -> str:
    """Measure target tokens a second, MFU and memory of training."""
    device = work.device
    machine = Machine.of(device, experiment, make_trainer(experiment, work, CPU).model)
    trainer = make_trainer(experiment, work, device)
    if compiled:
        trainer.model.compile(dynamic=True)
    stream = updates(experiment, work, device, least)
    for number in range(1, WARM_UP_UPDATES + 1):
        trainer.train_step(next(stream), RATE, number)
    trainer.pop_gradient_norms()  # waits for the device
    tokens, flops = 0, 0.0
    begun = time.monotonic()
    while not tokens or time.monotonic() < begun + work.seconds:
        batch = next(stream)
        trainer.train_step(batch, RATE, WARM_UP_UPDATES + 1)
        tokens += batch.target_tokens
        flops += machine.flops(batch, source_too=False)
    trainer.pop_gradient_norms()
    seconds = time.monotonic() - begun
    memory = f"{machine.memory() / 1e9:.1f} GB"
    mfu = flops / seconds / machine.peak
    return f"{tokens / seconds:,.0f} tokens/s, MFU {mfu:.0%}, {memory}"


def search_speed(experiment: Experiment, work: Workload) -> tuple[str, str, str]:
    """Translate sentences as long as news by beam search; the weights are random."""
    model: Model = make_trainer(experiment, work, work.device).model
    dev = middle(work.texts.load("dev"), work.sentences)
    sources = dev.source.lists()
    begun = time.monotonic()
    # An untrained model does not know where to end: its translations get a trained one's length.
    for _ in translate_tokens(model, sources, Decoding(beam=4, max_extra=1)):
        pass
    rate = len(sources) / (time.monotonic() - begun)
    return f"{rate:,.1f} sentences/s", "", ""
