"""What is checked before the first job, and what is recorded and said after the last one."""

import atexit
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

from snakemake.exceptions import WorkflowError

STARTED = time.time()


def check_table_name(table):
    """End with a sentence where a table has the name of a rule, or of a table that is always made."""
    path = f"results/{REPRODUCTION.name}/tables/{table}.md"
    if any(table == step.name or path in map(str, step.output) for step in workflow.rules):
        sys.exit(f"error: the table {table} has a name that the workflow uses: choose another.")


def check_cluster():
    """End before a cluster gets jobs that it cannot run, or that would overwrite each other."""
    if workflow.local_exec:
        return
    # SLURM's plugin writes both into job scripts without quotes: a shell would run $(...).
    remedies = {
        "give it another name": (Path.cwd(), ROOT, *workflow.configfiles),
        "write it into the configuration's file": workflow.config_settings.config_args or (),
    }
    for remedy, texts in remedies.items():
        for text in map(str, texts):
            if re.search(r"[\"'`$\\\n]", text):
                raise WorkflowError(
                    f"{text} has a quote, a dollar sign or a backslash in it, which job scripts"
                    f" would not survive: {remedy}."
                )
    if shlex.quote(sys.executable) != sys.executable:  # The plugin does not quote it.
        raise WorkflowError(
            f"Jobs of a cluster cannot start '{sys.executable}': its path must be without spaces"
            " and signs of the shell. Make the environment in such a folder."
        )
    extra = SET_FOR_TRAINING.get("slurm_extra")
    if NODES > 1 and GPUS and (extra is None or "--gpus-per-node" not in str(extra.raw)):
        raise WorkflowError(
            f"SLURM may give one of the {NODES} nodes more of the {GPUS} GPUs than another: add"
            f" --gpus-per-node={GPUS // NODES} to train's slurm_extra."
        )
    refuse_to_start_twice()


def refuse_to_start_twice():
    """End where SLURM still runs jobs that a killed snakemake had submitted from this folder.

    New jobs would write the same files. The plugin's comments name the rule.
    """
    if not shutil.which("squeue"):
        return
    jobs = subprocess.run(
        ["squeue", "--noheader", "--me", "--format=%i %k %Z"], capture_output=True, text=True
    )
    if jobs.returncode:
        raise WorkflowError(f"SLURM does not say which jobs run here: {jobs.stderr.strip()}")
    for line in jobs.stdout.splitlines():
        number, comment, folder = (line.split(maxsplit=2) + ["", ""])[:3]
        if folder == str(Path.cwd()) and comment.startswith(("rule_", "group_")):
            raise WorkflowError(
                f"SLURM job {number} of an earlier call still runs here: wait until it has ended, or,"
                f" where that snakemake was killed, `scancel {number}`, then start again. Two that"
                " run at a time need two clones."
            )


def adopt_copied_results():
    """Recognize results that were copied without their times, before Snakemake compares times."""
    if workflow.is_main_process and Path("results/record.json").exists():
        subprocess.run([sys.executable, ROOT / "src" / "adopt.py"])


def record_results():
    """Record all outputs, so that a copy of the results is recognized (adopt.py)."""
    subprocess.run([sys.executable, ROOT / "src" / "record.py"])


def say_what_was_made():
    """Print the first table, where everything is, and how to try a model."""
    folder = f"results/{REPRODUCTION.name}"
    page = Path(f"{folder}/index.html")
    first = Path(f"{folder}/tables/{FIRST_TABLE}.md")
    made = [path for path in (page, first) if path.exists() and path.stat().st_mtime >= STARTED]
    if not made or not first.exists():
        return
    table = first.read_text(encoding="utf-8").partition("\n\n- ")[0]
    print(f"\n{table}\n", file=sys.stderr)
    print(f"Tables:  {folder}/tables", file=sys.stderr)
    print(f"Figures: {folder}/figures", file=sys.stderr)
    print("Models:  results/runs, each with a README.md", file=sys.stderr)
    print("Snakemake's report: snakemake --report results/report.html", file=sys.stderr)
    model = Path(recorded_attention()[-1]).with_name("model")
    print(f"Try a model: python src/explore.py --model {model}", file=sys.stderr)
    if page in made:
        print(f"All on one page: {page}", file=sys.stderr)


def say_what_went_wrong():
    """Print the sentence with which each script failed, after all that snakemake prints."""
    logs = {}
    for path in sorted(Path("results/logs").rglob("*.log")):
        if path.stat().st_mtime >= STARTED:
            last = path.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
            if last and "error: " in last[0].lower():
                sentence = last[0].partition(" error: ")[2] or last[0]
                logs.setdefault(sentence, path)  # of several jobs that fail alike, the first
    for sentence, path in logs.items():
        atexit.register(print, f"\n{sentence}\n({path})", file=sys.stderr)
