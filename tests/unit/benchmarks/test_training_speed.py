"""The time of an update and of its phases."""

import itertools
from types import SimpleNamespace

import torch
from torch import nn

from nmt.benchmarks.training_speed import WARM_UP_UPDATES, Clock, repeat


def test_forward_passes_of_all_micro_batches_count():
    layer = nn.Linear(1, 1)
    trainer = SimpleNamespace(objective=layer, optimizer=torch.optim.SGD(layer.parameters()))
    clock = Clock(torch.device("cpu"))
    ticks = itertools.count()
    clock.now = lambda: next(ticks)
    clock.seconds |= {"forward": 0.0, "optimizer": 0.0}
    with clock.timed("whole"), clock.phases_timed(trainer):
        for _ in range(3):
            layer(torch.ones(1, 1)).sum().backward()
        trainer.optimizer.step()
    assert clock.seconds == {"forward": 3, "optimizer": 1, "whole": 9}


def test_all_ranks_stop_when_one_has_trained_long_enough():
    updates = itertools.count(1)
    ended_elsewhere = iter([False, False, True])
    results = repeat(lambda: next(updates), 100.0, lambda ended: [ended or next(ended_elsewhere)])
    assert results == [WARM_UP_UPDATES + number for number in (1, 2, 3)]
