"""Times updates of recurrent decoders beside torch's fused LSTM and GRU calls of the same sizes.

A decoder whose input depends on attention's last context runs step by step. In its place a fused
call reads zeros for contexts, and attention follows for all steps at once: the same products,
which learn nothing. Prints medians of rounds in turn, and ends with code 1 when a family takes more
than 1.3 times as long. The machine must do nothing else.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
import torch
from tabulate import tabulate
from torch import Tensor

from nmt import command
from nmt.configuration import load_catalog
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.models.build import build
from nmt.models.gnmt import GNMT
from nmt.models.protocol import PAD, Source
from nmt.models.rnnsearch import RNNSearch
from nmt.models.seq2seq import Seq2Seq
from nmt.text.subwords import UNK
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer
from tests.support.files import ROOT

ALLOWED = 1.3
FAMILIES = ("rnnsearch", "luong", "gnmt", "moe")


def fused_rnnsearch(self: RNNSearch, source: Source, target_in: Tensor) -> tuple[Tensor, Tensor]:
    memory, hidden = self.encode(source)
    embedded = self.dropout(self.target_embedding(target_in))
    states, _ = self.decoder(with_zeros(embedded, self.decoder.input_size), hidden[None])
    hiddens = torch.cat([hidden[:, None], states[:, :-1]], 1)
    contexts, weights = self.attend(hiddens, memory)
    return self.dropout(self.deep_output(hiddens, embedded, contexts)), weights


def fused_luong(self: Seq2Seq, source: Source, target_in: Tensor) -> tuple[Tensor, Tensor | None]:
    memory, hidden, cell = self.encode(source)
    embedded = self.dropout(self.target_embedding(target_in))
    top, _ = self.decoder(with_zeros(embedded, self.decoder.input_size), (hidden, cell))
    return self.attentional_states(top, memory)


def fused_gnmt(
    self: GNMT, memory, first: list[tuple[Tensor, Tensor]], target_in: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    embedded = self.target_embedding(target_in)
    states = [(hidden[None], cell[None]) for hidden, cell in first]
    layer = self.decoder[0]
    bottom, _ = layer(with_zeros(self.dropout(embedded), layer.input_size), states[0])
    context, weights = self.context(bottom, memory)
    top, penalty = self.upper_layers(embedded, bottom, context, target_in != PAD, states)
    return top, penalty, weights


def with_zeros(x: Tensor, width: int) -> Tensor:
    return torch.cat([x, x.new_zeros(*x.shape[:-1], width - x.size(-1))], -1)


def made_tokens(size: int) -> ParallelTokens:
    """Return 5,000 pairs of sentences of about 29 tokens, as in news, but at most 60."""
    rng = np.random.default_rng(1)
    sides = []
    for _ in range(2):
        lengths = np.exp(rng.normal(np.log(24), 0.6, 5000)).astype(np.int64).clip(1, 60)
        offsets = np.concatenate([[0], lengths.cumsum()])
        sides.append(Ragged(np.full(offsets[-1], UNK, dtype=np.uint32), offsets))
    return ParallelTokens(sides[0], sides[1], {"vocabulary_sizes": [size, size]})


def seconds_of_updates(experiment, train: ParallelTokens, updates: int) -> Callable[[], float]:
    """Return a function that trains a new model and returns the CPU seconds of an update."""
    stream = Batches.for_training(train, experiment.training, seed=1).updates(
        1, 0, Partition(), torch.device("cpu")
    )
    batches = [next(stream) for _ in range(updates + 1)]

    def timed() -> float:
        torch.manual_seed(1)
        model = build(experiment.model, *train.meta["vocabulary_sizes"])
        group = ProcessGroup(torch.device("cpu"))
        trainer = Trainer(model, experiment.training, group, seed=1)
        trainer.train_step(batches[0], 1e-4, update=1)
        began = time.process_time()
        for update, batch in enumerate(batches[1:], start=2):
            trainer.train_step(batch, 1e-4, update=update)
        return (time.process_time() - began) / updates

    return timed


FUSED = {RNNSearch: fused_rnnsearch, Seq2Seq: fused_luong, GNMT: fused_gnmt}


@contextmanager
def fused_calls() -> Iterator[None]:
    with ExitStack() as stack:
        for family, decode in FUSED.items():
            stack.enter_context(mock.patch.object(family, "decode", decode))
        yield


def main(args: argparse.Namespace) -> int:
    torch.set_num_threads(1)
    catalog = load_catalog(ROOT / "config")
    rows = []
    for family in FAMILIES:
        name = f"multi30k-small-{family}"
        size = catalog.vocabulary(catalog.experiment(name).vocabulary).size
        timed = seconds_of_updates(catalog.experiment(name), made_tokens(size), args.updates)
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(args.rounds):
            times[False].append(timed())
            with fused_calls():
                times[True].append(timed())
        ours, fused = (1000 * float(np.median(times[which])) for which in (False, True))
        rows.append([name, ours, fused, ours / fused])
    headers = ["experiment", "an update (ms)", "with fused calls (ms)", "ratio"]
    print(tabulate(rows, headers, tablefmt="github", floatfmt=(",", ".0f", ".0f", ".2f")))
    return int(any(row[-1] > ALLOWED for row in rows))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument("--updates", type=command.whole_number(1), default=8)
    command.run(main, parser)
