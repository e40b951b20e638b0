"""Tries sixty and more faults, and prints for each how it ended and what was printed last.

Each fault is a test of the suite. Faults that take minutes are tried with --all only. Ends with
code 1 when any fault does not end as it should.
"""

import argparse
import io
import re
import subprocess
import sys
import time
from contextlib import redirect_stdout
from dataclasses import dataclass

import pytest
from tabulate import tabulate

from nmt import command
from nmt.errors import UserError
from tests.support import scripts
from tests.support.files import ROOT

WIDTH = 240  # characters of what was printed that the table shows
SAYS_WHAT_TO_DO = (
    "error: ",
    " is damaged",
    "not enough memory",
    "has diverged",
    "too long, only",
    "Edited since",
    "cannot be locked",
)

INTERRUPTION = "system/test_interruption.py"
FAULTS = "system/test_faults.py"
TRAIN = "scripts/test_train.py"
TRANSLATE = "scripts/test_translate.py"
TEXT = "scripts/test_text_scripts.py"
READERS = "unit/text/test_readers.py"
FILES = "unit/test_files.py"
YAML = "unit/configuration/test_yaml.py"
CATALOGS = "unit/configuration/test_catalogs_that_make_no_sense.py"
ROWS = "unit/configuration/test_rows_that_make_no_sense.py"
OWN_FILES = "workflow/test_own_files.py"
REPRODUCTION = "workflow/test_reproduction.py"

