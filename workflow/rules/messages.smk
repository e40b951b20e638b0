# What is done before the first job, and what is said after the last one.
import csv
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress

import psutil
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

STARTED = time.time()


def check_cluster():
    """End before a cluster gets jobs that it cannot run: SLURM's plugin quotes none of these."""
    texts = [Path.cwd(), ROOT, *workflow.configfiles, *(workflow.config_settings.config_args or ())]
    for text in map(str, texts):
        if re.search(r"[\"'`$\\\n]", text):
            raise WorkflowError(
                f"{text} has a quote, a dollar sign or a backslash in it, which job scripts would"
                " not survive: rename the folder, or write it into the configuration's file."
            )
    if shlex.quote(sys.executable) != sys.executable:
        raise WorkflowError(
            f"Jobs of a cluster cannot start '{sys.executable}': make the environment in a folder"
            " whose path has no spaces and no signs of the shell."
        )
    if NODES > 1 and GPUS and "--gpus-per-node" not in str(training_resource("slurm_extra", "")):
        raise WorkflowError(
            f"SLURM may give one of the {NODES} nodes more of the {GPUS} GPUs than another: add"
            f" --gpus-per-node={GPUS // NODES} to train's slurm_extra."
        )
    if shutil.which("squeue"):
        refuse_to_start_twice()


def refuse_to_start_twice():
    """End where SLURM still runs jobs that a killed snakemake had submitted from this folder.

    New jobs would write the same files. The plugin's comments name the rule.
    """
    jobs = subprocess.run(
        ["squeue", "--noheader", "--me", "--format=%i %k %Z"], capture_output=True, text=True
    )
    for line in jobs.stdout.splitlines():
        number, comment, folder = (line.split(maxsplit=2) + ["", ""])[:3]
        if folder == str(Path.cwd()) and comment.startswith(("rule_", "group_")):
            raise WorkflowError(
                f"SLURM job {number} of an earlier call still runs here: wait until it has ended, or,"
                f" where that snakemake was killed, `scancel {number}`, then start again. Two that"
                " run at a time need two clones."
            )


def say_what_was_made():
    """Print the plan, or the first table's scores as far as they fit, and where everything is."""
    folder = Path("results") / REPRODUCTION.name
    plan = folder / "plan.md"
    if plan.exists() and plan.stat().st_mtime >= STARTED:
        print(plan.read_text(encoding="utf-8"), end="")
    for page in (folder / "lecture.html", Path("results/claims.md")):
        if page.exists() and page.stat().st_mtime >= STARTED:
            print(f"Made {page}", file=sys.stderr)
    table = folder / "tables" / f"{FIRST_TABLE}.md"
    if not table.exists() or table.stat().st_mtime < STARTED:
        return
    title, scores = table.read_text(encoding="utf-8").split("\n\n")[:2]
    rows = scores.splitlines()
    end = rows[0].rfind("|", 0, shutil.get_terminal_size(fallback=(200, 24)).columns) + 1
    cut = "\n".join(row[:end] for row in rows)
    print(
        f"\n{title}\n\n{cut}\n\n"
        f"Made by {CONFIGURATION}: tables, figures in {folder}, models in results/runs\n"
        f"Try the best: python src/explore.py --model {best_model(table.with_suffix('.csv'))}\n"
        f"All on one page: {folder}/index.html",
        file=sys.stderr,
    )


def best_model(table):
    """Return the model folder of the row, no ensemble, with the best leading metric."""
    first = TABLES[FIRST_TABLE]
    models = single_models(ROWS)
    with open(table, encoding="utf-8", newline="") as file:
        scored = {row["experiment"]: row[first.leading_metric] for row in csv.DictReader(file)}
    values = {row: float(scored[row]) for row in models if scored.get(row)}
    order = sorted(values, key=values.get, reverse=not first.leads_by_less)
    return first_seed("model", [*order, *models])[0]


def stop_jobs():
    """End the running jobs of this machine, as Ctrl-C does, where snakemake gets a SIGTERM.

    Alone it would start no more, and wait for these, trainings too, for as long as they take.
    """
    logger.info("Terminating the running jobs.")
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "python" in process.name():  # not the shells around them, which would not wait
                process.terminate()


onstart:
    if not workflow.local_exec:
        check_cluster()
    start_no_more = signal.getsignal(signal.SIGTERM)
    signal.signal(
        signal.SIGTERM, lambda *_: (start_no_more(), threading.Thread(target=stop_jobs).start())
    )


onsuccess:
    say_what_was_made()
