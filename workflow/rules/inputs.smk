"""The inputs and parameters of rules, as functions of wildcards."""

import hashlib
from functools import cache

from nmt.files import checksum

checksum_of = cache(checksum)  # of a file that may be long, for each split
# The dev set, and the test sets of the tables that are made by default
HELD_BACK = list(dict.fromkeys(["dev", *(table.split for table in DEFAULT_TABLES.values())]))


def made_or_own(name):
    """Return a path: in results where it is made, else in the repository or absolute."""
    return name if name.startswith("results/") else str(ROOT / name)


def parts_of_a_split(wildcards):
    """Return what the configuration says of a split's text."""
    parts = [part.model_dump() for part in CORPUS.parts(wildcards.split)]
    if CORPUS.held_out and wildcards.split in ("train", *CORPUS.held_out):
        parts.append(CORPUS.held_out)
    filters = CORPUS.filters_of(wildcards.split)
    parts += [CORPUS.cleaning.words] * ("words" in filters)
    parts += [CORPUS.dev_every] * ("dev_every" in filters)
    return parts


def sources_of_a_split(wildcards):
    """Return the downloads and the user's own files that a split is extracted from."""
    archives, own_files = CORPUS.sources_of(wildcards.split)
    return [f"results/downloads/{name}" for name in archives] + [str(ROOT / f) for f in own_files]


def checksums(files):
    """Return checksums of files that are not made here: one in another's place may be older."""
    paths = [ROOT / file for file in files if not file.startswith("results/")]
    return [checksum_of(path) for path in paths if path.is_file()]


def held_back(wildcards, language):
    """Return the text that training text must not overlap with."""
    splits = HELD_BACK if "overlap" in CORPUS.filters_of(wildcards.split) else []
    return [f"results/corpora/{wildcards.corpus}/raw/{split}.{language}" for split in splits]


def cores_of_a_split(wildcards):
    """Return all cores for the training text, one for other splits, which take seconds."""
    return workflow.cores or 1 if wildcards.split == "train" else 1


def following(path):
    """Return a function of wildcards: the path, filled in with what follows from them.

    {vocabulary} and {trained_as} follow from the experiment, {preprocessing} from the vocabulary.
    """

    def filled(wildcards):
        values = dict(wildcards.items())
        if name := values.get("experiment"):
            values["vocabulary"] = EXPERIMENTS[name].vocabulary
            values["trained_as"] = EXPERIMENTS[name].trained_as or name
        values["preprocessing"] = CATALOG.vocabulary(values["vocabulary"]).preprocessing_name
        return path.format(**values)

    return filled


# The models that trainings start from, by the vocabularies that are theirs
INITIAL = {e.vocabulary: e.initialize_from for e in EXPERIMENTS.values() if e.initialize_from}


def initial_model(wildcards):
    """Return the model that a vocabulary is from, or that a training starts from, or nothing."""
    vocabulary = wildcards.get("vocabulary") or EXPERIMENTS[wildcards.experiment].vocabulary
    return made_or_own(INITIAL[vocabulary]) if vocabulary in INITIAL else []


def with_content(settings, wildcards):
    """Return settings, and the checksum of an initial model, if that is not made here."""
    folder = initial_model(wildcards)
    found = checksums([f"{folder}/model.safetensors"]) if folder else []
    return settings | {"initialize_from": found[0]} if found else settings


def models(wildcards):
    """Return the model folders that translate for a run: all members' for an ensemble."""
    if wildcards.run == "ensemble":
        return run_files("model", [wildcards.row])
    return f"results/runs/{wildcards.corpus}/{wildcards.row}/{wildcards.run}/model"


def subwords_of_a_score(wildcards):
    """Return the row's subwords where a metric of the split counts them."""
    tables = [it for it in REPRODUCTION.tables.values() if it.split == wildcards.split]
    counted = any("sentence_bleu" in table.metrics for table in tables)
    names = [name for name, _ in CATALOG.trainings(wildcards.row, [1])] if counted else []
    vocabularies = {EXPERIMENTS[name].vocabulary for name in names}
    return [f"results/corpora/{wildcards.corpus}/{name}/subwords" for name in vocabularies]


