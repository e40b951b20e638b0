"""The inputs and parameters of rules, as functions of wildcards and of the configuration."""

import hashlib

from nmt.configuration import former_spelling


def experiment(wildcards):
    """Return the experiment that a job is for."""
    return CATALOG.experiment(wildcards.experiment)


def settings_of(name):
    """Return an experiment's settings, whose change reruns a step; its title reruns nothing."""
    chosen = CATALOG.experiment(name)
    parts = (chosen.model, chosen.training, chosen.decoding)
    return [chosen.vocabulary, *(former_spelling(part.chosen()) for part in parts)]


def text_sources(wildcards):
    """Return the downloads and the user's own files that a split is extracted from."""
    archives = [f"results/downloads/{name}" for name in CORPUS.archives_of(wildcards.split)]
    return sorted([*archives, *map(in_repository, map(Path, CORPUS.own_files_of(wildcards.split)))])


def text_parts(wildcards):
    """Return what the configuration says of a split's text."""
    parts = [part.model_dump() for part in CORPUS.parts(wildcards.split)]
    if CORPUS.held_out and wildcards.split in ("train", *CORPUS.held_out):
        parts.append(CORPUS.held_out)
    return parts


def other_splits(language):
    """Return one side of the dev set and of the test sets of tables that are made by default."""
    splits = ["dev", *(table.split for table in REPRODUCTION.default_tables.values())]
    return [f"results/corpora/{{corpus}}/raw/{split}.{language}" for split in dict.fromkeys(splits)]


def cleaned_text(wildcards):
    """Return one side of a split; of the training text what its filters leave, where it has any."""
    filtered = wildcards.split == "train" and CORPUS.cleaning.filters
    folder = "clean" if filtered else "raw"
    return f"results/corpora/{wildcards.corpus}/{folder}/{wildcards.split}.{wildcards.language}"


def text_file(language, split=None):
    """Return a function of wildcards: one side of a split, preprocessed for the vocabulary."""

    def path(wildcards):
        steps = CATALOG.vocabulary(wildcards.vocabulary).preprocessing_name
        return (
            f"results/corpora/{wildcards.corpus}/text/{steps}/{split or wildcards.split}.{language}"
        )

    return path


def vocabulary_file(name):
    """Return a function of wildcards: a file of the vocabulary that the experiment uses."""

    def path(wildcards):
        vocabulary = CATALOG.experiment(wildcards.experiment).vocabulary
        return f"results/corpora/{wildcards.corpus}/{vocabulary}/{name}"

    return path


def shared_training(name):
    """Return a function of wildcards: a file of the run whose training the experiment shares."""

    def path(wildcards):
        shared = CATALOG.experiment(wildcards.experiment).trained_as
        return f"results/runs/{wildcards.corpus}/{shared}/seed-{wildcards.seed}/{name}"

    return path


def run_names(rows):
    """Return experiment and seed of every training that these rows need, each once."""
    runs = [run for row in rows for run in CATALOG.trainings(row, REPRODUCTION.seeds_for(row))]
    return list(dict.fromkeys(runs))


def trained(name, rows):
    """Return a file of every training that these rows need, each once."""
    return [
        f"results/runs/{REPRODUCTION.corpus}/{experiment}/seed-{seed}/{name}"
        for experiment, seed in run_names(rows)
    ]


def translated(name, rows):
    """Return a file of every run of these rows: one for each seed, or one for an ensemble."""
    return [
        path
        for row in rows
        for path in (
            [f"results/runs/{REPRODUCTION.corpus}/{row}/ensemble/{name}"]
            if row in CATALOG.ensembles
            else trained(name, [row])
        )
    ]


def models(wildcards):
    """Return the model folders that translate for a run: all members' for an ensemble."""
    if wildcards.run == "ensemble":
        return trained("model", [wildcards.row])
    return f"results/runs/{wildcards.corpus}/{wildcards.row}/{wildcards.run}/model"


def token_folders():
    """Return the tokens of all vocabularies that the rows made by default use."""
    vocabularies = [CATALOG.experiment(name).vocabulary for name, _ in run_names(ROWS)]
    return [
        f"results/corpora/{REPRODUCTION.corpus}/{vocabulary}/tokens/{split}"
        for vocabulary in dict.fromkeys(vocabularies)
        for split in ("train", "dev")
    ]


def dropped_pairs():
    """Return the counts of pairs that the corpus's filters drop; nothing where it has none."""
    folder = f"results/corpora/{REPRODUCTION.corpus}/clean"
    return [f"{folder}/train.json"] if CORPUS.cleaning.filters else []


def experiments_of(table):
    """Return the experiments of a table, in its order, without ensembles."""
    rows = REPRODUCTION.tables[table].experiments
    return [row for row in rows if row not in CATALOG.ensembles]


def compared_metrics(table):
    """Return the table's metrics that are computed from translations."""
    return [metric for metric in REPRODUCTION.tables[table].metrics if metric != "perplexity"]


def table_inputs(wildcards):
    """Return the training logs and scores that a table shows."""
    table = REPRODUCTION.tables[wildcards.table]
    needed = trained("training.json", table.experiments)
    needed += trained("metrics.jsonl", table.experiments)
    needed += translated(f"{table.split}.scores.json", table.experiments)
    if "perplexity" in table.metrics:
        needed += trained("dev.perplexity.json", table.experiments)
    return needed


def translations_of_a_table(wildcards):
    """Return the translations by row: one file for each seed, or one for an ensemble."""
    table = REPRODUCTION.tables[wildcards.table]
    return {row: translated(f"{table.split}.translations.txt", [row]) for row in table.experiments}


def first_translations_of_a_table(wildcards):
    """Return each row's translations with its first seed."""
    return [files[0] for files in translations_of_a_table(wildcards).values()]


def significance_of_a_table(wildcards):
    """Return the file of significance tests, or nothing where no translations are scored."""
    if not compared_metrics(wildcards.table):
        return []
    return f"results/{wildcards.reproduction}/tables/{wildcards.table}.significance.json"


def figure_inputs(table):
    """Return everything that the figures of a table are drawn from."""
    rows, split = REPRODUCTION.tables[table].experiments, REPRODUCTION.tables[table].split
    needed = trained("training.json", rows) + trained("metrics.jsonl", rows)
    needed += translated(f"{split}.scores.json", rows)
    experiments = experiments_of(table)
    needed += trained("gradients.json", experiments)
    needed += [
        f"results/corpora/{REPRODUCTION.corpus}/{vocabulary}/tokens/train"
        for vocabulary in dict.fromkeys(CATALOG.experiment(name).vocabulary for name in experiments)
    ]
    if table == FIRST_TABLE:
        needed += trained("attention.json", experiments)
        needed += trained("model", CATALOG.with_learned_positions(experiments))
    return needed


def titles(wildcards):
    """Return the titles of corpus and rows, whose braces a function keeps as they are."""
    return [CORPUS.title, *(CATALOG.rows[row].title for row in REPRODUCTION.experiments)]


def published_digest():
    """Return a digest of the published numbers for this corpus and for the rows' counterparts.

    Snakemake's report shows parameters: the numbers themselves would fill pages of it.
    """
    tables = REPRODUCTION.tables.values()
    counterparts = {name for table in tables for name in table.counterparts.values()}
    numbers = [
        entry.model_dump_json()
        for entry in CATALOG.published
        if entry.corpus == REPRODUCTION.corpus or entry.experiment in counterparts
    ]
    return hashlib.sha256("".join(numbers).encode()).hexdigest()[:12]
