"""Writes a model's folder in the format of another library, to serve or share it.

OUTPUT gets the weights, source.model and target.model (subwords, as sentencepiece reads them) and
README.md, which says how to use them and what has to be done to text.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.errors import UserError
from nmt.files import write_text, written_whole
from nmt.serving.card import usage
from nmt.serving.exports import export
from nmt.serving.folder import TranslationModel


def main(args: argparse.Namespace) -> None:
    if args.output.exists():
        raise UserError(f"{args.output} is there already: delete it, or name another folder.")
    model = TranslationModel(args.model)
    with written_whole(args.output) as beside:
        export(model, args.model, args.to, args.precision, beside)
        write_text(beside / "README.md", usage(model.configuration, args.to, args.precision))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="made by average.py"
    )
    parser.add_argument(
        "--to", required=True, choices=["ctranslate2", "huggingface", "safetensors"]
    )
    parser.add_argument(
        "--precision", choices=["float32", "float16", "bfloat16", "int8"], default="float32"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="a new one")
    command.run(main, parser)