# What is tried, by the file and the name of its test.
QUICK = {
    # Processes that are killed, and disks that are full
    "training killed (SIGTERM, SIGKILL) at several points": (
        INTERRUPTION,
        "a_killed_training_goes_on_as_if_nothing_had_happened",
    ),
    "one of several processes dies": (
        "system/test_processes.py",
        "a_process_that_dies_takes_the_others_with_it",
    ),
    "two trainings in one folder": (
        "system/test_processes.py",
        "several_processes_do_not_wait_for_a_folder_that_is_held",
    ),
    "other number of processes when resumed": (
        "system/test_processes.py",
        "another_number_of_processes_may_go_on",
    ),
    "kill -9 of a script that writes": (
        FAULTS,
        "what_a_killed_script_left_is_removed_by_the_next",
    ),
    "Ctrl-C while a pipe is open": (
        TRANSLATE,
        "an_interrupt_while_the_pipe_is_open_ends_it_with_one_sentence",
    ),
    "reader of the pipe goes away": (FAULTS, "a_reader_that_goes_away_ends_it_in_silence"),
    "disk full before a training": (TRAIN, "a_disk_without_room_is_refused_at_the_start"),
    "disk full during a training": (TRAIN, "a_full_disk_costs_nothing_that_was_saved"),
    "disk full while extracting": (
        "scripts/test_extract.py",
        "a_full_disk_leaves_no_partial_output",
    ),
    "disk full during a download": (
        "scripts/test_download.py",
        "a_full_disk_keeps_what_has_come",
    ),
    "disk full in a text step": (TEXT, "a_full_disk_leaves_no_partial_output"),
    "file size limit in a text step": (TEXT, "a_file_size_limit_leaves_no_partial_output"),
    "disk full behind standard output": (
        FAULTS,
        "a_full_disk_behind_standard_output_is_one_sentence",
    ),
    "folder deleted during a training": (
        TRAIN,
        "a_folder_that_is_deleted_meanwhile_is_one_sentence",
    ),
    # Damaged files
    "state cut or of other bytes": (TRAIN, "a_damaged_state_is_named"),
    "bit flipped in a state": (FAULTS, "a_flipped_bit_in_a_state_is_noticed"),
    "checkpoint damaged": ("scripts/test_average.py", "a_damaged_checkpoint_is_named"),
    "checkpoint deleted before averaging": (
        "scripts/test_average.py",
        "a_checkpoint_that_was_deleted_is_not_done_without",
    ),
    "advice after damage is followed": (
        TRAIN,
        "what_is_said_of_damaged_and_missing_checkpoints_brings_them_back",
    ),
    "training.json damaged": ("scripts/test_average.py", "a_damaged_training_json_is_named"),
    "log or settings damaged": (TRAIN, "a_damaged_log_or_settings_are_named"),
    "weights cut or with a flipped bit": (FAULTS, "damaged_weights_are_named"),
    "model without one of its files": (FAULTS, "a_file_that_a_model_lacks_is_named"),
    "vocabulary of a model damaged": (TRANSLATE, "a_damaged_vocabulary_is_named"),
    "subwords damaged": (TEXT, "binarize_refuses_damaged_subwords"),
    "tokens damaged": (TRAIN, "damaged_tokens_are_named"),
    "tokens of another vocabulary": (TRAIN, "tokens_of_another_vocabulary_are_refused"),
    "folder of tokens damaged": ("unit/data/test_tokens.py", "damaged_folders_are_refused"),
    "scores.json damaged": ("scripts/test_describe.py", "damaged_scores_are_named"),
    "metrics.jsonl of one run damaged": (
        "scripts/test_status.py",
        "a_damaged_file_is_named_and_other_runs_shown",
    ),
    "metrics.jsonl ends in zeros": ("scripts/test_status.py", "zeros_of_a_power_cut_are_ignored"),
    "file of a figure damaged": ("scripts/test_plot.py", "a_damaged_file_is_named"),
    "pickle instead of a model": (FAULTS, "a_pickle_instead_of_a_model_is_not_run"),
    "pickle instead of a checkpoint": (FAULTS, "a_pickle_instead_of_a_checkpoint_is_not_run"),
    "pickle instead of a state": (FAULTS, "a_pickle_instead_of_a_state_is_not_run"),
    "configuration of another model": (FAULTS, "a_configuration_of_another_model_takes_no_memory"),
    # Text
    "gzip or zip broken in the middle": (READERS, "archives_broken_in_the_middle_are_errors"),
    "line of a megabyte": (TEXT, "a_line_of_a_megabyte_goes_through_every_step"),
    "text process killed": (
        "unit/text/test_chunks.py",
        "a_process_that_is_killed_is_one_sentence",
    ),
    "file changed on the server during a download": (
        "scripts/test_download.py",
        "a_file_that_has_changed_meanwhile_is_downloaded_anew",
    ),
    "gzip cut": (READERS, "truncated_archives_are_errors"),
    "file that is no gzip": (READERS, "a_file_that_is_not_gzip_is_an_error"),
    "invalid UTF-8": (READERS, "invalid_utf8_is_an_error_with_file_member_and_line"),
    "sides of unequal length": (READERS, "lines_that_do_not_pair_are_an_error_with_both_counts"),
    "member missing": (READERS, "a_missing_member_is_an_error_with_the_nearest_name"),
    "member of a tar that is a link or device": (
        READERS,
        "a_member_of_a_tar_that_is_no_file_is_an_error",
    ),
    "U+2028, U+0085 and other odd ends of lines": (
        "scripts/test_extract.py",
        "no_character_shifts_the_alignment",
    ),
    "archive with names like ../../harm": (FAULTS, "names_in_an_archive_lead_nowhere"),
    "locale without UTF-8": (FAULTS, "text_is_utf8_in_every_locale"),
    "line of 20,000 words": (
        TRANSLATE,
        "a_line_of_twenty_thousand_words_is_cut_with_a_warning",
    ),
    "pair too long for the memory": (
        "scripts/test_perplexity.py",
        "a_pair_that_is_too_long_for_the_memory_is_one_sentence",
    ),
    "wrong checksum of a download": (
        "scripts/test_download.py",
        "a_wrong_checksum_ends_with_both_sums",
    ),
    # Places to read from and to write to
    "output to a device": (FAULTS, "a_device_as_output_stays_a_device"),
    "output to a link": (FILES, "a_link_stays_and_its_target_is_replaced"),
    "output to a link that leads to itself": (FILES, "links_in_a_circle_are_an_error_and_stay"),
    "output to a named pipe": (FILES, "a_pipe_is_written_to_and_stays"),
    "output to a folder, a full device, too long a name": (
        FAULTS,
        "outputs_that_cannot_be_written",
    ),
    "output over an input": (TRANSLATE, "what_is_read_is_not_replaced"),
    "input that is a folder": (FAULTS, "an_input_that_is_a_folder_is_named"),
    "partial files of killed processes": (
        FILES,
        "what_killed_processes_left_is_removed_and_what_living_ones_write_is_not",
    ),
    # Settings
    "YAML that is broken, nested too deep, with keys twice": (
        YAML,
        "a_fault_is_one_sentence_with_its_line",
    ),
    "YAML that grows by references": (YAML, "a_value_that_grows_by_references_is_shown_in_brief"),
    "keys misspelled, values out of range": (ROWS, "what_makes_no_sense_is_refused_by_name"),
    "base of a row that leads to itself": (ROWS, "a_circle_of_bases_is_shown"),
    "same file on both sides": (CATALOGS, "both_sides_are_not_the_same_text"),
    "100,000 threads": (TRAIN, "too_many_threads"),
    "batch smaller than a sentence": (TRAIN, "too_small_a_batch"),
    "learning rate of 1000": (TRAIN, "a_training_that_diverges_says_so_last"),
    "no memory for a batch": (
        "unit/training/test_loop.py",
        "too_little_memory_is_said_with_the_batch_s_size",
    ),
    "beam beyond all memory": (FAULTS, "a_beam_that_does_not_fit_the_memory_is_one_sentence"),
    "state of another configuration": (TRAIN, "the_state_of_another_configuration_is_refused"),
    "argument that is not UTF-8": (
        "scripts/test_attend.py",
        "a_sentence_that_is_not_utf8_is_a_bad_argument",
    ),
    "name that a shell would run": (FAULTS, "a_name_that_a_shell_would_run_is_refused"),
    "sentence that a shell would run": (
        FAULTS,
        "a_sentence_that_a_shell_would_run_is_one_argument",
    ),
    "mistakes in a configuration of the workflow": (
        "workflow/test_static.py",
        "a_mistake_is_one_sentence",
    ),
}

