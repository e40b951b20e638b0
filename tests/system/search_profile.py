"""Shows where beam search spends its time on this machine, which must do nothing else.

Prints the shares of torch's kernels in a search as benchmark_search.py measures it, and how far its
matrix products are from the rate of a large one.
"""

import argparse
from collections import Counter
from pathlib import Path

import torch
from tabulate import tabulate
from torch.profiler import ProfilerActivity, profile

from nmt import command
from nmt.benchmarks.measure_search import make_batches, search_seconds, this_project
from nmt.serving.folder import TranslationModel
from nmt.training.machine import matrix_product_rate

# Of kernels that take most of a search; the others are "other"
KINDS = {
    "products with weights": ("aten::addmm", "aten::mm", "aten::linear", "mkldnn::_linear"),
    "products of attention": ("aten::bmm", "aten::baddbmm"),
    "log softmax of the vocabulary": ("aten::_log_softmax",),
    "top-k of the vocabulary": ("aten::amax", "aten::topk", "aten::gather"),
    "copies of the caches": ("aten::index_select", "aten::copy_", "aten::cat", "aten::index"),
    "sums, layer norms, softmax, activations": (
        *("aten::native_layer_norm", "aten::_softmax", "aten::add", "aten::mul"),
        "aten::clamp_min",
    ),
}


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    for precision in (torch.float32, torch.bfloat16):
        model = TranslationModel(args.model, precision=precision)
        batches = make_batches(model, args)
        search = this_project(model)
        search_seconds(search, batches[len(batches) // 2], args.beam)
        with profile(activities=[ProfilerActivity.CPU], with_flops=True) as profiler:
            for batch in batches:
                search_seconds(search, batch, args.beam)
        events = profiler.key_averages()
        total = sum(event.self_cpu_time_total for event in events)
        shares: Counter[str] = Counter()
        for event in events:
            kind = next((kind for kind, names in KINDS.items() if event.key in names), "other")
            shares[kind] += event.self_cpu_time_total
        products = [event for event in events if event.key in KINDS["products with weights"]]
        seconds = sum(event.self_cpu_time_total for event in products) / 1e6
        rate = sum(event.flops for event in products) / seconds
        share = rate / matrix_product_rate(torch.device("cpu"), precision)
        rows = [(kind, f"{time / total:.0%}") for kind, time in shares.most_common()]
        print(f"{precision}: products with weights run at {share:.0%} of a large product's rate")
        print(tabulate(rows, ["kernels", "share of the time"], tablefmt="github"), end="\n\n")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument("--sources", type=Path, required=True, metavar="FILE", help="plain text")
    parser.add_argument("--sentences", type=command.whole_number(1), default=100, help="of a batch")
    parser.add_argument("--beam", type=command.whole_number(1), default=4)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    parser.set_defaults(references=None)
    command.run(main, parser)
