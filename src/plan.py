"""Print what a reproduction's trainings will take: some updates of each row are timed here.

GPU hours follow from the rates that gpu-rates.yaml of the catalog has.
"""

import argparse
from collections import Counter

import pandas as pd
import torch

from nmt import command
from nmt.configuration import Catalog, Experiment, Reproduction, read_reproduction, read_yaml
from nmt.data.tokens import ParallelTokens
from nmt.device import choose_device
from nmt.models.build import size
from nmt.training.machine import device_name
from nmt.training.speed import Speed, measure

HOUR = 3600


def main(args: argparse.Namespace) -> None:
    """Time every row, and write a table with a line for each and one for all."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    device = choose_device(args.gpus)
    file = catalog.folder / "gpu-rates.yaml"
    gpus = read_yaml(file, dict) if file.exists() else {}
    lines = []
    for name, seeds in trainings(reproduction, catalog).items():
        experiment = catalog.experiment(name)
        folder = args.corpora / reproduction.corpus / experiment.vocabulary
        tokens = ParallelTokens.load(folder / "tokens" / "train")
        speed = measure(experiment, tokens, device)
        hours = {"hours here": speed.seconds / HOUR}
        for gpu, rates in gpus.items():
            seconds = gpu_seconds(experiment, speed, tokens, rates, catalog)
            hours[f"hours, {gpu}"] = seconds / HOUR
        runs = seeds * experiment.training.updates / speed.updates
        lines.append(
            {
                "row": name,
                "parameters (M)": parameters(experiment, tokens) / 1e6,
                "seeds": seeds,
                "updates": experiment.training.updates,
                "target tokens an update": speed.target_tokens / speed.updates,
                "seconds an update": speed.seconds / speed.updates,
                **{column: runs * value for column, value in hours.items()},
            }
        )
    table = pd.DataFrame(lines)
    sums = table[["seeds", *hours]].sum()
    table = pd.concat([table, pd.DataFrame([{"row": "sum", **sums}])]).astype(object)
    formats = ("", ".1f", ".0f", ",.0f", ",.0f", ".3f", *len(hours) * [",.2f"])
    text = table.where(table.notna(), "").to_markdown(index=False, floatfmt=formats)
    here = f"{device_name(device)}, threads {torch.get_num_threads()}"
    text += (
        "\n\nUpdates alone: measuring and translating the dev set come on top. Here is"
        f" {here}, one row after the other; with {args.at_once} trainings at once, all take"
        f" {sums['hours here'] / args.at_once:.2f} hours.\n"
    )
    print(text, end="")


def trainings(reproduction: Reproduction, catalog: Catalog) -> Counter[str]:
    """Return the number of seeds of each experiment that the default tables rest on."""
    rows = reproduction.by_default.experiments
    runs = dict.fromkeys(
        (catalog.experiment(name).trained_as or name, seed)
        for row in rows
        for name, seed in catalog.trainings(row, reproduction.seeds_for(row))
    )
    return Counter(name for name, _ in runs)


def parameters(experiment: Experiment, tokens: ParallelTokens) -> int:
    """Return the number of parameters for the vocabularies of these tokens."""
    return size(experiment.model, *tokens.meta["vocabulary_sizes"]).parameters


def gpu_seconds(
    experiment: Experiment,
    speed: Speed,
    tokens: ParallelTokens,
    rates: dict[str, float],
    catalog: Catalog,
) -> float:
    """Return the seconds in which a GPU takes the timed updates.

    rates: target tokens a second of experiments. A model of another size than theirs has the FLOP
      rate of the first: a bound for small ones, which keep a GPU less busy.
    """
    references = [catalog.experiment(name) for name in rates]
    by_size = {parameters(reference, tokens): i for i, reference in enumerate(references)}
    chosen = by_size.get(parameters(experiment, tokens), 0)
    flops = speed.flops(experiment, tokens) / speed.flops(references[chosen], tokens)
    return flops * speed.target_tokens / list(rates.values())[chosen]


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.require(parser, "FOLDER", corpora="that has tokens, such as results/corpora")
    parser.add_argument(
        "--at-once", type=command.whole_number(1), default=1, help="trainings side by side"
    )
    command.add_device(parser)
    command.run(main, parser)