def table_inputs(wildcards):
    """Return what a table is made from, by the table's name."""
    if wildcards.table == "corpora":
        counts = f"results/corpora/{REPRODUCTION.corpus}/raw/train.json"
        tokens = token_folders(["train", *HELD_BACK], ROWS)
        return tokens + [counts] * bool(CORPUS.filters_of("train"))
    if wildcards.table == "complexity":
        return []
    return runs_of_a_table(wildcards.table)


def runs_of_a_table(name):
    """Return what was measured of the runs of a table."""
    table = TABLES[name]
    rows = table.experiments
    files = run_files("training.json", rows) + run_files("metrics.jsonl", rows)
    files += translated(f"{table.split}.scores.json", rows)
    if "perplexity" in table.metrics:
        files += run_files("dev.perplexity.json", single_models(rows))
    return files


def figure_inputs(wildcards):
    """Return what a figure is drawn from."""
    table, name = FIGURES_DRAWN[wildcards.figure]
    if FIGURES[name].of_table:
        return runs_of_a_table(table)
    rows = TABLES[table].experiments
    return run_files("training.json", rows) + first_seed("attention.json", single_models(rows))


def shown(wildcards):
    """Return what tables, figures and pages show of the catalog: titles, families and numbers.

    Of published numbers a digest, as the report shows parameters. A function keeps braces.
    """
    titles = [CORPUS.title, *(CATALOG.rows[row].title for row in REPRODUCTION.experiments)]
    families = [experiment.model.family for experiment in EXPERIMENTS.values()]
    numbers = "".join(entry.model_dump_json() for entry in CATALOG.published)
    return [*titles, *families, hashlib.sha256(numbers.encode()).hexdigest()[:12]]


def translations_and_texts():
    """Return the first seed's translations of the tables with such pages, their sources and texts."""
    files = []
    for table in filter(lambda table: table.compared, DEFAULT_TABLES.values()):
        files += first_seed(f"{table.split}.translations.txt", table.experiments)
        files += [
            f"results/corpora/{REPRODUCTION.corpus}/raw/{table.split}.{language}"
            for language in (CORPUS.source, CORPUS.target)
        ]
    return files


def models_and_translations():
    """Return the models, translations and scores behind the default tables."""
    files = run_files("model", ROWS)
    for table in DEFAULT_TABLES.values():
        for name in ("translations.txt", "scores.json"):
            files += translated(f"{table.split}.{name}", table.experiments)
    return files


def first_seed(name, rows):
    """Return a file of each row's run with its first seed, or of an ensemble's only run."""
    return [translated(name, [row])[0] for row in rows]


def taught_rows():
    """Return the first Transformer and the first decoder-only model, as far as there are any."""
    families = {EXPERIMENTS[row].model.family: row for row in single_models(ROWS)[::-1]}
    return [families[name] for name in ("transformer", "decoder-only") if name in families]


def training_resource(name, default):
    """Return what the command line or a profile sets for train, as in set-resources."""
    given = workflow.resource_settings.overwrite_resources.get("train", {})
    return given[name].raw if name in given else default


# The GPUs of a training on all of its nodes, and its processes: one for each GPU, at least one for
# each node
GPUS = int(training_resource("gpu", 0))
NODES = int(training_resource("nodes", 1))
PROCESSES = max(int(training_resource("processes", 1)), GPUS, NODES)


def mpi_of_a_training():
    """Return the resources with which SLURM's plugin leaves it to the job to call srun."""
    if PROCESSES == 1:
        return {}
    tasks = {"mpi": "srun", "nodes": NODES, "tasks": PROCESSES}
    return tasks | {"tasks_per_gpu": 1} if GPUS else tasks
