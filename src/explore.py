"""Show what a model looks at, as a page: of recorded sentences, or served with a model behind it.

With --model the page has a box to type a sentence into, and shows its translation, the beam and all
attention; only this machine can open it. With --recorded the page is the file OUTPUT.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.errors import UserError
from nmt.files import read_json, write_text
from nmt.pages.render import explorer_page

PORT = 8017


def main(args: argparse.Namespace) -> None:
    """Write the page, or serve it until the script is interrupted."""
    if args.model:
        serve(args)
    elif args.output:
        models = [read_json(path, ["title", "sentences"]) for path in args.recorded]
        write_text(args.output, explorer_page(args.title, models))
    else:
        raise UserError("--recorded makes a file: name it with --output.")


def serve(args: argparse.Namespace) -> None:
    """Serve the page with the model."""
    # Imported here because torch takes seconds to load, and the page of recorded sentences has no
    # use for it.
    from nmt.device import set_threads
    from nmt.pages.server import ExplorerServer
    from nmt.serving.attention import MOST_SUBWORDS
    from nmt.serving.folder import TranslationModel

    set_threads(args.threads)
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    try:
        server = ExplorerServer(model, args.port)
    except OSError as error:
        raise UserError(
            f"port {args.port} cannot be had ({error.strerror}): give another with --port."
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
        type=command.whole_number(0, 65_535),
        default=PORT,
        help="of the served page; 0 takes a free one (default: %(default)s)",
    )
    parser.add_argument("--title", default="Recorded sentences", help="of the page that is a file")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the page that is a file")
    command.add_device(parser)
    command.run(main, parser)
