"""Streaming readers of sentences from files and archives: lines, SGML segments or TSV columns."""

import html
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from nmt.configuration import ARCHIVE
from nmt.errors import UserError, nearest
from nmt.files import NO_TEXT, UNSAFE, most_bytes, read_lines, unpacked_lines, unpacking

# A document's beginning, or a segment up to its end, or up to the next one where it has none
SEGMENT = re.compile(
    r"<doc\b(?P<document>[^>]*)>"
    r"|<seg\b(?P<attributes>[^>]*)>(?P<text>.*?)(?P<end></seg>|(?=<seg\b)|\Z)",
    re.DOTALL | re.IGNORECASE,
)
ID = re.compile(r"\b(?:doc)?id\s*=\s*([\"']?)(?P<id>.*?)\1(?:\s|$)", re.IGNORECASE)
TAGGED = re.compile(r"<(\w+)[^>]*>(?:(.*)</\1>)?")
ENTITY = re.compile(r"&(#\d+|#x[0-9a-fA-F]+|\w+);")


def read_sentences(path: Path, member: str, form: str, column: int) -> Iterator[str]:
    """Yield the sentences of one side, each safe to write as one line of text.

    Control characters and line separators are replaced by spaces; outer white space is stripped.

    member: the file in an archive; "" for a file that is not an archive.
    form: the format, as Part.format, but for sgml: lines, tsv or talks.
    column: for tsv, the column, counted from 0.

    Raises UserError when the file, member or column is missing, the archive is damaged, or the text
    is not UTF-8.
    """
    lines = read_member(path, member)
    if form == "tsv":
        lines = read_column(lines, column, name_of(path, member))
    elif form == "talks":
        lines = read_talks(lines)
    return map(safe, lines)


def name_of(path: Path, member: str) -> str:
    """Return what errors call a file, or a member of an archive."""
    return f"{path}:{member}" if member else str(path)


def safe(sentence: str) -> str:
    """Return a sentence as one line, without outer white space."""
    return UNSAFE.sub(" ", sentence).strip()


def read_segments(lines: Iterable[str], name: str) -> dict[str, str]:
    """Return the text of every <seg>, with entities replaced, by document and segment.

    Holds the whole file in memory: only test sets are SGML. Raises UserError when there is none,
    one is not closed, or two have the same names.
    """
    segments: dict[str, str] = {}
    document = ""
    for match in SEGMENT.finditer("\n".join(lines)):
        if match["document"] is not None:
            document = identity(match["document"])
            continue
        key = f"document {document!r}, segment {identity(match['attributes'])!r}"
        if not match["end"]:
            raise UserError(f"{name}: {key} is not closed by </seg>.")
        if key in segments:
            raise UserError(f"{name}: {key} is there twice.")
        segments[key] = ENTITY.sub(lambda entity: html.unescape(entity[0]), match["text"])
    if not segments:
        raise UserError(f"{name} has no <seg>: is it SGML?")
    return segments


def identity(attributes: str) -> str:
    """Return the value of docid or id, "" without one."""
    match = ID.search(attributes)
    return match["id"] if match else ""


def segment_pairs(source: tuple[Path, str], target: tuple[Path, str]) -> Iterator[tuple[str, str]]:
    """Yield the pairs of two SGML files, which may have them in different orders: the source's.

    source, target: path and member, as `read_sentences` has them. Raises UserError for a segment
    that only one of them has, and as `read_segments`.
    """
    sides = []
    for place in (source, target):
        sides.append((name_of(*place), read_segments(read_member(*place), name_of(*place))))
    for (name, texts), (_, others) in (sides[::-1], sides):
        missing = next((key for key in others if key not in texts), None)
        if missing:
            raise UserError(f"{name} lacks {missing}, which the other side has.")
    (_, source_texts), (_, target_texts) = sides
    for key, text in source_texts.items():
        yield safe(text), safe(target_texts[key])


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


def read_member(path: Path, member: str) -> Iterator[str]:
    """Yield the lines of a file, or of a member of an archive, as `read_lines` does."""
    if not ARCHIVE.search(path.name):
        if member:
            raise UserError(f"{path} has no member {member!r}: it is not an archive.")
        yield from read_lines(path)
        return
    names = []
    with unpacking(path):
        for name, is_file, open_member in members(path):
            if name == member:
                if not is_file:  # but a link, which may lead anywhere, or a folder
                    raise UserError(
                        f"{path}: the member {member!r} is no file: name a file of the archive."
                    )
                with open_member() as file:
                    yield from unpacked_lines(file, path, name_of(path, member))
                return
            names.append(name)
    raise UserError(f"{path} has no member {member!r}: {nearest(member, names)}")


def members(path: Path) -> Iterator[tuple[str, bool, Callable[[], Any]]]:
    """Yield the name of each member of an archive, whether it is a file, and what opens it.

    A tar archive is read once from its start: seeking in a compressed one is slow.
    """
    if path.suffix.lower() == ".zip":
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                is_link = stat.S_ISLNK(info.external_attr >> 16)
                is_file = not (is_link or info.is_dir())
                yield info.filename, is_file, partial(archive.open, info)
        return
    with tarfile.open(path, "r|*") as tar:
        for entry in tar:
            if entry.offset_data + entry.size > most_bytes(path):
                raise UserError(NO_TEXT.format(path))
            name = entry.name.removeprefix("./")
            yield name, entry.isfile(), partial(tar.extractfile, entry)
