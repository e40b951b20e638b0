"""Command-line arguments, logging and exit codes of all scripts."""

import argparse
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nmt.errors import UserError
from nmt.files import UNSAFE


class Plain(logging.Formatter):
    """Messages without control characters: terminals would obey those of a stranger's names."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the message with spaces for control characters, line by line."""
        return "\n".join(UNSAFE.sub(" ", line) for line in super().format(record).split("\n"))


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser whose options must be spelled out: abbreviations are errors."""
    return argparse.ArgumentParser(description=description, allow_abbrev=False)


def require(
    parser: argparse.ArgumentParser, metavar: str, nargs: str | None = None, **helps: str
) -> None:
    """Add required arguments, each with its help.

    metavar: FILE or FOLDER, which are paths, or another word for text. nargs: as argparse has it.
    `require(parser, "FILE", test_source="raw text")` adds --test-source FILE.
    """
    kind = Path if metavar in ("FILE", "FOLDER") else str
    settings: dict[str, Any] = {"nargs": nargs, "required": nargs not in ("?", "*")}
    if nargs in ("+", "*"):
        settings["action"] = "extend"
    for name, help in helps.items():
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=kind, metavar=metavar, help=help, **settings)


def offer(parser: argparse.ArgumentParser, metavar: str, **helps: str) -> None:
    """Add arguments as `require` does, without which, or without whose values, scripts do less."""
    require(parser, metavar, "?", **helps)


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add --catalog."""
    help = "a folder, or a configuration with entries of its own (default: %(default)s)"
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="PATH", help=help)


def add_reproduction(parser: argparse.ArgumentParser) -> None:
    """Add --catalog and --reproduction."""
    add_catalog(parser)
    require(parser, "FILE", reproduction="a YAML file with tables")


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add --runs, the folder of all runs."""
    parser.add_argument("--runs", type=Path, default=Path("results/runs"), metavar="FOLDER")


def add_references(parser: argparse.ArgumentParser) -> None:
    """Add --references, one file or several, and --target-language."""
    require(parser, "FILE", "+", references="parallel to the translations")
    require(parser, "CODE", target_language="the language to tokenize for, such as de")


def add_device(parser: argparse.ArgumentParser) -> None:
    """Add --threads, which `run` lets torch have, and --gpus, for scripts that compute."""
    parser.add_argument(
        "--threads",
        type=whole_number(1, 1024),
        help="CPU threads, all without it; no more than there are idle cores, as threads wait for"
        " each other: with one core taken, two threads are slower than one",
    )
    parser.add_argument(
        "--gpus",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="GPUs that the job was given: with 1 or more, that torch can use none is an error"
        " (default: one is used where there is one)",
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """Add --jobs, a number of processes."""
    parser.add_argument(
        "--jobs", type=whole_number(1, 1024), default=1, help="processes (default: 1)"
    )


def run(main: Callable[[argparse.Namespace], int | None], parser: argparse.ArgumentParser) -> None:
    """Parse the arguments, call `main` with them and exit.

    Exit codes: 0 success; 1 an error, explained in one sentence on standard error; 2 bad arguments;
    130 interrupted; or the code that `main` returned.
    """
    args = parser.parse_args()
    # An exception, so that partial files are removed as on Ctrl-C; HUP: the terminal was closed
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup has it
            signal.signal(number, signal.default_int_handler)
    for level, name in {logging.INFO: "", logging.WARNING: "warning: "}.items():
        logging.addLevelName(level, name)
    logging.addLevelName(logging.ERROR, "error: ")
    date = "%(asctime)s " if "NMT_LOG" in os.environ else ""  # set by the rules, see there
    form = f"{date}%(levelname)s%(message)s"
    logging.basicConfig(level=logging.INFO, force=True)
    logging.root.handlers[0].setFormatter(Plain(form, "%Y-%m-%d %H:%M:%S"))
    code = 1
    try:
        keep_inputs(vars(args))
        if vars(args).get("threads"):
            import torch  # which takes seconds

            torch.set_num_threads(args.threads)
        result = main(args) or 0
        sys.stdout.flush()
        code = result
    except UserError as error:
        logging.error(error)
    except KeyboardInterrupt:
        logging.info("interrupted: run the same command again.")
        code = 130
    except BrokenPipeError:
        pass  # The reader of standard output has exited, as in `translate.py | head`.
    except OSError as error:
        logging.error(explain(error))
    except Exception as error:
        if os.strerror(errno.ENOSPC) in str(error):  # as libraries pass it on
            logging.error(explain(OSError(errno.ENOSPC, "")))
        else:
            logging.exception(f"{parser.prog} failed unexpectedly; please report this message:")
    try:
        sys.stdout.flush()
    except OSError:
        # Python would try it again as it ends, and end with a message and a code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def keep_inputs(values: dict) -> None:
    """Raise UserError where --output is the file of another argument, which it would replace."""
    output = values.get("output")
    for name, value in values.items():
        paths = value if isinstance(value, list) else [value]
        if name != "output" and isinstance(output, Path) and output in paths:
            raise UserError(f"--output and --{name} are both {output}: choose another output.")


def explain(error: OSError) -> str:
    """Return a sentence about an error of the operating system."""
    path = os.fsdecode(error.filename2 or error.filename or "")  # TensorBoard's are bytes
    where = f": {path}" if path else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"no disk space left{where}: free some, then run the same command again."
    if isinstance(error, IsADirectoryError):
        return f"{path} is a folder: give a file."
    return f"{error.strerror or error}{where}."


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """Return a type for add_argument: an integer from `least` to `most`."""
    return number(least, most, int)


def number(
    least: float, most: float = sys.float_info.max, kind: Callable[[str], Any] = float
) -> Callable[[str], Any]:
    """Return a type for add_argument: a finite number from `least` to `most`."""

    def number(text: str) -> Any:
        value = kind(text)
        if not least <= value <= most:  # also true for NaN
            raise argparse.ArgumentTypeError(f"{value} is not from {least} to {most}")
        return value

    return number
