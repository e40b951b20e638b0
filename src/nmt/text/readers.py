"""Streaming readers of sentences from files and archives: lines, SGML segments or TSV columns."""

import gzip
import html
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO

from nmt.errors import UserError, nearest
from nmt.files import decode_lines

CHUNK = 2**20  # bytes

# Errors of the libraries that read damaged archives
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)

SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
TAGGED = re.compile(r"<(\w+)[^>]*>(?:(.*)</\1>)?")
ENTITY = re.compile(r"&(#\d+|#x[0-9a-fA-F]+|\w+);")

# Control characters and Unicode line separators: other tools would break lines at some of them,
# take a tab for the end of a column, or NUL for the end of the text.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_sentences(
    path: Path, member: str, form: str, column: int, name: str | None = None
) -> Iterator[str]:
    """Yield the sentences of one side, each safe to write as one line of text.

    Control characters and line separators are replaced by spaces; outer white space is stripped.

    member: the file in an archive; "" for a file that is not an archive.
    form: the format, as Part.format: lines, sgml, tsv or talks.
    column: for tsv, the column, counted from 0.
    name: what messages call it, if it was unpacked from elsewhere.

    Raises UserError when the file, member or column is missing, the archive is damaged, or the text
    is not UTF-8.
    """
    name = name or (f"{path}:{member}" if member else str(path))
    with open_member(path, member) as file:
        sentences: Iterable[str] = decode_lines(file, name)
        if form == "sgml":
            sentences = read_segments(sentences, name)
        elif form == "tsv":
            sentences = read_column(sentences, column, name)
        elif form == "talks":
            sentences = read_talks(sentences)
        for sentence in sentences:
            yield UNSAFE.sub(" ", sentence).strip()


def read_segments(lines: Iterable[str], name: str) -> Iterator[str]:
    """Yield the text of every <seg>, with entities replaced.

    Holds the whole file in memory: only test sets are SGML.
    """
    segments = SEGMENT.findall("\n".join(lines))
    if not segments:
        raise UserError(f"{name} has no <seg>: is it SGML?")
    for segment in segments:
        yield ENTITY.sub(lambda entity: html.unescape(entity[0]), segment)


def read_talks(lines: Iterable[str]) -> Iterator[str]:
    """Yield the sentences, titles and descriptions of TED talks, and leave out what else is tagged.

    As fairseq's prepare-iwslt14.sh has it; it also drops the tags of reviewers and translators.
    """
    for line in lines:
        match = TAGGED.fullmatch(line.strip())
        if not match:
            yield line
        elif match[1].lower() in ("title", "description"):
            yield match[2] or ""


