"""Set a reproduction's article with LaTeX: a short text around every table and figure.

OUTPUT is a PDF in the folder that has tables and figures; its source stays beside it.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import read_reproduction
from nmt.files import write_text
from nmt.pages.article import article_text, require_latex, set_article


def main(args: argparse.Namespace) -> None:
    """Write the text and set it."""
    require_latex()
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    scripts = Path(__file__).resolve().parent
    folder = args.output.resolve().parent
    text = args.output.with_suffix(".tex")
    write_text(text, article_text(reproduction, catalog, folder, args.captions, scripts))
    set_article(text, args.output)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    parser.add_argument(
        "--captions",
        type=Path,
        default=Path("workflow/report"),
        metavar="FOLDER",
        help="of figures",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="a PDF")
    command.run(main, parser)
