"""Neural machine translation as in "Attention Is All You Need", and its rivals.

Imports point one way: errors, files, progress, command, environment, provenance <- evaluation <-
configuration <- text <- data <- models <- decoding <- training <- serving <- paper <- benchmarks.
"""

import sys
from pathlib import Path
from types import TracebackType


def explain_missing_package(
    kind: type[BaseException], error: BaseException, traceback: TracebackType | None
) -> None:
    """Print an error; a package that is missing outside the environment is one sentence."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.split(".")[0] != "nmt":
        print(
            f"error: this Python has no package {error.name}: activate the environment (`."
            " .venv/bin/activate`; `make environment` makes it), then run the same command again.",
            file=sys.stderr,
        )
    else:
        sys.__excepthook__(kind, error, traceback)


# Scripts import this package before any that the environment brings.
if Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parents[1]:
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("error: Python 3.11 or newer is needed: activate the environment first.")
    sys.excepthook = explain_missing_package