def read_column(lines: Iterable[str], column: int, name: str) -> Iterator[str]:
    """Yield one column of tab-separated values; blank lines give empty sentences."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            yield ""
            continue
        cells = line.split("\t")
        if column >= len(cells):
            raise UserError(
                f"{name}, line {number}: column {column + 1} is missing, there are {len(cells)}."
            )
        yield cells[column]


def pair_lines(
    source: Iterable[str], target: Iterable[str], source_name: str, target_name: str
) -> Iterator[tuple[str, str]]:
    """Yield the lines of both sides in pairs.

    Raises UserError naming both counts when one side has more lines than the other.
    """
    source_count = 0
    target_count = 0
    for pair in zip_longest(source, target):
        source_count += pair[0] is not None
        target_count += pair[1] is not None
        if None not in pair:
            yield pair
    if source_count != target_count:
        raise UserError(
            f"{source_name} has {source_count} lines but {target_name} has {target_count}: "
            "the two sides of parallel text must have the same number of lines."
        )


@contextmanager
def open_member(path: Path, member: str) -> Iterator[IO[bytes] | gzip.GzipFile]:
    """Yield a binary file: a file on disk, or a member of a .tar, .tgz, .tar.gz or .zip archive.

    It is decompressed when the name of the file or member ends in .gz.
    """
    with damage_named(path), ExitStack() as stack:
        file: IO[bytes] | gzip.GzipFile
        if path.name.endswith((".tar", ".tgz", ".tar.gz")):
            file = stack.enter_context(open_tar_member(path, member))
        elif path.suffix == ".zip":
            file = stack.enter_context(open_zip_member(path, member))
        elif member:
            raise UserError(f"{path} has no member {member!r}: it is not an archive.")
        else:
            file = stack.enter_context(open(path, "rb"))
        if (member or path.name).endswith(".gz"):
            file = stack.enter_context(gzip.GzipFile(fileobj=file))
        yield file


COMPRESSED_TARS = (".tgz", ".tar.gz")


def unpack(path: Path, members: Iterable[str], folder: Path) -> dict[str, Path]:
    """Copy members of a compressed tar archive into a folder, in one pass; return their paths.

    A compressed archive cannot be entered in the middle: opened once for each member, it would be
    decompressed as often. Names in the archive play no part in the names of the copies, but for the
    ending by which a member is known to be compressed itself. Raises UserError as `read_sentences`.
    """
    wanted = {name: folder / f"{i}{Path(name).suffix}" for i, name in enumerate(members)}
    copies: dict[str, Path] = {}
    names = []
    with damage_named(path), gzip.open(path) as file, tarfile.open(fileobj=file, mode="r|") as tar:
        for info in tar:
            name = info.name.removeprefix("./")
            names.append(name)
            if name not in wanted or name in copies:
                continue
            require_file(path, name, tar_kind(info))
            content = tar.extractfile(info)
            assert content is not None  # as of every file
            with open(wanted[name], "wb") as copy:
                shutil.copyfileobj(content, copy, CHUNK)
            copies[name] = wanted[name]
            if len(copies) == len(wanted):
                read_to_end(file)
                return copies
    missing = next(name for name in wanted if name not in copies)
    raise UserError(f"{path} has no member {missing!r}: {nearest(missing, names)}")


def read_to_end(file: IO[bytes] | gzip.GzipFile) -> None:
    """Read the rest of a file: the checksum at the end of a gzip is that of all before it."""
    if isinstance(file, gzip.GzipFile):
        while file.read(CHUNK):
            pass


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Turn errors of damaged archives into a UserError that names the file."""
    if not path.is_file():
        raise UserError(f"{path} is not there.")
    try:
        yield
    except DAMAGE as error:
        raise UserError(
            f"{path} is damaged or truncated ({error}): delete it and fetch it again."
        ) from None


@contextmanager
def open_tar_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    """Yield a member of a tar archive, which may be compressed with gzip.

    The archive is read once from its start, because seeking in a compressed one is slow.
    """
    with (
        open(path, "rb") if path.suffix == ".tar" else gzip.open(path) as file,
        tarfile.open(fileobj=file, mode="r|") as archive,
    ):
        names = []
        for info in archive:
            name = info.name.removeprefix("./")
            if name == member:
                require_file(path, member, tar_kind(info))
                content = archive.extractfile(info)
                assert content is not None  # as of every file
                yield content
                read_to_end(file)
                return
            names.append(name)
        raise UserError(f"{path} has no member {member!r}: {nearest(member, names)}")


@contextmanager
def open_zip_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    """Yield a member of a zip archive."""
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if member not in names:
            raise UserError(f"{path} has no member {member!r}: {nearest(member, names)}")
        require_file(path, member, zip_kind(archive.getinfo(member)))
        with archive.open(member) as file:
            yield file


def tar_kind(info: tarfile.TarInfo) -> str | None:
    """Return what a member is that is no file, or None."""
    if info.isfile():
        return None
    if info.issym() or info.islnk():
        return f"a link to {info.linkname!r}"
    return "a folder" if info.isdir() else "a device or a pipe"


def zip_kind(info: zipfile.ZipInfo) -> str | None:
    """Return what a member is that cannot be read as a file, or None."""
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a link"
    if info.flag_bits & 1:
        return "encrypted"
    return "a folder" if info.is_dir() else None


def require_file(path: Path, member: str, kind: str | None) -> None:
    """Raise UserError when the member is something else than a file."""
    if kind:
        raise UserError(f"{path}: the member {member!r} is {kind}: name a file of the archive.")
