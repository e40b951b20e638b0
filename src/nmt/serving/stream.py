"""Text in blocks of lines: those of a file, or of standard input as they come."""

import sys
from collections.abc import Iterable, Iterator
from io import BufferedReader, TextIOWrapper
from itertools import islice, repeat
from pathlib import Path
from typing import cast

from nmt.errors import UserError
from nmt.files import MOST_LINE_BYTES, decode_lines, read_lines, write_lines
from nmt.text.chunks import chunked

LINES = 4000  # of a file's block, which are sorted by length among each other
BYTES = 2**18  # about as many, of standard input


def read_blocks(
    source: Path | None, given: Path | None = None
) -> Iterator[tuple[int, list[str], list[str]]]:
    """Yield blocks of a file, or of standard input: number of the first line, from 0, and lines.

    Beside the lines are those of the parallel file `given`, "" without one. Raises UserError when
    the two differ in their number of lines.
    """
    uneven = UserError(f"the source and {given} differ in their number of lines.")
    given_lines = read_lines(given) if given else repeat("")
    first = 0
    for lines in chunked(read_lines(source), LINES) if source else blocks_as_they_come():
        beside = list(islice(given_lines, len(lines)))
        if len(beside) < len(lines):
            raise uneven
        yield first, lines, beside
        first += len(lines)
    if given and next(given_lines, None) is not None:
        raise uneven


def blocks_as_they_come() -> Iterator[list[str]]:
    """Yield the lines that have come on standard input since the last block was asked for.

    So a writer gets its translations while it still holds the pipe open.
    """
    stdin = cast(BufferedReader, sys.stdin.buffer)
    number = 1
    rest = b""
    while data := stdin.read1(BYTES):  # waits for the first byte, but not for more
        *lines, rest = (rest + data).split(b"\n")
        lines += [rest] * (len(rest) > MOST_LINE_BYTES)  # which is said
        yield list(decode_lines(lines, "standard input", number))
        number += len(lines)
    if rest:
        yield list(decode_lines([rest], "standard input", number))


def write(lines: Iterable[str], output: Path | None) -> None:
    """Write the lines to a file, whole or not at all, or print each at once."""
    if output:
        write_lines(output, lines)
    else:
        cast(TextIOWrapper, sys.stdout).reconfigure(encoding="utf-8")
        for line in lines:
            print(line, flush=True)
