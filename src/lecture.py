"""Make a page with the pictures of a lecture on the Transformer, to open in class.

Its numbers are those of a reproduction's trained models.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import read_reproduction
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.files import write_text
from nmt.pages.lecture import lecture
from nmt.pages.render import render
from nmt.paper.drawing import Drawing
from nmt.paper.results import RunFiles
from nmt.serving.folder import TranslationModel


def main(args: argparse.Namespace) -> None:
    """Compute the numbers, then write the page."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    table = next(iter(reproduction.tables.values()))
    drawing = Drawing(reproduction, catalog, table, RunFiles(args.runs))
    models = [TranslationModel(path, gpus=args.gpus) for path in args.model]
    if not models or models[0].experiment.model.family != "transformer":
        raise UserError("a lecture follows a sentence through a Transformer: give one as --model.")
    tokens = ParallelTokens.load(args.tokens)
    tokens.require_vocabulary(models[0].subwords, args.tokens)
    data = lecture(drawing, models, tokens)
    page = render("lecture.html.j2", reproduction=reproduction, models=models, data=data)
    write_text(args.output, page)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    parser.add_argument("--model", type=Path, nargs="*", required=True, metavar="FOLDER")
    command.require(parser, "FOLDER", tokens="of the dev set")
    command.require(parser, "FILE", output="the page")
    command.add_device(parser)
    command.run(main, parser)
