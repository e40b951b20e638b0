"""Serve a page that translates what is typed into it, and shows what the model looks at.

It opens with the sentences that attend.py has recorded beside the model, has the beam and all
attention of each, and can be opened on this machine alone.
"""

import argparse

from nmt import command
from nmt.errors import UserError
from nmt.files import read_json
from nmt.pages.server import ExplorerServer
from nmt.serving.attention import MOST_SUBWORDS
from nmt.serving.folder import TranslationModel

PORT = 8017


def main(args: argparse.Namespace) -> None:
    """Serve the page until the script is interrupted."""
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    recorded = args.model.parent / "attention.json"
    examples = read_json(recorded, ["sentences"])["sentences"] if recorded.exists() else []
    try:
        server = ExplorerServer(model, args.port, examples)
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
    command.require(parser, "FOLDER", model="made by average.py")
    parser.add_argument(
        "--port",
        type=command.whole_number(0, 65_535),
        default=PORT,
        help="of the page; 0 takes a free one (default: %(default)s)",
    )
    command.add_device(parser)
    command.run(main, parser)
