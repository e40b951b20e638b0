"""Progress of long steps: a bar on a terminal, a line every 30 seconds in the log."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

SECONDS_BETWEEN_LOG_LINES = 30
LOG_LINE = "{desc}: {n_fmt} of {total_fmt}{unit}, {rate_fmt}{postfix}"

Item = TypeVar("Item")


class Progress(tqdm):
    """A counter of `total` units of work, shown as a bar and in the log.

    Call `update(n, **shown)` after every n units, and `close` at the end.

    total: None when it is not known.
    completed: units that were done before, which do not count in the rate.
    quiet: show no bar, because another process shows the same.
    """

    monitor_interval = 0  # tqdm's thread would run beside forks of this process

    def __init__(
        self,
        description: str,
        total: int | None,
        unit: str,
        completed: int = 0,
        quiet: bool = False,
    ):
        self.shows_bar = sys.stderr.isatty() and not quiet
        self.last_log_time = time.monotonic()
        super().__init__(
            desc=description, total=total, unit=f" {unit}", initial=completed, leave=False
        )

    def display(self, *args, **kwargs) -> bool:
        """Draw the bar, on a terminal."""
        return self.shows_bar and super().display(*args, **kwargs)

    def update(self, n: int = 1, **shown: object) -> None:
        """Count `n` more units; show values such as `loss=1.2`, or those of the last update."""
        if shown:
            self.set_postfix(shown, refresh=False)
        super().update(n)
        now = time.monotonic()
        if now - self.last_log_time >= SECONDS_BETWEEN_LOG_LINES:
            self.last_log_time = now
            logging.info(self.format_meter(**self.format_dict | {"bar_format": LOG_LINE}))


def progress(
    items: Iterable[Item], description: str, total: int | None, unit: str
) -> Iterator[Item]:
    """Yield the items and show how many have been consumed."""
    with Progress(description, total, unit) as counter:
        for item in items:
            yield item
            counter.update()
