"""Command-line arguments, logging and exit codes of all scripts."""

import argparse
import errno
import logging
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from nmt.errors import UserError
from nmt.files import resolved

# More is a typing error: torch would start them all, and crash.
MOST_THREADS = 4096

# What to do about errors of the operating system that name a file
REMEDIES = {
    errno.ENOENT: "is not there: check the path, and whether its folder was deleted",
    errno.EISDIR: "is a folder: name a file",
    errno.ENOTDIR: "leads through a file that is no folder: choose another path",
    errno.EEXIST: "is there already, and no folder: choose another path",
    errno.EACCES: "may not be read or written: change its permissions, or choose another path",
    errno.EPERM: "may not be changed: change its owner, or choose another path",
    errno.EROFS: "is on a disk that can only be read: choose another path",
    errno.ELOOP: "is a link that leads back to itself: delete it, or choose another path",
    errno.ENAMETOOLONG: "has too long a name: choose a shorter one",
}

# Arguments of scripts that name files to write
OUTPUTS = (
    *("log", "output", "output_source", "output_target"),
    *("csv", "markdown", "html", "latex", "pdf", "png"),
)


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


# Scripts import this module before any package of the environment.
if Path(sys.argv[0]).resolve().parent == Path(__file__).resolve().parents[1]:
    if sys.version_info < (3, 11):  # noqa: UP036
        sys.exit("error: Python 3.11 or newer is needed: activate the environment first.")
    sys.excepthook = explain_missing_package


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser with --log, which all scripts share.

    Options must be spelled out: abbreviations are errors.
    """
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    parser.add_argument("--log", type=Path, metavar="FILE", help="also write messages to this file")
    return parser


def add_experiment(parser: argparse.ArgumentParser) -> None:
    """Add --catalog and --experiment."""
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--experiment", required=True, metavar="NAME", help="an entry of config/experiments"
    )


def add_reproduction(parser: argparse.ArgumentParser) -> None:
    """Add --catalog and --reproduction."""
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--reproduction", type=Path, required=True, metavar="FILE", help="a YAML file with tables"
    )


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Add --runs, the folder of all runs."""
    parser.add_argument("--runs", type=Path, default=Path("results/runs"), metavar="FOLDER")


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add --model, one folder."""
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="made by average.py"
    )


def add_references(parser: argparse.ArgumentParser, action: str = "store") -> None:
    """Add --references, one file or several, and --target-language.

    action: what becomes of --references that is given twice, as add_argument has it.
    """
    parser.add_argument(
        "--references",
        type=Path,
        required=True,
        nargs="+",
        action=action,
        metavar="FILE",
        help="references parallel to the translations",
    )
    parser.add_argument(
        "--target-language",
        required=True,
        metavar="CODE",
        help="the language to tokenize for, such as de",
    )


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add --threads, which is None when it is not given."""
    parser.add_argument(
        "--threads",
        type=whole_number(1, MOST_THREADS),
        help="CPU threads, all without it; no more than there are idle cores, as threads wait for"
        " each other: with one core taken, two threads are slower than one",
    )


def add_gpus(parser: argparse.ArgumentParser) -> None:
    """Add --gpus, for scripts that compute."""
    parser.add_argument(
        "--gpus",
        type=whole_number(0),
        default=0,
        metavar="N",
        help="GPUs that the job was given: with 1 or more, that torch can use none is an error"
        " (default: one is used where there is one)",
    )


def add_jobs(parser: argparse.ArgumentParser, unit: str) -> None:
    """Add --jobs, a number of units: threads or processes."""
    parser.add_argument(
        "--jobs",
        type=whole_number(1),
        default=1,
        help=f"number of {unit} (default: %(default)s)",
    )


