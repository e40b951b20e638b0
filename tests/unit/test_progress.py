"""Progress in the log."""

import logging

from nmt import progress
from nmt.progress import Progress


def test_lines_in_the_log_and_no_bar_off_a_terminal(monkeypatch, caplog, capfd):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOG_LINES", 0)
    caplog.set_level(logging.INFO)
    with Progress("training", 12, "updates", completed=10) as counter:
        counter.show(loss=1.5)
        counter.update()
        counter.show(dev_BLEU=30)
        counter.update()
    first, second = caplog.messages
    assert first.startswith("training: 11 of 12 updates, ")
    assert second.startswith("training: 12 of 12 updates, ")
    assert "loss 1.5, dev BLEU 30, " in second
    assert capfd.readouterr().err == ""


def test_one_unit_and_slow_ones_are_named_in_plain_words(monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOG_LINES", 0)
    caplog.set_level(logging.INFO)
    for total in (None, 1, 9):
        with Progress("translating", total, "lines") as counter:
            counter.start_t -= 45
            counter.update()
            assert "45.0" in str(counter)
            assert "s/ " not in str(counter)
    unknown, one, nine = caplog.messages
    assert unknown.startswith("translating: 1 line, 45.0")
    assert one.startswith("translating: 1 of 1 line, ")
    assert nine.startswith("translating: 1 of 9 lines, ")
    assert all(message.endswith(" s each") for message in caplog.messages)
