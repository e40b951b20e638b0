"""Progress of long steps: a bar on a terminal, a line every 30 seconds in the log."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

SECONDS_BETWEEN_LOG_LINES = 30

Item = TypeVar("Item")


class Progress:
    """Counts `total` units of work called `unit`; `update(n, **shown)` after each n, `close` at the
    end.

    quiet: another process shows the same.
    """

    def __init__(
        self, description: str, total: int | None, unit: str, done: int = 0, quiet: bool = False
    ):
        self.description, self.total, self.unit, self.done = description, total, unit, done
        hidden = quiet or not sys.stderr.isatty()
        self.bar = tqdm(
            desc=description,
            total=total,
            unit=f" {unit}",
            initial=done,
            leave=False,
            disable=hidden,
        )
        self.started = self.logged = time.monotonic()
        self.done_at_start, self.shown = done, {}

    def update(self, n: int = 1, **shown: object) -> None:
        self.done += n
        if shown:
            self.shown = shown
            self.bar.set_postfix(shown, refresh=False)
        self.bar.update(n)
        now = time.monotonic()
        if now - self.logged >= SECONDS_BETWEEN_LOG_LINES:
            self.logged = now
            rate = (self.done - self.done_at_start) / (now - self.started)
            of_total = f" of {self.total}" if self.total else ""
            values = "".join(f", {name} {value}" for name, value in self.shown.items())
            logging.info(
                f"{self.description}: {self.done}{of_total} {self.unit}, {rate:.1f} a"
                f" second{values}"
            )

    def close(self) -> None:
        self.bar.close()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress(
    items: Iterable[Item], description: str, total: int | None, unit: str
) -> Iterator[Item]:
    """Passes `items` on and shows how far it is."""
    with Progress(description, total, unit) as shown:
        for item in items:
            yield item
            shown.update()
