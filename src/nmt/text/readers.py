"""Streaming readers of sentences from files and archives: lines, SGML segments or TSV columns."""

import gzip
import html
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import IO, cast

from nmt.errors import UserError, nearest
from nmt.files import decode_lines

# Errors of the libraries that read damaged archives
DAMAGE = (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)

SEGMENT = re.compile(r"<seg\b[^>]*>(.*?)</seg>", re.DOTALL | re.IGNORECASE)
TAGGED = re.compile(r"<(\w+)[^>]*>(?:(.*)</\1>)?")
ENTITY = re.compile(r"&(#\d+|#x[0-9a-fA-F]+|\w+);")

# Control characters and Unicode line separators: other tools would break lines at some of them,
# take a tab for the end of a column, or NUL for the end of the text.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_sentences(path: Path, member: str, form: str, column: int) -> Iterator[str]:
    """Yield the sentences of one side, each safe to write as one line of text.

    Control characters and line separators are replaced by spaces; outer white space is stripped.

    member: the file in an archive; "" for a file that is not an archive.
    form: the format, as Part.format: lines, sgml, tsv or talks.
    column: for tsv, the column, counted from 0.

    Raises UserError when the file, member or column is missing, the archive is damaged, or the text
    is not UTF-8.
    """
    name = f"{path}:{member}" if member else str(path)
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
        cells = line.split("\t")
        if column < len(cells):
            yield cells[column]
        elif not line.strip():
            yield ""
        else:
            raise UserError(
                f"{name}, line {number}: column {column + 1} is missing, there are {len(cells)}."
            )


def pair_lines(
    source: Iterable[str], target: Iterable[str], source_name: str, target_name: str
) -> Iterator[tuple[str, str]]:
    """Yield the lines of both sides in pairs.

    Raises UserError naming both counts when one side has more lines than the other.
    """
    source_count = target_count = 0
    for pair in zip_longest(source, target):
        source_count += pair[0] is not None
        target_count += pair[1] is not None
        if None not in pair:
            yield pair
    if source_count != target_count:
        raise UserError(
            f"{source_name} has {source_count} lines but {target_name} has {target_count}: the two"
            " sides of parallel text must have the same number of lines."
        )


@contextmanager
def open_member(path: Path, member: str) -> Iterator[IO[bytes]]:
    """Yield a binary file: a file on disk, or a member of a .tar, .tgz, .tar.gz or .zip archive.

    It is decompressed when the name of the file or member ends in .gz.
    """
    if not path.is_file():
        raise UserError(f"{path} is {'a folder' if path.is_dir() else 'not there'}: give a file.")
    with ExitStack() as stack:
        try:
            if path.name.endswith((".tar", ".tgz", ".tar.gz")):
                file = tar_member(stack.enter_context(tarfile.open(path, "r|*")), path, member)
            elif path.suffix == ".zip":
                file = zip_member(stack.enter_context(zipfile.ZipFile(path)), path, member)
            elif member:
                raise UserError(f"{path} has no member {member!r}: it is not an archive.")
            else:
                file = open(path, "rb")  # noqa: SIM115 - the stack closes it
            stack.enter_context(file)
            if (member or path.name).endswith(".gz"):
                file = cast(IO[bytes], stack.enter_context(gzip.open(file)))
            yield file
        except DAMAGE as error:
            raise UserError(
                f"{path} is damaged or truncated ({error}): delete it and fetch it again."
            ) from None


def tar_member(archive: tarfile.TarFile, path: Path, member: str) -> IO[bytes]:
    """Return a member of a tar archive, which is read once from its start.

    Seeking in a compressed one is slow.
    """
    names = []
    for info in archive:
        names.append(info.name.removeprefix("./"))
        if names[-1] == member:
            require_file(info.isfile(), path, member)
            return cast(IO[bytes], archive.extractfile(info))
    raise UserError(f"{path} has no member {member!r}: {nearest(member, names)}")


def zip_member(archive: zipfile.ZipFile, path: Path, member: str) -> IO[bytes]:
    """Return a member of a zip archive."""
    names = archive.namelist()
    if member not in names:
        raise UserError(f"{path} has no member {member!r}: {nearest(member, names)}")
    info = archive.getinfo(member)
    is_link = stat.S_ISLNK(info.external_attr >> 16)
    require_file(not (is_link or info.is_dir()), path, member)
    return archive.open(info)


def require_file(is_file: bool, path: Path, member: str) -> None:
    """Raise UserError when a member is a link, which may lead anywhere, or a folder."""
    if not is_file:
        raise UserError(f"{path}: the member {member!r} is no file: name a file of the archive.")
