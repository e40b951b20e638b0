"""Write a model's folder in the format of another library, to serve or share it.

OUTPUT gets the weights, the subwords, and the model's card with a line on how to load them.
"""

import argparse

from nmt import command
from nmt.errors import UserError
from nmt.files import atomic_write, write_text
from nmt.serving.folder import TranslationModel


def main(args: argparse.Namespace) -> None:
    """Load the model and write its export, whole or not at all."""
    if args.output.exists():
        raise UserError(f"{args.output} is there already: delete it, or name another folder.")
    model = TranslationModel(args.model)
    card = (args.model / "README.md").read_text(encoding="utf-8")
    with atomic_write(args.output) as temporary:
        # Either library takes seconds to import.
        if args.to == "ctranslate2":
            from nmt.serving.ctranslate2 import to_ctranslate2 as export
        else:
            from nmt.serving.marian import to_huggingface as export
        line = export(model, args.precision, temporary)
        write_text(temporary / "README.md", f"{card}\nIn {args.to}, {args.precision}. {line}\n")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py", output="a new folder")
    parser.add_argument("--to", required=True, choices=["ctranslate2", "huggingface"])
    parser.add_argument(
        "--precision", choices=["float32", "float16", "bfloat16", "int8"], default="float32"
    )
    command.run(main, parser)
