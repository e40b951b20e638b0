"""Progress of long steps: a bar on a terminal, a line now and then in the log."""

import logging
import math
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm import tqdm

SECONDS_BETWEEN_LOG_LINES = 30
LOG_LINE = "{desc}: {n_fmt} of {total_fmt}{unit}, {remaining} left{postfix}, {rate_fmt}"
LOG_LINE_WITHOUT_TOTAL = "{desc}: {n_fmt}{unit}{postfix}, {rate_fmt}"

Item = TypeVar("Item")


class Progress(tqdm):
    """A counter of `total` units of work, shown as a bar and in the log.

    Call `update(n)` after every n units, `show(name=value)` now and then, and `close` at the end.

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
        self.begun = self.last_log_time = time.monotonic()
        self.shown: dict[str, object] = {}
        super().__init__(
            desc=description, total=total, unit=f" {unit}", initial=completed, leave=False
        )

    @staticmethod
    def format_meter(**fields) -> str:
        """Return tqdm's text, but of one unit and of slow ones as "1 line, 45.00 s each"."""
        text = re.sub(r"s/ \w+", " s each", tqdm.format_meter(**fields))
        return re.sub(r"(: 1(?: of 1)? \w+)s\b", r"\1", text)

    def display(self, *args, **kwargs) -> bool:
        """Draw the bar, on a terminal."""
        return self.shows_bar and super().display(*args, **kwargs)

    def update(self, n: int = 1) -> None:
        """Count `n` more units."""
        super().update(n)
        now = time.monotonic()
        # Where the log is what is seen of a step, it has more lines in the first minutes.
        pause = 1 + (now - self.begun) / 10 if "NMT_LOG" in os.environ else math.inf
        if now - self.last_log_time >= min(pause, SECONDS_BETWEEN_LOG_LINES):
            self.log()

    def show(self, **values: object) -> None:
        """Show values such as `dev_BLEU=31.2`, and go on to show the latest of others."""
        self.shown |= values
        texts = (f"{name.replace('_', ' ')} {value}" for name, value in self.shown.items())
        self.set_postfix_str(", ".join(texts), refresh=False)

    def log(self) -> None:
        """Write a line to the log."""
        self.last_log_time = time.monotonic()
        line = LOG_LINE if self.total else LOG_LINE_WITHOUT_TOTAL
        text = self.format_meter(**self.format_dict | {"bar_format": line})
        logging.info(" ".join(text.split()))  # tqdm pads its rates


def progress(
    items: Iterable[Item], description: str, total: int | None, unit: str
) -> Iterator[Item]:
    """Yield the items and show how many have been consumed."""
    with Progress(description, total, unit) as counter:
        for item in items:
            yield item
            counter.update()