def run(
    main: Callable[[argparse.Namespace], int | None],
    parser: argparse.ArgumentParser,
    compressed: bool = False,
) -> None:
    """Parse the arguments, call `main` with them and exit.

    compressed: whether an output may be a .gz file, as a download or an archive is.
    Exit codes: 0 success; 1 an error, explained in one sentence on standard error; 2 bad arguments;
    130 interrupted; or the code that `main` returned.
    """
    for argument in sys.argv:
        if not is_utf8(argument):
            parser.error(f"{argument!a} is not valid UTF-8")
    args = parser.parse_args()
    # An exception, so that partial files are removed on SIGTERM as on Ctrl-C
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    set_up_logging(None)
    try:
        check_outputs(vars(args), compressed)
        set_up_logging(args.log)
        code = main(args) or 0
        sys.stdout.flush()
    except UserError as error:
        logging.error(f"error: {error}")
        code = 1
    except KeyboardInterrupt:
        logging.error("interrupted: run the same command again.")
        code = 130
    except BrokenPipeError:
        code = 1  # The reader of standard output has exited, as in `translate.py | head`.
    except OSError as error:
        logging.error(f"error: {explain(error)}")
        code = 1
    except Exception:
        logging.exception(f"{parser.prog} failed unexpectedly; please report this message:")
        code = 1
    flush_or_discard()
    sys.exit(code)


def flush_or_discard() -> None:
    """Write what standard output still holds, or discard it where that fails.

    Python would try it again as it ends, and end with a message and a code of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_utf8(argument: str) -> bool:
    """Return whether an argument was valid UTF-8: nothing else can be printed or translated."""
    try:
        argument.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_outputs(values: dict, compressed: bool) -> None:
    """Raise UserError when an output would overwrite a file that another argument names.

    Raises it for the name of a .gz file, too, unless `compressed`.

    values: the parsed arguments by name.
    """
    paths = []
    for name, value in values.items():
        candidates = value if isinstance(value, list) else [value]
        paths += [(name, path) for path in candidates if isinstance(path, Path)]
    outputs = [(name, path) for name, path in paths if name in OUTPUTS]
    for output, output_path in outputs:
        if output_path.suffix == ".gz" and not compressed:
            raise UserError(
                f"--{output.replace('_', '-')} {output_path} would not be compressed: leave out"
                " .gz, and compress the file afterwards."
            )
        for name, path in paths:
            if name != output and resolved(path) == resolved(output_path):
                option, other = (key.replace("_", "-") for key in (output, name))
                raise UserError(
                    f"--{option} {output_path} would overwrite the file of --{other}: choose"
                    " another path."
                )


def explain(error: OSError) -> str:
    """Return a sentence about an error of the operating system."""
    path = os.fsdecode(error.filename) if error.filename else ""  # TensorBoard's are bytes
    where = f" at {path}" if path else ""
    if error.errno in REMEDIES and path:
        return f"{path} {REMEDIES[error.errno]}."
    if error.errno == errno.EFBIG:
        return (
            f"a file would grow beyond what is allowed{where}: raise the limit (`ulimit -f`), then"
            " run the same command again; nothing finished is lost."
        )
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return (
            f"no disk space left{where}: free some, then run the same command again; nothing"
            " finished is lost."
        )
    return f"{error.strerror or error}{where}."


def set_up_logging(log: Path | None) -> None:
    """Send messages to standard error and, with date and time, to the end of the file `log`."""
    console = logging.StreamHandler()
    console.setFormatter(logging.Formatter("%(message)s"))
    handlers: list[logging.Handler] = [console]
    if log is not None:
        log.parent.mkdir(parents=True, exist_ok=True)
        file = logging.FileHandler(log, encoding="utf-8")
        file.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        handlers.append(file)
    logging.basicConfig(level=logging.INFO, handlers=handlers, force=True)


def whole_number(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """Return a type for add_argument: an integer from `least` to `most`."""

    def integer(text: str) -> int:
        value = int(text)
        if value < least:
            raise argparse.ArgumentTypeError(f"{value} is below {least}")
        if value > most:
            raise argparse.ArgumentTypeError(f"{value} is above {most}")
        return value

    return integer


def number(least: float, most: float = sys.float_info.max) -> Callable[[str], float]:
    """Return a type for add_argument: a finite number from `least` to `most`."""

    def real(text: str) -> float:
        value = float(text)
        if not least <= value <= most:  # also true for NaN
            upper = "up" if most == sys.float_info.max else f"to {most}"
            raise argparse.ArgumentTypeError(f"{value} is not a number from {least} {upper}")
        return value

    return real
