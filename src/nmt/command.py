"""What every script has in common: its arguments, its log, and how it ends."""

import argparse
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from nmt.errors import UserError

WRITTEN = (
    "log",
    "output",
    "csv",
    "markdown",
    "html",
    "latex",
    "pdf",
    "png",
)  # arguments of scripts


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with the one option that all scripts share; named arguments only, never
    abbreviated.
    """
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--log", type=Path, metavar="FILE", help="also write messages to this file")
    return parser


def run(main: Callable[[argparse.Namespace], int | None], parser: argparse.ArgumentParser) -> None:
    """Parses the arguments, calls `main` with them and ends the process.

    Exit codes: 0 done; 1 one sentence on standard error says what to put right; 2 bad arguments;
    130 interrupted; or the code that `main` returned.
    """
    args = parser.parse_args()
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # half-written files are cleaned up then, too
    set_up_logging(None)
    try:
        keep_inputs(vars(args))
        set_up_logging(args.log)
        code = main(args) or 0
        sys.stdout.flush()
    except UserError as error:
        logging.error(f"error: {error}")
        code = 1
    except KeyboardInterrupt:
        logging.error("interrupted: run the same command again.")
        code = 130
    except BrokenPipeError:  # whoever read our output has gone, as in `translate.py | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as error:
        logging.error(f"error: {explain(error)}")
        code = 1
    except Exception:
        logging.exception(
            f"{parser.prog} met a case it does not know; please report it with this message:"
        )
        code = 1
    sys.exit(code)


def keep_inputs(values: dict) -> None:
    """Raises UserError when what is to be written would replace what another argument names."""
    paths = {name: value if isinstance(value, list) else [value] for name, value in values.items()}
    named = [
        (name, path) for name, found in paths.items() for path in found if isinstance(path, Path)
    ]
    for output, path in named:
        for name, other in named:
            if output in WRITTEN and name != output and path.resolve() == other.resolve():
                raise UserError(
                    f"--{output} {path} would replace that of --{name.replace('_', '-')}: give"
                    " another."
                )


def explain(error: OSError) -> str:
    where = f" at {error.filename}" if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"no disk space left{where}: free some, then run the same command again; nothing"
            " finished is lost."
        )
    return f"{error.strerror or error}{where}."


def set_up_logging(log: Path | None) -> None:
    handlers: list[logging.Handler] = [logging.StreamHandler()]
    handlers[0].setFormatter(logging.Formatter("%(message)s"))
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(log, encoding="utf-8"))
        handlers[1].setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """A type for add_argument: an integer from `least` to `most`."""

    def integer(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{value} is {f'below {least}' if value < least else f'above {most}'}"
            )
        return value

    return integer


def number(least: float, most: float = sys.float_info.max) -> Callable[[str], float]:
    """A type for add_argument: a finite number from `least` to `most`."""

    def real(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            upwards = "up" if most == sys.float_info.max else f"to {most}"
            raise argparse.ArgumentTypeError(f"{value} is not a number from {least} {upwards}")
        return value

    return real
