"""What snakemake shows of running jobs, on a terminal and off it."""

import io
import logging
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console, Group
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_nmt import LogHandler

LOG = "results/logs/demo/demo-transformer/seed-1/train.log"
TRAINING = "training: 443 of 1700 updates, 02:49 left, loss 2.635, dev BLEU 31.99,  7.43 updates/s"


@pytest.fixture
def workflow(tmp_path, monkeypatch, capfd):
    """workflow(quiet=..., terminal=...) is a handler that has begun a training, and its log."""
    monkeypatch.chdir(tmp_path)
    log = Path(LOG)
    log.parent.mkdir(parents=True)
    log.write_text("2026-01-01 00:00:00 training: of an earlier call\n" * 9)
    os.utime(log, (0, 0))
    handlers = []

    def begin(terminal=False, **settings):
        monkeypatch.setenv("FORCE_COLOR" if terminal else "NO_COLOR", "1")
        common = {"dryrun": False, "quiet": set(), "printshellcmds": False} | settings
        handlers.append(LogHandler(SimpleNamespace(**common), None))
        send(handlers[0], LogEvent.RUN_INFO, stats={"total": 5})
        job = {"jobid": 3, "rule_name": "train", "log": [LOG]}
        send(handlers[0], LogEvent.JOB_INFO, created=1, **job)
        handlers[0].tell(handlers[0].running[3])
        log.unlink()  # as snakemake does, a moment later
        return handlers[0], log

    yield begin
    for handler in handlers:
        handler.close()


def send(handler, event, text="", level=logging.INFO, **fields):
    record = logging.LogRecord("snakemake", level, __file__, 1, text, None, None)
    vars(record).update(fields | ({"event": event} if event else {}))
    handler.handle(record)


def write(log, *messages):
    with log.open("a") as file:
        file.writelines(f"2026-01-01 00:00:00 {message}\n" for message in messages)


def fail(handler):
    send(handler, LogEvent.ERROR, "RuleException:\nCalledProcessError in file x", logging.ERROR)
    fields = {"jobid": 3, "rule_msg": None, "log": [LOG], "rule_name": "train"}
    send(handler, LogEvent.JOB_ERROR, "Error in rule train", logging.ERROR, **fields)
    send(handler, None, "Exiting because a job execution failed.", logging.ERROR)


def test_off_a_terminal_each_message_is_a_line_with_the_name_of_its_run(workflow, capfd):
    handler, log = workflow()
    write(log, TRAINING, "warning: slow")
    send(handler, LogEvent.JOB_FINISHED, job_id=3)
    first, second, third = capfd.readouterr().err.splitlines()
    assert first == f"demo-transformer/seed-1: {TRAINING}"
    assert second == "demo-transformer/seed-1: warning: slow"
    assert third.startswith("demo-transformer/seed-1: ")
    assert "1 of 5" in third


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_has_a_line_for_each_job_and_a_bar(workflow, width):
    handler, log = workflow(terminal=True)
    other = {"jobid": 4, "rule_name": "train", "log": [LOG.replace("transformer", "rnn")]}
    send(handler, LogEvent.JOB_INFO, **other)
    write(log, TRAINING)
    handler.tell(handler.running[3])
    console = Console(width=width, file=io.StringIO(), color_system=None)
    console.print(Group(handler.screen()))
    handler.close()
    training, begun, bar = console.file.getvalue().splitlines()
    for shown in ("demo-transformer/seed-1", "443 of 1700", "2.635", "31.99", "02:49 left"):
        assert shown in training
    assert begun.startswith("demo-rnn/seed-1")
    assert bar.startswith("0 of 5")


@pytest.mark.parametrize("settings", [{}, {"terminal": True}, {"quiet": {"progress"}}])
def test_an_error_is_said_once_with_its_log(workflow, capfd, settings):
    handler, log = workflow(**settings)
    write(log, "error: no room: free some.")
    fail(handler)
    handler.close()
    printed = capfd.readouterr().err
    assert printed.count("demo-transformer/seed-1: error: no room: free some.") == 1
    assert printed.count(LOG) == 1
    assert "CalledProcess" not in printed
    assert "Exiting" not in printed


def test_an_error_is_said_again_at_the_end_where_others_went_on(workflow, capfd):
    handler, log = workflow()
    send(handler, LogEvent.JOB_INFO, jobid=4, rule_name="publish", log=[])
    write(log, "error: no room: free some.")
    fail(handler)
    send(handler, LogEvent.JOB_FINISHED, job_id=4)
    handler.close()
    lines = capfd.readouterr().err.splitlines()
    assert "no room" in lines[0]
    assert lines[-2:] == lines[:2]


def test_what_ends_without_a_word_while_snakemake_stops_is_no_error(workflow, capfd):
    handler, _ = workflow()
    send(handler, None, "Terminating processes on user request.")
    fail(handler)
    assert "error" not in capfd.readouterr().err
