"""Write a model's folder in the format of another library, to serve or share it.

OUTPUT gets the weights, source.model and target.model (subwords, as sentencepiece reads them) and
README.md, which says how to use them and what has to be done to text.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.errors import UserError
from nmt.files import atomic_write, write_text
from nmt.serving.card import export_card
from nmt.serving.exports import export
from nmt.serving.folder import TranslationModel


def main(args: argparse.Namespace) -> None:
    """Load the model and write its export, whole or not at all."""
    if args.output.exists():
        raise UserError(f"{args.output} is there already: delete it, or name another folder.")
    model = TranslationModel(args.model)
    with atomic_write(args.output) as temporary:
        export(model, args.model, args.to, args.precision, temporary)
        card = export_card(model.configuration, args.to, args.precision)
        write_text(temporary / "README.md", card)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument(
        "--to", required=True, choices=["ctranslate2", "huggingface", "safetensors"]
    )
    parser.add_argument(
        "--precision", choices=["float32", "float16", "bfloat16", "int8"], default="float32"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="a new one")
    command.run(main, parser)
