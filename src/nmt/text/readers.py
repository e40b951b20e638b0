"""Sentences out of files and archives: one line each, one <seg> each or one column each;
streamed.
"""

import gzip
import html
import re
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

DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)

SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
ENTITY = re.compile(r"&(#\d+|#x[0-9a-fA-F]+|\w+);")

# Control characters and the line separators of Unicode: some later tool would break a line at them,
# take a tab for a column's end or NUL for the text's.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_sentences(path: Path, member: str, form: str, column: int) -> Iterator[str]:
    """The sentences of one side, each safe as a line: unsafe characters are spaces, outer spaces
    are stripped.

    `member` is "" for a file that is no archive; `form` is Part.format; `column` counts from 0, for
    tsv. Raises UserError when file, member or column is missing, the archive is damaged, or text is
    not UTF-8.
    """
    name = f"{path}:{member}" if member else str(path)
    with opened(path, member) as file:
        sentences: Iterable[str] = decode_lines(file, name)
        if form == "sgml":
            sentences = segments(sentences, name)
        elif form == "tsv":
            sentences = cells(sentences, column, name)
        for sentence in sentences:
            yield UNSAFE.sub(" ", sentence).strip()


def segments(lines: Iterable[str], name: str) -> Iterator[str]:
    """The text of every <seg>, entities replaced. Holds the whole file: it is a test set."""
    found = SEGMENT.findall("\n".join(lines))
    if not found:
        raise UserError(f"{name} has no <seg>: is it SGML?")
    for segment in found:
        yield ENTITY.sub(lambda entity: html.unescape(entity[0]), segment)


def cells(lines: Iterable[str], column: int, name: str) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        row = line.split("\t")
        if column >= len(row) and line.strip():
            raise UserError(
                f"{name}, line {number}: column {column + 1} is missing, there are {len(row)}."
            )
        yield row[column] if line.strip() else ""


def paired(
    source: Iterable[str], target: Iterable[str], source_name: str, target_name: str
) -> Iterator[tuple[str, str]]:
    """Both sides sentence by sentence. Raises UserError naming both counts when one has more than
    the other.
    """
    source_count = target_count = 0
    for pair in zip_longest(source, target):
        source_count += pair[0] is not None
        target_count += pair[1] is not None
        if None not in pair:
            yield pair
    if source_count != target_count:
        raise UserError(
            f"{source_name} has {source_count} lines but {target_name} has {target_count}: "
            "the two sides of parallel text must have equally many."
        )


@contextmanager
def opened(path: Path, member: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, or of a member of a .tar, .tgz or .zip; whichever ends in .gz is
    decompressed.
    """
    if not path.is_file():
        raise UserError(f"{path} is not there: download it first.")
    try:
        with ExitStack() as stack:
            if path.name.endswith((".tar", ".tgz", ".tar.gz")):
                file = stack.enter_context(tar_member(path, member))
            elif path.suffix == ".zip":
                file = stack.enter_context(zip_member(path, member))
            elif member:
                raise UserError(f"{path} has no member {member!r}: it is not an archive.")
            else:
                file = stack.enter_context(open(path, "rb"))
            if (member or path.name).endswith(".gz"):
                file = stack.enter_context(gzip.GzipFile(fileobj=file))
            yield file
    except DAMAGE as error:
        raise UserError(
            f"{path} is damaged or truncated ({error}): delete it and download it again."
        ) from None


@contextmanager
def tar_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    """Reads the archive once from its start: jumping to and fro in a compressed one is slow."""
    with (
        open(path, "rb") if path.suffix == ".tar" else gzip.open(path) as file,
        tarfile.open(fileobj=file, mode="r|") as archive,
    ):
        names = []
        for info in archive:
            names.append(info.name.removeprefix("./"))
            if names[-1] == member and info.isfile():
                yield archive.extractfile(info)
                return
        raise UserError(f"{path} has no member {member!r}: {nearest(member, names)}")


@contextmanager
def zip_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    with zipfile.ZipFile(path) as archive:
        if member not in archive.namelist():
            raise UserError(
                f"{path} has no member {member!r}: {nearest(member, archive.namelist())}"
            )
        with archive.open(member) as file:
            yield file
