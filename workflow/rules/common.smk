"""The configuration, what follows from it, and the wildcards it allows."""

import atexit
import hashlib
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import nmt
from nmt.configuration import (
    Reproduction,
    former_spelling,
    load_reproduction,
    parameters_at_most,
    read_yaml,
    training_megabytes,
)
from nmt.environment import SETTINGS
from nmt.errors import UserError
from snakemake.exceptions import WorkflowError

if not Path(nmt.__file__).resolve().is_relative_to(ROOT.resolve()):
    sys.exit(
        f"error: Python has the package nmt of {Path(nmt.__file__).parents[2]}, not of {ROOT}:"
        f" run `pip install --no-deps --editable {shlex.quote(str(ROOT))}`, or make there."
    )

# `snakemake` may be called by its path, without the environment being activated.
os.environ.update(
    PATH=os.pathsep.join([str(Path(sys.executable).parent), os.getenv("PATH", os.defpath)])
)
os.environ.update(SETTINGS | os.environ)


def in_repository(path):
    """Return a path of the repository: relative where snakemake works in its root."""
    return str(path if Path.cwd() == ROOT else ROOT / path)


def preprocessing_name(vocabulary):
    return "-".join(vocabulary.preprocessing) or "spacing"


# Scripts are called by their whole path, so that --directory may name any folder.
SCRIPTS = shlex.quote(in_repository("src"))

try:
    files = [Path(os.path.relpath(file)) for file in workflow.configfiles]
    for file in files:
        read_yaml(file, dict)  # which refuses a key that is there twice
    where = " with ".join(map(str, files)) or "--config"
    REPRODUCTION, CATALOG = load_reproduction(config, where, ROOT)
    CORPUS = CATALOG.corpus(REPRODUCTION.corpus)
    # Of the tables that are made without being asked for
    ROWS = dict.fromkeys(
        row
        for table in REPRODUCTION.tables.values()
        if not table.on_request
        for row in table.experiments
    )
    # The steps that vocabularies ask for, by their name in paths
    PREPROCESSING = {
        preprocessing_name(vocabulary): vocabulary.preprocessing
        for vocabulary in CATALOG.vocabularies.values()
    }
except UserError as error:
    sys.exit(f"error: {error}")

# Not a parameter of any rule: where a file was found does not change what it is.
if REPRODUCTION.mirror is not None:
    os.environ.update(NMT_MIRROR=REPRODUCTION.mirror)


wildcard_constraints:
    corpus=REPRODUCTION.corpus,
    experiment="|".join(map(re.escape, CATALOG.experiments)),
    row="|".join(map(re.escape, REPRODUCTION.experiments)),
    run=r"seed-\d+|ensemble",
    reproduction=re.escape(REPRODUCTION.name),
    vocabulary="|".join(CATALOG.vocabularies),
    preprocessing="|".join(PREPROCESSING),
    split="|".join(CORPUS.split_names),
    language="|".join(CORPUS.languages.values()),
    archive="|".join(CORPUS.archives) or "none",
    table="|".join(REPRODUCTION.tables),
    seed=r"\d+",


def experiment(wildcards):
    return CATALOG.experiment(wildcards.experiment)


def settings_of(name):
    """What a row's entry says of vocabulary, model, training and decoding; titles rerun nothing."""
    row = CATALOG.experiment(name)
    parts = (row.model, row.training, row.decoding)
    return [row.vocabulary, *(former_spelling(part.chosen()) for part in parts)]


def text_sources(wildcards):
    """The downloads and the user's own files that a split is extracted from."""
    archives = [f"results/downloads/{name}" for name in CORPUS.archives_of(wildcards.split)]
    return sorted([*archives, *map(in_repository, map(Path, CORPUS.own_files_of(wildcards.split)))])


def text_parts(wildcards):
    """What the configuration says of a split's text."""
    parts = [part.model_dump() for part in CORPUS.parts(wildcards.split)]
    if CORPUS.held_out and wildcards.split in ("train", *CORPUS.held_out):
        parts.append(CORPUS.held_out)
    return parts


