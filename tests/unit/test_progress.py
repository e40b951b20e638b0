"""Progress in the log."""

import logging

from nmt import progress
from nmt.progress import Progress


def test_lines_in_the_log_and_no_bar_off_a_terminal(monkeypatch, caplog, capfd):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOG_LINES", 0)
    caplog.set_level(logging.INFO)
    with Progress("training", 12, "updates", completed=10) as counter:
        counter.update(loss=1.5)
        counter.update()
    assert [message.partition(" updates")[0] for message in caplog.messages] == [
        "training: 11 of 12",
        "training: 12 of 12",
    ]
    assert all(message.endswith("loss=1.5") for message in caplog.messages)
    assert capfd.readouterr().err == ""
