"""Strict reading of text and JSON, and atomic writing of files and folders."""

import bz2
import errno
import fcntl
import gzip
import hashlib
import json
import logging
import lzma
import math
import os
import re
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from nmt.errors import UserError

MOST_LINE_BYTES = 10_000_000
# Control characters and Unicode line separators: other tools would break lines at some of them,
# take a tab for the end of a column, or NUL for the end of the text, and terminals obey some.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
UNPACK: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
NOT_UNPACKED = (".zst", ".lz4", ".lzma", ".z", ".7z", ".rar")
NO_TEXT = "{} unpacks to over 100 times its size: that is no text."
# Errors of the libraries that unpack
DAMAGE = (EOFError, OSError, zlib.error, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile)


@contextmanager
def atomic_write(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path to write to; on success it replaces `path` atomically.

    Whatever happens, `path` is either what it was or the whole new file, flushed to disk. It may
    also become a folder: create one at the temporary path. (Replacing a folder takes two renames,
    and there is no folder in between.) All files get the permissions that the umask leaves,
    whatever library wrote them: safetensors lets only their owner read them. A symbolic link stays,
    and what it points to is replaced. A device or a pipe is written to as it is. What a killed
    process leaves in .NAME.partial is removed when the same path is written again.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        yield path
        return
    path = Path(os.path.realpath(path))
    folder = path.parent / f".{path.name}.partial"
    remove(folder)
    folder.mkdir(parents=True)
    try:
        temporary = folder / path.name
        yield temporary
        for item in [temporary, *temporary.rglob("*")]:
            if item.is_file():
                item.chmod(folder.stat().st_mode & 0o666)
            flush_to_disk(item)
        if path.is_dir() and temporary.is_dir():
            # os.replace cannot replace a folder that is not empty.
            os.replace(path, folder / "replaced")
        os.replace(temporary, path)
    finally:
        remove(folder)
    flush_to_disk(path.parent)


def flush_to_disk(path: Path) -> None:
    """Wait until a file or a folder's entries are on disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def checksum(path: Path, algorithm: str = "sha256") -> str:
    """Return a checksum of a file's bytes in hexadecimal; algorithm: sha256 or md5."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, algorithm).hexdigest()


def remove(path: Path) -> None:
    """Remove a file, or a folder with all its contents, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def lock(file: IO[str]) -> bool:
    """Lock an open file until it is closed, or until this process ends, however.

    Returns False where another process holds it. Where the file system has no locks, as Lustre
    without flock, that is a warning.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK):
            raise
        logging.warning(
            f"the file system of {file.name} has no locks ({error.strerror}): see to it that no"
            " other process works there."
        )
    return True


def no_link(path: str, flags: int) -> int:
    """Open a file, as open's `opener`, for a name at which a stranger may have put something.

    Raises UserError for a link, which could lead to a file of ours, and for a pipe.
    """
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.ENXIO):
            raise
        raise UserError(f"{path} is a link or a pipe, which is not ours: delete it.") from None


def link(path: Path, name: Path) -> None:
    """Give a file a second name, or copy it where the file system has no hard links, as BeeGFS."""
    try:
        os.link(path, name)
    except OSError:
        shutil.copyfile(path, name)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically, in UTF-8."""
    with atomic_write(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")


def write_lines(path: str | Path, lines: Iterable[str]) -> None:
    r"""Write lines, to each of which "\n" is added, to a text file atomically, in UTF-8."""
    with (
        atomic_write(path) as temporary,
        open(temporary, "w", encoding="utf-8", newline="") as file,
    ):
        file.writelines(f"{line}\n" for line in lines)


def write_json(path: str | Path, value: object) -> None:
    """Write a value as indented JSON atomically, in UTF-8."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path: str | Path, keys: Iterable[str] = ()) -> dict:
    """Return the object in a JSON file, which must have these keys.

    Raises UserError when the file is missing or damaged.
    """
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
        missing = [key for key in keys if key not in value]
        if missing or not isinstance(value, dict):
            raise ValueError(f"it has no {missing[0]!r}" if missing else "it has no keys")
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except (ValueError, TypeError, RecursionError) as error:  # a number contains no key
        raise UserError(f"{path} is damaged ({error}): delete it and make it again.") from None
    return value


def read_lines(path: str | Path) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 text file, plain, .gz, .bz2 or .xz.

    Only "\n" ends a line. A "\r" before it is dropped, and so is a byte order mark. The other
    characters at which `str.splitlines` would break, such as U+2028 and form feeds, stay inside the
    line, so that the two sides of a corpus stay aligned.

    Raises UserError when the file is missing, is not valid UTF-8 (with file and line), is damaged,
    or is compressed otherwise.
    """
    with unpacking(Path(path)), open(path, "rb") as file:
        yield from unpacked_lines(file, Path(path), str(path))


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Raise UserError for a file that is missing or cannot be unpacked."""
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except DAMAGE as error:
        if isinstance(error, OSError) and error.errno:  # the system's own
            raise
        raise UserError(
            f"{path} is damaged or truncated ({error}): replace it by a whole one."
        ) from None


def most_bytes(path: Path) -> float:
    """Return more than text unpacks to, some four times its file; of a pipe there may be more."""
    return 2**28 + 100 * path.stat().st_size if path.is_file() else math.inf


def unpacked_lines(file: IO[bytes], path: Path, name: str) -> Iterator[str]:
    """Yield the lines of an opened file, `path` or a member of it, unpacked as its name says.

    Raises UserError as `read_lines`, and for more than most_bytes.
    """
    suffix = Path(name).suffix.lower()
    if suffix in NOT_UNPACKED:
        raise UserError(
            f"{name}: {suffix} cannot be read here: unpack it, or pack it as .gz or .xz."
        )
    with UNPACK.get(suffix, nullcontext)(file) as unpacked:
        yield from decode_lines(bounded_lines(unpacked, path), name)


def bounded_lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    """Yield the lines of an opened file, `path` or a member of it, cut when they are too long."""
    room = most_bytes(path)
    while line := file.readline(MOST_LINE_BYTES + 1):
        room -= len(line)
        if room < 0:
            raise UserError(NO_TEXT.format(path))
        yield line


def decode_lines(lines: Iterable[bytes], name: str, first: int = 1) -> Iterator[str]:
    """Yield lines of UTF-8 bytes as text, as `read_lines` does.

    name: what errors call the source of the lines. first: the number of the first line.
    """
    for number, line in enumerate(lines, start=first):
        if len(line) > MOST_LINE_BYTES:
            raise UserError(f"{name}, line {number}: over {MOST_LINE_BYTES:,} bytes: is it text?")
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}, line {number}: not valid UTF-8 (byte {error.start + 1} of the line): "
                "convert the file to UTF-8, for example with iconv."
            ) from None
        if number == 1:
            text = text.removeprefix("\ufeff")
        yield text.removesuffix("\n").removesuffix("\r")
