"""No family makes a GPU wait: updates and search steps on tensors that have no values."""

import sys

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from nmt.configuration import Decoding, Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.data.source import copy_to
from nmt.decoding.search import Finished, OpenSentences, length_penalty, search, top_next_tokens
from nmt.models.build import build
from nmt.planning.meta import META
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)
from tests.support.pretended_gpu import (
    DeviceMixed,
    DeviceWaits,
    NoHiddenCopies,
    OneDevice,
    pretended_gpu,
)

LENGTHS = [5, 2, 7]
# Families whose mixtures wait, and for what; search waits only where its last test says so.
WAITS = {"moe": ["which tokens are real", "how many tokens go to each expert"]}
DECODING = Decoding(beam=3)


def meta_model(family):
    """Return a family's model without values."""
    with META:
        return build(FAMILIES[family], VOCABULARY, VOCABULARY)


def update_batch():
    """Return an update of two micro-batches."""
    target = random_sentences([4, 6, 3], seed=1)
    batch = Batch(
        sources(random_sentences(LENGTHS)), target_inputs(target), target_outputs(target)
    ).to(META)
    return UpdateBatch(1, 1, np.arange(3), 17, 16, 40, {0: batch, 1: batch})


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
@pytest.mark.parametrize("family", FAMILIES)
def test_an_update_never_waits(family, optimizer):
    if optimizer != "adam" and family != "transformer":
        pytest.skip("optimizers do not depend on the family")
    config = FAMILIES[family]
    learns_source = config.family == "decoder-only" and not config.prefix
    settings = Training(
        updates=9,
        batch_tokens=99,
        warmup=1,
        interval=9,
        optimizer=optimizer,
        gradient_clip=1.0,
        source_loss=((0, 1.0),) if learns_source else (),
    )
    trainer = Trainer(meta_model(family), settings, ProcessGroup(META), seed=1)
    with pretended_gpu() as values:
        trainer.train_step(update_batch(), learning_rate=0.1, update=1)
    assert values.asked == 4 * WAITS.get(family, [])  # encoder and decoder of two micro-batches
    assert len(trainer.gradient_norms) == 1


@pytest.mark.parametrize("family", FAMILIES)
def test_a_step_of_search_never_waits(family):
    model = meta_model(family).eval()
    beam = DECODING.beam
    with torch.no_grad(), pretended_gpu() as values:
        source = sources(random_sentences(LENGTHS)).to(META)
        state = model.start(model.encode(source))
        sentences = OpenSentences.begin([9, 8, 7], DECODING, META)
        finished = Finished(3, 1, META)
        for length, count in enumerate([3, 2, 2]):
            hidden, state = model.step(sentences.prefixes[..., -1].flatten(), state)
            at_limit = (sentences.limit == length).repeat_interleave(beam if length else 1)
            next_tokens = top_next_tokens(model.output, hidden, 2 * beam, at_limit)
            kept = sentences.continuations(*next_tokens).without_eos(beam)
            best_possible = kept.log_probs[:, 0] / sentences.largest_penalty
            assert (best_possible > finished.threshold("exact", beam)).device == META
            still_open = torch.arange(count, device=META)
            state.reorder(sentences.advance(kept, still_open))
            finished.keep_open(still_open)
    assert values.asked == 4 * WAITS.get(family, [])  # encoder and three steps
    assert length_penalty(sentences.limit, DECODING).shape == (2,)


class Waits(TorchFunctionMode):
    """Note which functions of search ask for values."""

    def __init__(self):
        super().__init__()
        self.waits = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in ("item", "tolist", "nonzero", "__bool__", "__int__", "__float__", "cpu"):
            caller = sys._getframe(1)
            self.waits.append((caller.f_code.co_qualname, name))
        return func(*args, **(kwargs or {}))


def test_search_waits_only_to_know_which_hypotheses_have_ended():
    model = random_model("transformer")
    source = sources(random_sentences(LENGTHS))
    with Waits() as mode:
        search(model, source, [3, 3, 3], DECODING)
    steps = mode.waits.count(("search", "nonzero"))
    of_a_step = [("Finished.add", "nonzero"), *[("Finished.add", "tolist")] * 4]
    assert steps > 1
    of_lengths = ("Source.is_padded", "__int__")  # which are on the CPU
    assert mode.waits == [of_lengths, *steps * [*of_a_step, ("search", "nonzero")]]


def test_the_pretended_gpu_refuses_what_makes_a_gpu_wait():
    x = torch.ones(3, 4, device=META)
    numbers = torch.ones(3, 4)
    refused = {
        "item": lambda: x.sum().item(),
        "bool": lambda: bool(x.sum()),
        "tolist": x.tolist,
        "cpu": x.cpu,
        "nonzero": lambda: torch.nonzero(x),
        "mask": lambda: x[x > 0],
        "bincount": lambda: x[0].long().bincount(),
        "list": lambda: x[:, [0, 1]],
        "new tensor": lambda: torch.tensor([1], device=META),
        "copy": lambda: numbers.to(META),
        "addition": lambda: x + numbers,
        "index": lambda: x.index_select(0, torch.tensor([1])),
        "lookup": lambda: torch.nn.functional.embedding(torch.tensor([1]), x),
    }
    errors = (DeviceMixed, DeviceWaits, RuntimeError)
    with NoHiddenCopies(), OneDevice():
        for name, operation in refused.items():
            with pytest.raises(errors):
                pytest.fail(f"{name} is not refused: {operation()}")
        assert (copy_to(numbers, META) + x).shape == x.shape
