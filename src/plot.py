"""Draw figures of a reproduction from the files of its runs, each as PDF, PNG and CSV of its data.

The files are OUTPUT/TABLE.FIGURE.pdf and so on, or OUTPUT/FIGURE.pdf of figures that a reproduction
has once.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import lookup, read_reproduction
from nmt.files import write_text
from nmt.paper.drawing import Drawing, save
from nmt.paper.figures import FIGURES, draw, file_name, origin


def main(args: argparse.Namespace) -> None:
    """Draw all figures, then write their files."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    table_name = args.table or next(iter(reproduction.tables))
    table = lookup(reproduction.tables, table_name, "table")
    drawing = Drawing(reproduction, catalog, table, args.runs)
    pictures = {name: draw(name, drawing) for name in args.figures}
    for name, picture in pictures.items():
        stem = args.output / file_name(name, table_name)
        save(picture.figure, Path(f"{stem}.pdf"), Path(f"{stem}.png"), origin(name, drawing))
        write_text(Path(f"{stem}.csv"), picture.data.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    parser.add_argument("--figures", required=True, nargs="+", choices=FIGURES, metavar="NAME")
    parser.add_argument(
        "--table", metavar="NAME", help="the table whose rows are drawn; by default the first"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    command.run(main, parser)