# In the suite, too, after a run of the workflow
SLOW = {
    "file of the user edited": (OWN_FILES, "an_edited_file_is_read_again"),
    "file of the user missing": (OWN_FILES, "a_file_that_is_not_there_is_named"),
    "model, card, scores or table deleted": (REPRODUCTION, "what_was_deleted_comes_back"),
    "results copied without their times": (REPRODUCTION, "a_copy_repeats_nothing"),
    "results copied and changed": (REPRODUCTION, "what_has_changed_in_a_copy_is_not_kept"),
    "two workflows in one folder": (
        REPRODUCTION,
        "a_second_snakemake_in_the_folder_is_refused",
    ),
    "damaged model under Snakemake": (REPRODUCTION, "an_error_is_said_last"),
}

# Not in the suite: each kind of model in each precision
MATRICES = {
    "every family and precision killed at three points": "resume_matrix",
    "every family and precision in several processes": "processes_matrix",
}


@dataclass
class Outcome:
    """How the tests of a fault ended."""

    passed: int = 0
    failed: int = 0
    printed: str = ""


class Recorder:
    """A plugin of pytest that keeps how each test ended, and what was printed about the fault.

    That is the last line that says what to do, or else the last line: a test goes on after a fault.
    Tests that read a program's output themselves tell it as the property "printed".
    """

    def __init__(self):
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report) -> None:
        if report.when == "setup":
            self.lines = []  # those of fixtures
        if report.when != "call" and not report.failed:
            return
        file, _, name = report.nodeid.removeprefix("tests/").partition("::test_")
        outcome = self.outcomes.setdefault((file, name.partition("[")[0]), Outcome())
        outcome.passed += report.passed
        outcome.failed += report.failed
        said = [line for line in self.lines if any(text in line for text in SAYS_WHAT_TO_DO)]
        lines = said or self.lines
        printed = dict(report.user_properties).get("printed") or (lines[-1] if lines else "")
        outcome.printed = printed or outcome.printed
        self.lines = []

    def keep(self, process: subprocess.CompletedProcess) -> subprocess.CompletedProcess:
        """Keep what the program has printed, and return the process."""
        for text in (process.stdout, process.stderr):
            if isinstance(text, str):
                lines = [line for line in text.split("\n") if line.strip()]
                self.lines += [line for line in lines if not line.startswith("This was a dry-run")]
        return process

    def listen(self) -> None:
        """Keep what programs print on standard error, and the errors of functions."""
        run_program, run, initialize = scripts.run_program, subprocess.run, UserError.__init__

        def kept_error(error, *arguments):
            initialize(error, *arguments)
            self.lines.append(f"error: {error}")

        scripts.run_program = lambda *arguments, **options: self.keep(
            run_program(*arguments, **options)
        )
        subprocess.run = lambda *arguments, **options: self.keep(run(*arguments, **options))
        UserError.__init__ = kept_error


def shortened(printed: str) -> str:
    """Return what fits into a cell of a table in Markdown, without the tests' own folders."""
    folder = r"/tmp/(pytest-of-[^/ ]+/pytest-\d+/[^/ .:]+|tmp\w+)"
    text = re.sub(rf"{folder}(?=[ .:]|$)", "FOLDER", re.sub(f"{folder}/", "", printed))
    text = " ".join(text.replace("\0", " ").split()).replace("|", "\\|") or "(nothing)"
    return text if len(text) <= WIDTH else text[: WIDTH - 1] + "…"


def main(args: argparse.Namespace) -> int:
    began = time.monotonic()
    faults = QUICK | (SLOW if args.all else {})
    recorder = Recorder()
    recorder.listen()
    nodes = dict.fromkeys(f"{ROOT}/tests/{file}::test_{name}" for file, name in faults.values())
    with redirect_stdout(io.StringIO()):
        code = pytest.main(["-p", "no:randomly", f"--rootdir={ROOT}", *nodes], plugins=[recorder])
    rows = []
    for fault, (file, name) in faults.items():
        outcome = recorder.outcomes.get((file, name), Outcome())
        ended = f"{outcome.failed} FAILED" if outcome.failed else "as it should"
        if not outcome.passed + outcome.failed:
            ended, code = "NOT TRIED", 1
        rows.append((fault, ended, shortened(outcome.printed), outcome.passed))
    for fault, module in MATRICES.items() if args.all else ():
        process = subprocess.run(
            [sys.executable, "-m", f"tests.system.{module}"],
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        print(process.stdout + process.stderr, file=sys.stderr)  # the table of each model
        code = code or process.returncode
        lines = process.stdout.splitlines()
        ended = "as it should" if process.returncode == 0 else "FAILED"
        cases = sum(line.startswith("| ") for line in lines) - 1  # without the header
        rows.append((fault, ended, lines[-1] if lines else "", cases))
    headers = ["fault", "ended", "printed", "cases"]
    print(tabulate(rows, headers, tablefmt="github", disable_numparse=True))
    print(f"\n{len(rows)} faults, {time.monotonic() - began:.0f} s.")
    return int(code)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--all",
        action="store_true",
        help="also those that need a whole reproduction, and every family in every precision"
        " (an hour)",
    )
    command.run(main, parser)
