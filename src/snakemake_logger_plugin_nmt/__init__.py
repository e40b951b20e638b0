"""What snakemake shows: a line for each running job and a bar below, plain lines off a terminal.

Standard error of a job goes to its log alone: what is shown of it is read there.
"""

import os
import re
import sys
import threading
import time
from contextlib import suppress
from logging import LogRecord
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from nmt.configuration import read_yaml
from nmt.errors import UserError

SECONDS_BETWEEN_LOOKS = 0.5
BAR = "{n_fmt} of {total_fmt} steps |{bar:40}| {elapsed}"
MESSAGE = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (.*)\n", re.MULTILINE)
LAST_WORDS = ("error: ", "stopped at update ", "interrupted: ")
# What snakemake says that is no news, or that is said in fewer words here
UNSAID = re.compile(
    "Assuming|Building DAG|Complete log|Conda env|Config file .* is extended|Elapsed time|"
    "Exiting because|Group jobs|None$|Provided|Removing output files of failed|"
    "RuleException:\nCalledProcessError|Rules claiming|Select jobs|Shutting down|Singularity|"
    "This was a dry-run|Using shell|Will exit after|WorkflowError:\nAt least one job|host: "
)
IN_CODE = re.compile(r'^(\w+(Error|Exception)( in .*)?:|  File ".*, line \d+.*)\n?', re.MULTILINE)


class Job:
    """A job that snakemake has begun, as its log tells of it."""

    def __init__(self, fields: dict[str, Any]):
        self.begun = fields["created"]
        self.log = Path((fields["log"] or ["/dev/null"])[0])
        name = "/".join(self.log.with_suffix("").parts[3:]) or fields["rule_name"]
        self.name = name.removesuffix("/train")
        self.position = 0
        self.latest = ""

    def news(self) -> list[str]:
        """Return the messages that are new in the log."""
        messages: list[str] = []
        with suppress(FileNotFoundError), open(self.log, "rb") as file:
            # snakemake removes an older log, but only after it has announced the job.
            if os.fstat(file.fileno()).st_mtime > self.begun:
                file.seek(self.position)
                messages = MESSAGE.findall(file.read().decode(errors="replace"))
                self.position = file.tell()
        self.latest = (messages or [self.latest])[-1]
        return messages

    def line(self, width: int) -> str:
        """Return how far it is, or how long it has taken where it does not tell."""
        clock = tqdm.format_interval(time.time() - self.begun)
        count = re.sub(r"^[^:]*: (\d\S*)( of \S+)? [a-z]+", r"\1\2", self.latest)
        return f"{self.name:{width}}  {count or clock}"


