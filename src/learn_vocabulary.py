"""Learns the joint subword vocabulary of a corpus from the normalised training text of both languages."""

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from nmt.command import arguments, run, whole_number
from nmt.configuration import load_catalogue
from nmt.files import written_whole
from nmt.text.subwords import learn


def main(args: Namespace) -> None:
    vocabulary = load_catalogue(args.catalogue).vocabulary(args.vocabulary)
    with open(args.log, "a", encoding="utf-8") if args.log else nullcontext() as log:
        model = learn(vocabulary, args.inputs, args.jobs, log)
    with written_whole(args.output) as beside:
        beside.write_bytes(model)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--catalogue", type=Path, required=True, help="the folder of experiments.yaml")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--inputs", type=Path, nargs="+", required=True, metavar="FILE", help="text of both languages")
    parser.add_argument("--output", type=Path, required=True, help="the sentencepiece model to write")
    parser.add_argument("--jobs", type=whole_number(1), default=1, help="threads (default: %(default)s)")
    run(main, parser)
