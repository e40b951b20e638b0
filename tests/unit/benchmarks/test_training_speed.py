"""Where the time of an update goes."""

import itertools
from types import SimpleNamespace

import torch
from torch import nn

from nmt.benchmarks.training_speed import Clock, repeated


def test_the_forward_pass_of_every_part_counts():
    layer = nn.Linear(1, 1)
    trainer = SimpleNamespace(objective=layer, optimizer=torch.optim.SGD(layer.parameters()))
    clock, ticks = Clock(torch.device("cpu")), itertools.count()
    clock.now = lambda: next(ticks)
    clock.seconds |= {"forward": 0.0, "optimizer": 0.0}
    with clock.timed("whole"), clock.inside(trainer):
        for _ in range(3):
            layer(torch.ones(1, 1)).sum().backward()
        trainer.optimizer.step()
    assert clock.seconds == {"forward": 3, "optimizer": 1, "whole": 9}


def test_all_processes_end_when_one_of_them_has_trained_long_enough():
    done, answers = itertools.count(1), iter([False, False, True])
    assert repeated(lambda: next(done), 100.0, lambda ended: [ended or next(answers)]) == [6, 7, 8]
