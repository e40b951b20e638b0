"""Shows where beam search spends its time on this machine, which must do nothing else.

Prints the shares of a search as benchmark_search.py measures it, and how far its products with
weights are from the rate of a large one. torch's profiler would change what it measures: its
records lie among the tensors, and large ones then find no room and need new pages.
"""

import argparse
import pkgutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

import torch
from tabulate import tabulate
from torch import Tensor

from nmt import command
from nmt.benchmarks.measure_search import make_batches, search_seconds, this_project
from nmt.serving.folder import TranslationModel
from nmt.training.machine import matrix_product_rate

# None of them calls another.
PARTS = {
    "torch.nn.functional.linear": "products with weights",
    "nmt.models.attention.attention_weights": "weights of attention",
    "nmt.models.attention.KeyValueCache.reorder": "copies of keys and values",
    "nmt.decoding.search.log_softmax": "log softmax of the vocabulary",
    "nmt.decoding.search.top_k": "top-k of the vocabulary",
}


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    for precision in (torch.float32, torch.bfloat16):
        model = TranslationModel(args.model, precision=precision)
        batches = make_batches(model, args)
        search = this_project(model)
        search_seconds(search, batches[len(batches) // 2], args.beam)
        seconds: Counter[str] = Counter()
        with timed(seconds) as flops:
            total = sum(search_seconds(search, batch, args.beam) for batch in batches)
        seconds["other"] = total - seconds.total()
        rate = flops.total() / seconds["products with weights"]
        share = rate / matrix_product_rate(torch.device("cpu"), precision)
        print(f"{precision}: products with weights run at {share:.0%} of a large product's rate")
        rows = [(part, f"{time / total:.0%}") for part, time in seconds.most_common()]
        print(tabulate(rows, ["part", "share of the time"], tablefmt="github"), end="\n\n")


@contextmanager
def timed(seconds: Counter[str]) -> Iterator[Counter[str]]:
    """Add up the seconds of PARTS; yield the FLOPs of products with weights."""
    flops: Counter[str] = Counter()

    def with_clock(function, part):
        def call(*args: Tensor):
            start = time.perf_counter()
            result = function(*args)
            seconds[part] += time.perf_counter() - start
            if part == "products with weights":
                flops[part] += 2 * args[0].numel() * len(args[1])
            return result

        return call

    with ExitStack() as stack:
        for name, part in PARTS.items():
            stack.enter_context(patch(name, with_clock(pkgutil.resolve_name(name), part)))
        yield flops


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument("--sources", type=Path, required=True, metavar="FILE", help="plain text")
    parser.add_argument("--sentences", type=command.whole_number(1), default=100, help="of a batch")
    parser.add_argument("--beam", type=command.whole_number(1), default=4)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    command.run(main, parser)
