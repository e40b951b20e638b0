# What is checked before the first job of a cluster, and what is said after the last one.
import atexit
import shutil
import subprocess
import sys
import time

from snakemake.exceptions import WorkflowError

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
    """Print the scores of the first table, as far as they fit, and where everything is."""
    folder = Path("results") / REPRODUCTION.name
    table = folder / "tables" / f"{FIRST_TABLE}.md"
    if not table.exists() or table.stat().st_mtime < STARTED:
        return
    model = Path(first_seed("model", single_models(ROWS))[-1])
    title, scores = table.read_text(encoding="utf-8").split("\n\n")[:2]
    rows = scores.splitlines()
    end = rows[0].rfind("|", 0, shutil.get_terminal_size(fallback=(200, 24)).columns) + 1
    cut = "\n".join(row[:end] for row in rows)
    print(
        f"\n{title}\n\n{cut}\n\n"
        f"Tables, figures: {folder}/tables, {folder}/figures\n"
        "Models:  results/runs, each with a README.md\n"
        f"Try one: python src/explore.py --model {model}\n"
        f"All on one page: {folder}/index.html",
        file=sys.stderr,
    )


def say_what_went_wrong():
    """Print the sentence with which each script failed, after all that snakemake prints."""
    logs = {}
    for path in sorted(Path("results/logs").rglob("*.log")):
        if path.stat().st_mtime >= STARTED:
            last = path.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
            if last and " error: " in last[0]:
                logs.setdefault(last[0].partition(" error: ")[2], path)
    for sentence, path in logs.items():
        atexit.register(print, f"\n{sentence}\n({path})", file=sys.stderr)


onstart:
    if not workflow.local_exec:
        check_cluster()


onsuccess:
    say_what_was_made()


onerror:
    say_what_went_wrong()