class LogHandler(LogHandlerBase):
    """Snakemake's records and the jobs' messages on standard error."""

    writes_to_stream = has_filter = has_formatter = True
    writes_to_file = needs_rulegraph = False

    def __post_init__(self) -> None:
        """Look at the logs from now on."""
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.live = Live(console=self.console, auto_refresh=False, transient=True)
        self.is_plain = not (self.console.is_terminal or self.common_settings.quiet)
        self.begun = time.monotonic()
        self.done = self.total = 0
        self.running: dict[int, Job] = {}
        self.trainings: list[str] = []
        self.failures: list[str] = []
        self.last_said = ""
        self.is_stopping = False
        self.ended = threading.Event()
        threading.Thread(target=self.look, daemon=True).start()

    def look(self) -> None:
        """Show what the running jobs tell, until the end."""
        while not self.ended.wait(SECONDS_BETWEEN_LOOKS):
            self.acquire()  # the lock under which records are emitted
            try:
                for job in self.running.values():
                    self.tell(job)
                if self.live.is_started:
                    self.live.update(self.screen(), refresh=True)
            finally:
                self.release()

    def screen(self) -> Text:
        """Return a line for each running job, as many as have room, and the bar below."""
        jobs = list(self.running.values())[: self.console.height - 2]
        lines = [job.line(max(len(job.name) for job in jobs)) for job in jobs]
        elapsed = time.monotonic() - self.begun
        lines.append(tqdm.format_meter(self.done, self.total, elapsed, bar_format=BAR))
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def say(self, text: str) -> None:
        """Print what stays."""
        self.last_said = text
        self.console.print(Text(text))

    def tell(self, job: Job) -> None:
        """Print a job's news but its last words: above the lines of a terminal, warnings alone."""
        for message in job.news():
            is_warning = message.startswith("warning: ") and self.live.is_started
            if is_warning or (self.is_plain and not message.startswith(LAST_WORDS)):
                self.say(f"{job.name}: {message}")

    def emit(self, record: LogRecord) -> None:
        """Show a record of snakemake."""
        event, fields, text = getattr(record, "event", None), vars(record), record.getMessage()
        self.is_stopping |= text.startswith("Terminating")
        is_quiet = self.common_settings.quiet and record.levelname == "INFO"
        if event == LogEvent.RUN_INFO:
            self.total = fields["stats"]["total"]
        elif event == LogEvent.JOB_INFO:
            self.begin(Job(fields), fields)
        elif event == LogEvent.JOB_FINISHED:
            self.tell(job := self.running.pop(fields["job_id"]))
            self.done += 1
            if self.is_plain:
                self.say(f"{job.name}: done, {self.done} of {self.total} steps")
        elif event == LogEvent.JOB_ERROR and fields["jobid"] in self.running:
            self.fail(self.running.pop(fields["jobid"]), fields)
        elif event == LogEvent.SHELLCMD and self.common_settings.printshellcmds:
            self.say(text)
        elif event in (None, LogEvent.ERROR) and not (is_quiet or UNSAID.match(text)):
            self.say(explain(text))

    def begin(self, job: Job, fields: dict[str, Any]) -> None:
        """Show a job from now on, or name it where it is not run."""
        if self.common_settings.dryrun:
            self.say(job.name)
            if fields["rule_name"] == "train":
                self.trainings.append(job.name.replace("/seed-", ", seed "))
            return
        self.running[fields["jobid"]] = job
        if self.console.is_terminal and not self.common_settings.quiet:
            self.live.start()

    def fail(self, job: Job, fields: dict[str, Any]) -> None:
        """Say with which words a job ended before its time."""
        self.tell(job)
        words = job.latest
        if not words.startswith(LAST_WORDS):
            reason = fields["rule_msg"] or "it ended early."
            words = f"interrupted: {reason}" if self.is_stopping else f"error: {reason}"
        log = f"\n({', '.join(fields['log'])})" if words.startswith("error: ") else ""
        self.failures.append(f"{job.name}: {words}{log}")
        self.say(self.failures[-1])

    def close(self) -> None:
        """Leave what is to be read last on the screen."""
        if not self.ended.is_set():
            self.ended.set()
            self.live.stop()
            if self.common_settings.dryrun and self.total and not self.common_settings.quiet:
                titles = [f"\n{self.total} steps, {len(self.trainings)} of them trainings:"]
                self.say("\n".join(titles + self.trainings))
            if self.failures and self.last_said != self.failures[-1]:
                self.say("\n".join(self.failures))
        super().close()


def explain(text: str) -> str:
    """Return an error of snakemake without its places in the code, and with what to do."""
    if failed := re.search(r"^\w+Error: \[Errno \d+\] (.*'.*')$", text, re.MULTILINE):
        return f"{failed[1]}."
    if re.search("JSON or YAML|UnicodeDecodeError", text):
        for path in sys.argv:
            try:
                if path.endswith((".yaml", ".yml")):
                    read_yaml(Path(path), dict)
            except UserError as error:
                return str(error)
    if missing := re.match(r"MissingRuleException:\nNo rule to produce (.*) \(", text):
        return (
            f"nothing makes {missing[1]}: `snakemake --list-target-rules` lists what is made,"
            " --configfile chooses another reproduction."
        )
    return text if text.startswith("Traceback") else IN_CODE.sub("", text).strip()
