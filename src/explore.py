"""Show what a model looks at, as a page: of recorded sentences, or served with a model behind it.

With --model the page has a box to type a sentence into, and shows its translation, the beam and all
attention. Only this machine can open it. With --recorded the page is a file.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.device import set_threads
from nmt.errors import UserError
from nmt.files import read_json, write_text
from nmt.pages.explorer import explorer_page
from nmt.pages.server import ExplorerServer
from nmt.serving.attention import MOST_SUBWORDS
from nmt.serving.folder import TranslationModel

PORT = 8017
MOST_PORT = 65_535


def main(args: argparse.Namespace) -> None:
    """Write the page, or serve it until the script is interrupted."""
    if args.recorded:
        if not args.output:
            raise UserError("--recorded makes a file: name it with --output.")
        if args.port is not None:
            raise UserError("--recorded makes a file, and serves none: leave --port out.")
        remedy = "delete it and run snakemake, or attend.py, which make it again"
        models = [read_json(path, ["title", "sentences"], remedy) for path in args.recorded]
        write_text(args.output, explorer_page(args.title or "Recorded sentences", models))
    else:
        serve(args)


def serve(args: argparse.Namespace) -> None:
    """Serve the page with the model."""
    if args.output:
        raise UserError("--model serves a page, and writes none: leave --output out.")
    if args.title:
        raise UserError("--title is of the page that is a file: with --model leave it out.")
    port = PORT if args.port is None else args.port
    set_threads(args.threads)
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    try:
        server = ExplorerServer(model, port)
    except OSError as error:
        raise UserError(
            f"port {port} cannot be had ({error.strerror}): give another with --port."
        ) from None
    with server:
        print(f"Open {server.address} in a browser on this machine; Ctrl-C ends it.", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("Ended.")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", type=Path, metavar="FOLDER", help="made by average.py: serve it")
    source.add_argument(
        "--recorded", type=Path, nargs="+", metavar="FILE", help="made by attend.py"
    )
    parser.add_argument(
        "--port",
        type=command.whole_number(0, MOST_PORT),
        help=f"of the served page; 0 takes a free one (default: {PORT})",
    )
    parser.add_argument("--title", help="of the page that is a file")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the page that is a file")
    command.add_threads(parser)
    command.add_gpus(parser)
    command.run(main, parser)
