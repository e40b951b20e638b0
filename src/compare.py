"""Test which differences between systems' scores may be chance.

Each system is compared with the best one by paired bootstrap resampling and by approximate
randomization. Files of one name are runs of one system with different seeds. OUTPUT gets, for each
metric, {"signatures": [...], "systems": {NAME: {"score", "interval", "p_bootstrap",
"p_randomization", "may_be_best"}}}.
"""

import argparse
import logging
from dataclasses import asdict

from nmt import command
from nmt.configuration import lookup
from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.scores import check_scorable, scorers
from nmt.evaluation.significance import compare
from nmt.files import read_lines, write_json
from nmt.progress import progress


def main(args: argparse.Namespace) -> None:
    """Compare the systems by each metric and write the comparisons as JSON."""
    if len(args.names) != len(args.translations):
        raise UserError("give each file of --translations the name of its system in --names.")
    scorer_by_name = scorers(args.target_language)
    references = [list(read_lines(path)) for path in args.references]
    systems: dict[str, list[list[str]]] = {name: [] for name in args.names}
    for name, path in zip(args.names, args.translations, strict=True):
        translations = list(read_lines(path))
        files = [str(file) for file in (path, *args.references)]
        check_scorable(translations, references, files, args.target_language)
        systems[name].append(translations)

    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    output = {}
    for metric in progress(args.metrics, "comparing", len(args.metrics), "metrics"):
        scorer = lookup(scorer_by_name, metric, f"metric of {args.target_language}")
        comparisons, signatures = compare(systems, references, scorer)
        output[metric] = {
            "signatures": signatures,
            "systems": {name: asdict(comparison) for name, comparison in comparisons.items()},
        }
        first = ", ".join(name for name, it in comparisons.items() if it.may_be_best)
        logging.info(f"{metric}: may be best: {first}.")
    write_json(args.output, output)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FILE", "+", translations="of each run of each system, one a line")
    command.require(parser, "NAME", "+", names="the systems of --translations, in the same order")
    command.add_references(parser)
    parser.add_argument(
        "--metrics",
        nargs="+",
        default=["bleu"],
        choices=[name for name, metric in METRICS.items() if metric.scorer],
    )
    command.require(parser, "FILE", output="JSON")
    command.run(main, parser)