def other_splits(language):
    """One side of the dev set, and of the test sets of tables that are made without being asked for."""
    tables = [table for table in REPRODUCTION.tables.values() if not table.on_request]
    return [
        f"results/corpora/{{corpus}}/raw/{split}.{language}"
        for split in dict.fromkeys(["dev", *(table.split for table in tables)])
    ]


def cleaned_text(wildcards):
    """One side of a split; of the training text what its filters leave, where it has any."""
    filtered = wildcards.split == "train" and CORPUS.cleaning.filters
    folder = "clean" if filtered else "raw"
    return f"results/corpora/{wildcards.corpus}/{folder}/{wildcards.split}.{wildcards.language}"


def text_file(language, split=None):
    """A function of wildcards: one side of a split's text, preprocessed for the vocabulary."""

    def path(wildcards):
        steps = preprocessing_name(CATALOG.vocabulary(wildcards.vocabulary))
        return (
            f"results/corpora/{wildcards.corpus}/text/{steps}/{split or wildcards.split}.{language}"
        )

    return path


def vocabulary_file(name):
    """A function of wildcards: a file of the vocabulary that the experiment uses."""

    def path(wildcards):
        vocabulary = CATALOG.experiment(wildcards.experiment).vocabulary
        return f"results/corpora/{wildcards.corpus}/{vocabulary}/{name}"

    return path


def shared_training(name):
    """A function of wildcards: a file of the run that is trained in the place of theirs."""

    def path(wildcards):
        shared = CATALOG.experiment(wildcards.experiment).trained_as
        return f"results/runs/{wildcards.corpus}/{shared}/seed-{wildcards.seed}/{name}"

    return path


def run_names(rows):
    """Experiment and seed of every training that these rows rest on, each once."""
    runs = [run for row in rows for run in CATALOG.trainings(row, REPRODUCTION.seeds_for(row))]
    return list(dict.fromkeys(runs))


def trained(name, rows):
    """A file of every training that these rows rest on, each once."""
    return [
        f"results/runs/{REPRODUCTION.corpus}/{row}/seed-{seed}/{name}"
        for row, seed in run_names(rows)
    ]


def translated(name, rows):
    """A file of every run of these rows: of an experiment with every seed, of an ensemble as one."""
    return [
        path
        for row in rows
        for path in (
            [f"results/runs/{REPRODUCTION.corpus}/{row}/ensemble/{name}"]
            if row in CATALOG.ensembles
            else trained(name, [row])
        )
    ]


def cores_of_a_split(wildcards):
    """All for the training text; other splits take seconds. A cluster's profile says its own."""
    return workflow.cores or 1 if wildcards.split == "train" else 1


