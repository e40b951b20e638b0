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
    """A counter of `total` units of work, shown as a bar and in the log.

    Call `update(n, **shown)` after every n units, and `close` at the end.

    total: None when it is not known.
    completed: units that were done before, which do not count in the rate.
    quiet: show no bar, because another process shows the same.
    """

    def __init__(
        self,
        description: str,
        total: int | None,
        unit: str,
        completed: int = 0,
        quiet: bool = False,
    ):
        self.description = description
        self.total = total
        self.unit = unit
        self.completed = completed
        self.completed_at_start = completed
        self.shown: dict[str, object] = {}
        self.bar = tqdm(
            desc=description,
            total=total,
            unit=f" {unit}",
            initial=completed,
            leave=False,
            disable=quiet or not sys.stderr.isatty(),
        )
        self.start_time = time.monotonic()
        self.last_log_time = self.start_time

    def update(self, n: int = 1, **shown: object) -> None:
        """Count `n` more units; show values such as `loss=1.2`, or those of the last update."""
        self.completed += n
        if shown:
            self.shown = shown
            self.bar.set_postfix(shown, refresh=False)
        self.bar.update(n)
        now = time.monotonic()
        if now - self.last_log_time >= SECONDS_BETWEEN_LOG_LINES:
            self.last_log_time = now
            rate = (self.completed - self.completed_at_start) / (now - self.start_time)
            speed = f"{rate:.1f} a second" if rate >= 1 else f"{60 * rate:.1f} a minute"
            of_total = f" of {self.total}" if self.total else ""
            values = "".join(f", {name} {value}" for name, value in self.shown.items())
            logging.info(
                f"{self.description}: {self.completed}{of_total} {self.unit}, {speed}{values}"
            )

    def close(self) -> None:
        """Remove the bar."""
        self.bar.close()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def progress(
    items: Iterable[Item], description: str, total: int | None, unit: str
) -> Iterator[Item]:
    """Yield the items and show how many have been consumed."""
    with Progress(description, total, unit) as counter:
        for item in items:
            yield item
            counter.update()
