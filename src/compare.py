"""Tests which differences between systems' scores may be chance, and writes what it finds as JSON.

Each system is held against the best one: paired bootstrap resampling and approximate randomization.
Files of one name are runs of one system with different seeds. OUTPUT gets, for each metric,
{"signatures": [...], "systems": {NAME: {"score", "interval", "p_bootstrap", "p_randomization",
"may_be_best"}}}.
"""

import argparse
import logging
from dataclasses import asdict
from pathlib import Path

from nmt import command
from nmt.errors import UserError, nearest
from nmt.evaluation.scores import check, measures
from nmt.evaluation.significance import compared
from nmt.files import read_lines, write_json
from nmt.progress import progress


def main(args: argparse.Namespace) -> None:
    if len(args.names) != len(args.translations):
        raise UserError("give each file of --translations the name of its system in --names.")
    known = measures(args.target_language)
    for name in args.metrics:
        if name not in known:
            raise UserError(f"unknown metric {name!r}: {nearest(name, known)}")
    references = [list(read_lines(path)) for path in args.references]
    systems: dict[str, list[list[str]]] = {name: [] for name in args.names}
    for name, path in zip(args.names, args.translations, strict=True):
        systems[name].append(list(read_lines(path)))
        check(systems[name][-1], references, [str(each) for each in (path, *args.references)])
    logging.getLogger("sacrebleu").setLevel(logging.WARNING)
    result = {}
    for metric in progress(args.metrics, "comparing", len(args.metrics), "metrics"):
        found, signatures = compared(systems, references, known[metric])
        result[metric] = {
            "signatures": signatures,
            "systems": {name: asdict(each) for name, each in found.items()},
        }
        first = [name for name, each in found.items() if each.may_be_best]
        logging.info(f"{metric}: may be best: {', '.join(first)}")
    write_json(args.output, result)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--translations", type=Path, required=True, nargs="+", metavar="FILE", help="of each system"
    )
    parser.add_argument(
        "--names",
        required=True,
        nargs="+",
        metavar="NAME",
        help="the system of each, in the same order",
    )
    parser.add_argument(
        "--references", type=Path, required=True, nargs="+", metavar="FILE", help="parallel to them"
    )
    parser.add_argument(
        "--target-language", required=True, metavar="CODE", help="language to tokenize for, as de"
    )
    parser.add_argument(
        "--metrics", nargs="+", default=["bleu"], metavar="NAME", help="as score.py names them"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