def threads_of_a_run():
    """So many that all runs of the reproduction have the machine together: a core for each is faster than several
    cores for one after the other. A cluster's profile says its own."""
    return max(1, (workflow.cores or 1) // max(1, len(trained("", ROWS))))


# A job on a cluster holds two processes of snakemake, of 130 MB each, beside its script.
SNAKEMAKE_MB = 300


def memory(base, per_mb=0, per_parameter=0, most=math.inf):
    """A job's mem_mb: snakemake's, and its script's, which is more at each further attempt.

    base: megabytes of the smallest job. per_mb: megabytes for each of the inputs' (folders count
    nothing). per_parameter: bytes for each of the model's parameters. most: a bound of the sum.
    """

    def mem_mb(wildcards, input, attempt):
        needed = base + per_mb * input.size_mb
        if per_parameter:
            needed += per_parameter * parameters_of(wildcards) / 1e6
        return math.ceil(SNAKEMAKE_MB + attempt * min(needed, most))

    return mem_mb


def minutes(base, per_mb=0):
    """A job's runtime, more at each further attempt, for inputs of so many megabytes."""
    return lambda wildcards, input, attempt: math.ceil(attempt * (base + per_mb * input.size_mb))


def parameters_of(wildcards):
    """At most so many parameters have the models that a job holds."""
    row = wildcards.get("experiment") or wildcards.row
    members = CATALOG.ensembles[row].members if row in CATALOG.ensembles else {row: [0]}
    experiments = [CATALOG.experiment(name) for name, seeds in members.items() for _ in seeds]
    return sum(
        parameters_at_most(member, CATALOG.vocabulary(member.vocabulary)) for member in experiments
    )


def asked_for_training(name, default):
    """What the command line or a profile sets for trainings, as in set-resources: train: gpu: 8."""
    settings = workflow.resource_settings.overwrite_resources.get("train", {})
    return settings[name].value if name in settings else default


# A training's GPUs, on all of its nodes together; a process for each, or for each node at least
GPUS = asked_for_training("gpu", 0)
NODES = asked_for_training("nodes", 1)
PROCESSES = max(asked_for_training("processes", 1), GPUS, NODES)


def launcher():
    """What starts train.py."""
    if PROCESSES == 1:
        return "python"
    start = f"python {SCRIPTS}/launch.py --processes {PROCESSES} --nodes {NODES}"
    return lambda wildcards, threads: f"{start} --threads {threads} --"


def mpi_of_a_training():
    """Resources by which SLURM's plugin lets a job of several processes call srun by itself."""
    if PROCESSES == 1:
        return {}
    tasks = {"mpi": "srun", "nodes": NODES, "tasks": PROCESSES}
    return tasks | {"tasks_per_gpu": 1} if GPUS else tasks


def training_memory(wildcards, input, attempt):
    """mem_mb of a training, more at each further attempt."""
    tokens_mb = sum(file.stat().st_size for file in Path(input.tokens).glob("*")) / 1e6
    needed = training_megabytes(parameters_of(wildcards), experiment(wildcards).training, tokens_mb)
    return math.ceil(SNAKEMAKE_MB + attempt * needed)


def models(wildcards):
    """The folders that translate for a run: an ensemble's are its members'."""
    if wildcards.run == "ensemble":
        return trained("model", [wildcards.row])
    return f"results/runs/{wildcards.corpus}/{wildcards.row}/{wildcards.run}/model"


def scores_of_a_run(wildcards):
    """Of each split for which a table shows the row."""
    tables = [table for table in REPRODUCTION.tables.values() if not table.on_request]
    splits = [table.split for table in tables if wildcards.experiment in table.experiments]
    folder = f"results/runs/{wildcards.corpus}/{wildcards.experiment}/seed-{wildcards.seed}"
    return [f"{folder}/{split}.scores.json" for split in dict.fromkeys(splits)]


# The figures of every table, and those that the reproduction has once, of its first table's rows
TABLE_FIGURES = [
    "learning-curves",
    "learning-rate",
    "bleu-by-length",
    "cost",
    "parameters",
    "speed",
    "subword-lengths",
]
FIGURES_ONCE = [
    "positional-encodings",
    "attention",
    "encoder-self-attention",
    "decoder-self-attention",
    "alignment",
]
FIRST_TABLE = next(iter(REPRODUCTION.tables))


def tables():
    """Every form of every table that is not made on request only."""
    return [
        f"results/{REPRODUCTION.name}/tables/{name}.{form}"
        for name, table in REPRODUCTION.tables.items()
        if not table.on_request
        for form in ("md", "csv", "html", "tex")
    ] + [
        f"results/{REPRODUCTION.name}/tables/corpora.{form}"
        for form in ("md", "csv", "html", "tex")
    ]


def token_folders():
    """Of the vocabularies of all rows that are made without being asked for."""
    vocabularies = [CATALOG.experiment(name).vocabulary for name, _ in run_names(ROWS)]
    return [
        f"results/corpora/{REPRODUCTION.corpus}/{vocabulary}/tokens/{split}"
        for vocabulary in dict.fromkeys(vocabularies)
        for split in ("train", "dev")
    ]


def figures_of(table):
    return [*TABLE_FIGURES, *(FIGURES_ONCE if table == FIRST_TABLE else ())]


def figure_path(figure, table, ending):
    name = f"{table}.{figure}" if figure in TABLE_FIGURES else figure
    return f"results/{REPRODUCTION.name}/figures/{name}.{ending}"


def figures():
    """All forms of every figure that is not made on request only."""
    return [
        figure_path(figure, name, form)
        for name, table in REPRODUCTION.tables.items()
        if not table.on_request
        for figure in figures_of(name)
        for form in ("png", "pdf", "csv")
    ]


def translation_pages():
    """Those of tables with scores of translations."""
    return [
        f"results/{REPRODUCTION.name}/translations-{name}.html"
        for name, table in REPRODUCTION.tables.items()
        if not table.on_request and compared_metrics(name)
    ]


def pages():
    folder = f"results/{REPRODUCTION.name}"
    names = ("index.html", "explorer.html", "manifest.json")
    return [*(f"{folder}/{name}" for name in names), *translation_pages()]


def recorded_attention():
    """That of the first table's models, each with its first seed."""
    folder = f"results/runs/{REPRODUCTION.corpus}"
    return [
        f"{folder}/{row}/seed-{REPRODUCTION.seeds_for(row)[0]}/attention-maps.json"
        for row in rows_alone(FIRST_TABLE)
    ]


def first_translations_of_a_table(wildcards):
    """Of each row, those of the first seed."""
    return [files[0] for files in translations_of_a_table(wildcards).values()]


def models_and_cards():
    rows = [row for row in ROWS if row not in CATALOG.ensembles]
    return trained("model", rows) + trained("card.md", rows)


def translations_and_scores():
    return [
        path
        for table in REPRODUCTION.tables.values()
        if not table.on_request
        for name in ("translations.txt", "scores.json")
        for path in translated(f"{table.split}.{name}", table.experiments)
    ]


def check_table_name(table, rules):
    """End with a sentence where a table has the name of a rule."""
    if table in rules:
        sys.exit(f"error: the table {table} has the name of a rule: choose another.")


def check_cluster():
    """End before anything is submitted that could do harm on a cluster."""
    if workflow.local_exec:
        return
    for path in (Path.cwd(), ROOT, *workflow.configfiles):
        # SLURM's plugin writes paths into job scripts as they are: a shell would run $(...) in them.
        if re.search(r"[\"'`$\\\n]", str(path)):
            raise WorkflowError(
                f"{path} has a quote, a dollar sign or a backslash in its name, which job scripts"
                " would not survive: give it another."
            )
    if shlex.quote(sys.executable) != sys.executable:  # It begins the jobs' command, not quoted.
        raise WorkflowError(
            f"Jobs of a cluster cannot start '{sys.executable}': its path must be without spaces"
            " and signs of the shell. Make the environment in such a folder."
        )
    refuse_to_start_twice()


def refuse_to_start_twice():
    """End where SLURM still runs jobs that a snakemake which was killed had submitted here.

    They would write the same files. The plugin's comments name the rule.
    """
    if not shutil.which("squeue"):
        return
    jobs = subprocess.run(
        ["squeue", "--noheader", "--me", "--format=%i %k %Z"], capture_output=True, text=True
    )
    for line in jobs.stdout.splitlines():
        number, comment, folder = (line.split(maxsplit=2) + ["", ""])[:3]
        if folder == str(Path.cwd()) and comment.startswith(("rule_", "group_")):
            raise WorkflowError(
                f"SLURM job {number} of an earlier call still runs here: wait until it has ended,"
                f" or `scancel {number}`, then start again."
            )


STARTED = time.time()


def record_results():
    """Record what was made, so that a copy of results can be adopted: see adopt.py."""
    subprocess.run([sys.executable, ROOT / "src" / "record.py"])


def say_what_was_made():
    """Print the first table, where everything is, and how to talk to a model."""
    folder = f"results/{REPRODUCTION.name}"
    page = Path(f"{folder}/index.html")
    first = Path(f"{folder}/tables/{next(iter(REPRODUCTION.tables))}.md")
    made = [path for path in (page, first) if path.exists() and path.stat().st_mtime >= STARTED]
    if not made or not first.exists():
        return
    table = first.read_text(encoding="utf-8").partition("\n\n- ")[0]
    print(f"\n{table}\n", file=sys.stderr)
    print(f"Tables:  {folder}/tables", file=sys.stderr)
    print(f"Figures: {folder}/figures", file=sys.stderr)
    print("Models:  results/runs, each with a card.md", file=sys.stderr)
    print("Snakemake's report: snakemake --report results/report.html", file=sys.stderr)
    model = Path(recorded_attention()[-1]).with_name("model")
    print(f"Try a model: python src/explore.py --model {model}", file=sys.stderr)
    if page in made:
        print(f"All on one page: {page}", file=sys.stderr)


def say_what_went_wrong():
    """Print the lines with which scripts failed, when snakemake has said all that it has to say."""
    for path in Path("results/logs").rglob("*.log"):
        if path.stat().st_mtime >= STARTED:
            last = path.read_text(encoding="utf-8", errors="replace").splitlines()[-1:]
            if last and "error: " in last[0].lower():
                sentence = last[0].partition(" error: ")[2] or last[0]
                atexit.register(print, f"\n{sentence}\n({path})", file=sys.stderr)


def table_inputs(wildcards):
    table = REPRODUCTION.tables[wildcards.table]
    needed = trained("training.json", table.experiments)
    needed += trained("metrics.jsonl", table.experiments)
    needed += translated(f"{table.split}.scores.json", table.experiments)
    if "perplexity" in table.metrics:
        needed += trained("dev.perplexity.json", table.experiments)
    return needed


def titles(wildcards):
    """What tables and figures call the corpus and the rows: as a function, which may return braces."""
    return [CORPUS.title, *(CATALOG.rows[row].title for row in REPRODUCTION.experiments)]


def published_digest():
    """Of what papers print of this corpus: the report shows parameters, and the numbers themselves fill pages."""
    numbers = [
        entry.model_dump_json()
        for entry in CATALOG.published
        if entry.corpus == REPRODUCTION.corpus
    ]
    return hashlib.sha256("".join(numbers).encode()).hexdigest()[:12]


def compared_metrics(table):
    """All that are scores of translations, sentence by sentence."""
    return [metric for metric in REPRODUCTION.tables[table].metrics if metric != "perplexity"]


def translations_of_a_table(wildcards):
    """By row: those of an experiment's seeds, an ensemble's one."""
    table = REPRODUCTION.tables[wildcards.table]
    return {row: translated(f"{table.split}.translations.txt", [row]) for row in table.experiments}


def significance_of_a_table(wildcards):
    if not compared_metrics(wildcards.table):
        return []
    return f"results/{wildcards.reproduction}/tables/{wildcards.table}.significance.json"


def rows_alone(table):
    """The rows of a table that are not ensembles."""
    rows = REPRODUCTION.tables[table].experiments
    return [row for row in rows if row not in CATALOG.ensembles]


def figure_inputs(table):
    """All that the figures of a table are drawn from."""
    rows, split = REPRODUCTION.tables[table].experiments, REPRODUCTION.tables[table].split
    alone = rows_alone(table)
    needed = trained("training.json", rows) + trained("metrics.jsonl", rows)
    needed += translated(f"{split}.scores.json", rows)
    needed += [
        f"results/corpora/{REPRODUCTION.corpus}/{vocabulary}/tokens/train"
        for vocabulary in dict.fromkeys(CATALOG.experiment(row).vocabulary for row in alone)
    ]
    if table == FIRST_TABLE:
        needed += trained("attention.json", alone)
    return needed
