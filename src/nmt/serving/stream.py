"""Streams of text: lines are gathered into blocks as they come, and blocks become output lines."""

import queue
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import TextIOWrapper
from itertools import islice, repeat, zip_longest
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO, TypeVar, cast

from nmt.decoding.search import Hypothesis
from nmt.decoding.translator import TranslatedBatch, in_order
from nmt.errors import UserError
from nmt.files import decode_lines, read_lines, write_lines
from nmt.serving.folder import TranslationModel
from nmt.serving.methods import Method

LINES_PER_BLOCK = 4000  # which are sorted by length among each other
GATHERING_SECONDS = 0.1  # for which a block of lines from a pipe is gathered

Item = TypeVar("Item")
Links = list[tuple[int, int]]  # numbers of the words that alignment links, source and target
Block = list[tuple[str, str]]  # source lines and the translations to score, "" where none are given


@dataclass(frozen=True)
class OutputFields:
    """What an output line has beside the translation: number and score before it, links behind."""

    numbers: bool
    scores: bool
    alignments: bool


@dataclass(frozen=True)
class BlockTranslator:
    """A model that translates blocks of lines into output lines.

    report: called with the number of lines of each batch that is done.
    """

    model: TranslationModel
    method: Method
    fields: OutputFields
    report: Callable[[int], None]

    def __call__(self, numbered: tuple[int, Block]) -> list[str]:
        """Return the output lines of a block, in its order; one of its lines may have several.

        numbered: the number of the block's first line, from 0, and the block.
        """
        first_number, block = numbered
        sources = self.model.encode([line for line, _ in block], first_number + 1)
        given = [translation for _, translation in block]
        batches = self.method(sources, given, first_number)
        linked = with_links(self.model, sources, batches, self.fields.alignments, self.report)
        return [
            output_line(self.model, number, hypothesis, links, self.fields)
            for number, translations in enumerate(in_order(linked, len(block)), first_number)
            for hypothesis, links in translations
        ]


def with_links(
    model: TranslationModel,
    sources: list[list[int]],
    batches: Iterable[TranslatedBatch],
    alignments: bool,
    report: Callable[[int], None],
) -> Iterator[tuple[list[int], list[list[tuple[Hypothesis, Links]]]]]:
    """Yield each batch with the word links of every hypothesis, none without `alignments`."""
    for numbers, hypotheses in batches:
        links: list[list[Links]] = [[[] for _ in n_best] for n_best in hypotheses]
        if alignments:
            targets = [[hypothesis.tokens for hypothesis in n_best] for n_best in hypotheses]
            links = model.align([sources[number] for number in numbers], targets)
        report(len(numbers))
        pairs = zip(hypotheses, links, strict=True)
        yield numbers, [list(zip(n_best, its_links, strict=True)) for n_best, its_links in pairs]


def output_line(
    model: TranslationModel,
    number: int,
    hypothesis: Hypothesis,
    links: Links,
    fields: OutputFields,
) -> str:
    """Return the fields of one translation, separated by tabs."""
    columns = []
    if fields.numbers:
        columns.append(str(number))
    if fields.scores:
        columns.append(f"{hypothesis.score:.4f}")
    columns.append(model.decode(hypothesis.tokens))
    if fields.alignments:
        columns.append(" ".join(f"{source}-{target}" for source, target in links))
    return "\t".join(columns)


def read_blocks(
    source: Path | None, given: Path | None, size: int = LINES_PER_BLOCK
) -> Iterator[tuple[int, Block]]:
    """Yield the blocks of a file, or of standard input as it comes.

    Before each is the number of its first line, from 0. given: the file of translations to score,
    if any. size: the lines of a file's block. Reading raises UserError when the two sides differ in
    their number of lines.
    """
    lines = read_lines(source) if source else decode_lines(standard_input(), "standard input")
    pairs = parallel_lines(lines, read_lines(given)) if given else zip(lines, repeat(""))
    number = 0
    for block in full_blocks(pairs, size) if source else blocks_as_they_come(pairs):
        yield number, block
        number += len(block)


def parallel_lines(lines: Iterable[str], given: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of lines. Raises UserError when one side has fewer."""
    for pair in zip_longest(lines, given):
        if None in pair:
            raise UserError(
                "the source and the file of --forced differ in their number of lines: make them"
                " parallel."
            )
        yield pair


def full_blocks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield blocks of so many items; the last may have fewer."""
    items = iter(items)
    while block := list(islice(items, size)):
        yield block


def blocks_as_they_come(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield blocks of what comes within GATHERING_SECONDS of a block's first item.

    So a writer gets its translations while it still holds the pipe open. An error in reading is
    raised when what came before it has been yielded.
    """
    arrived: queue.Queue = queue.Queue(LINES_PER_BLOCK)
    end = object()
    nothing = object()

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
            arrived.put(end)
        except Exception as error:  # raised again where it is received
            arrived.put(error)

    def receive(seconds: float) -> Any:
        try:
            return arrived.get(timeout=seconds)
        except queue.Empty:
            return nothing

    def wait() -> Any:
        # A wait without a timeout would miss an interrupt that comes just before it.
        while (item := receive(1.0)) is nothing:
            pass
        return item

    def is_item(item: Any) -> bool:
        return item is not end and item is not nothing and not isinstance(item, Exception)

    Thread(target=read, daemon=True).start()
    item = wait()
    while is_item(item):
        block: list[Item] = []
        deadline = time.monotonic() + GATHERING_SECONDS
        while is_item(item) and len(block) < LINES_PER_BLOCK:
            block.append(item)
            item = receive(max(0.0, deadline - time.monotonic()))
        yield block
        if item is nothing:
            item = wait()
    if isinstance(item, Exception):
        raise item


def write(lines: Iterable[str], output: Path | None) -> None:
    """Write the lines to a file, whole or not at all, or print each at once."""
    if output:
        write_lines(output, lines)
    else:
        cast(TextIOWrapper, sys.stdout).reconfigure(encoding="utf-8")
        for line in lines:
            print(line, flush=True)


def standard_input() -> BinaryIO:
    """Open standard input once more, for the thread that reads it.

    Python waits for the lock of sys.stdin when it ends, and aborts when a thread holds it.
    """
    return open(sys.stdin.fileno(), "rb", closefd=False)
