"""Reading lines strictly and writing files whole or not at all."""

import errno
import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.errors import UserError

# Who may read what is written; it can only be asked for by setting it, which is done while there is
# but one thread.
UMASK = os.umask(0o077)
os.umask(UMASK)


@contextmanager
def written_whole(path: str | Path) -> Iterator[Path]:
    """Yields a path beside `path` to write to; on success it is flushed to disk and renamed to
    `path`.

    Whatever happens in between, `path` is either what it was or the whole new file. A folder is
    handled alike: create it at the yielded path. (For the moment between two renames there is
    none.) Files get the permissions that the umask leaves, whoever wrote them: safetensors lets
    only their owner read them.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside, old = (
        path.with_name(f".{path.name}.{os.getpid()}.{what}partial") for what in ("", "old.")
    )
    try:
        yield beside
        for written in [*beside.rglob("*"), beside] if beside.is_dir() else [beside]:
            if written.is_file():
                written.chmod(0o666 & ~UMASK)
            flush_to_disk(written)
        if path.is_dir():
            if not beside.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
            os.replace(path, old)  # rename does not replace a folder that is not empty
        os.replace(beside, path)
        flush_to_disk(path.parent)
    finally:
        if old.exists() and not path.exists():
            os.replace(old, path)
        remove(beside)
        remove(old)


def flush_to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Removes a file, or a folder with all in it; nothing there is fine."""
    if path.is_dir() and not path.is_symlink():
        for inside in path.iterdir():
            remove(inside)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    with written_whole(path) as beside:
        beside.write_text(text, encoding="utf-8", newline="")


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    with written_whole(path) as beside, open(beside, "w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def write_json(path: str | Path, value: object) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path):
    """Raises UserError when the file is missing or is not JSON."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except ValueError as error:
        raise UserError(
            f"{path} is not valid JSON ({error}): delete it and make it again."
        ) from None


def read_lines(path: str | Path) -> Iterator[str]:
    r"""The lines of a UTF-8 text file, plain or .gz, one by one.

    Only "\n" ends a line ("\r" before it is dropped, and so is a byte order mark): the no-break
    spaces, U+2028, form feeds and other characters that `str.splitlines` would also break at stay
    inside the line, so that two sides of a corpus never shift against each other.

    Raises UserError when the file is missing, is not valid UTF-8 (with file and line), or its gzip
    is damaged.
    """
    path = Path(path)
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            yield from decode_lines(file, str(path))
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UserError(
            f"{path} is a damaged or truncated gzip file ({error}): delete it and fetch it again."
        ) from None


def decode_lines(lines: Iterable[bytes], name: str) -> Iterator[str]:
    """Lines of bytes as text; `name` is what errors call their source."""
    for number, line in enumerate(lines, start=1):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}, line {number}: not valid UTF-8 (byte {error.start + 1} of the line): "
                "convert the file to UTF-8, with iconv say."
            ) from None
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield text.removesuffix("\n").removesuffix("\r")
