"""The configuration, the wildcards, and the names of files that several rules use."""

import re
import shlex
import time

from snakemake.exceptions import WorkflowError

from nmt.configuration import KINDS, load_reproduction, read_yaml
from nmt.environment import SETTINGS
from nmt.errors import UserError
from nmt.paper.figures import FIGURES, file_name

# Standard error of every job goes to its log, with dates; what is seen is read there by the logger.
SETTINGS |= {"NMT_LOG": 1}
shell.prefix("".join(f"export {name}={value}; " for name, value in SETTINGS.items()))


def catalog_path():
    """Return the folder config, or the one file of the configuration that has entries of its own.

    Reading refuses a key that is there twice.
    """
    files = {file: read_yaml(Path(file), dict).keys() & {*KINDS} for file in workflow.configfiles}
    own = [file for file, kinds in files.items() if kinds]
    if len(own) > 1 or config.keys() & {*KINDS} != set().union(*files.values()):
        raise UserError(f"{', '.join(KINDS)} can stand in one file of --configfile alone.")
    return Path(own[0]) if own else ROOT / "config"


CONFIGURATION = " with ".join(map(os.path.relpath, workflow.configfiles))
try:
    CATALOG_PATH = catalog_path()
    REPRODUCTION, CATALOG = load_reproduction(config, CONFIGURATION, CATALOG_PATH)
except UserError as error:
    raise WorkflowError(str(error)) from None
CORPUS = CATALOG.corpus(REPRODUCTION.corpus)
OWN_FILES = [ROOT / file for split in CORPUS.splits for file in CORPUS.sources_of(split)[1]]
for path in [ROOT, Path.cwd(), *OWN_FILES]:
    if set("{}") & set(str(path)):
        raise WorkflowError(f"{path} has a brace, which snakemake takes for its own: rename it.")
    if not path.exists():
        raise WorkflowError(f"{path} is not there: correct the corpus's source or target.")
    if path.is_file() and path.stat().st_mtime > time.time():
        raise WorkflowError(f"{path} has a date in the future: `touch {shlex.quote(str(path))}`.")
# Scripts are called by their path, so that --directory may name any folder.
SCRIPTS = shlex.quote(str(ROOT / "src"))
LAUNCH = shlex.quote(str(ROOT / "workflow/launch.sh"))
CATALOG_PATH = shlex.quote(str(CATALOG_PATH))
TABLES = REPRODUCTION.tables
DEFAULT_TABLES = REPRODUCTION.by_default.tables
FIRST_TABLE = next(iter(TABLES))
# The rows of all tables that are made by default
ROWS = REPRODUCTION.by_default.experiments
# The preprocessing steps of all vocabularies, by their name in paths
PREPROCESSING = {
    vocabulary.preprocessing_name: vocabulary.preprocessing
    for vocabulary in CATALOG.vocabularies.values()
}
# The experiments that tables rest on, by name
EXPERIMENTS = {
    name: CATALOG.experiment(name)
    for row in REPRODUCTION.experiments
    for run, _ in CATALOG.trainings(row, [1])
    for name in (run, CATALOG.experiment(run).trained_as or run)
}


def alternatives(names):
    """Return the pattern of a wildcard that is one of these names."""
    return "|".join(map(re.escape, names)) or "none"


def trainings(rows):
    """Return experiment and seed of every training that these rows rest on, each once."""
    runs = [run for row in rows for run in CATALOG.trainings(row, REPRODUCTION.seeds_for(row))]
    return list(dict.fromkeys(runs))


def run_files(name, rows):
    """Return a file of every training that these rows rest on.

    What a training itself writes is in the run of the experiment that a row is trained as.
    """
    shared = name in ("training.json", "metrics.jsonl")
    return [
        f"results/runs/{REPRODUCTION.corpus}/"
        f"{shared and EXPERIMENTS[experiment].trained_as or experiment}/seed-{seed}/{name}"
        for experiment, seed in trainings(rows)
    ]


def translated(name, rows):
    """Return a file of every run of these rows: one for each seed, or one for an ensemble."""
    files = [
        (
            [f"results/runs/{REPRODUCTION.corpus}/{row}/ensemble/{name}"]
            if row in CATALOG.ensembles
            else run_files(name, [row])
        )
        for row in rows
    ]
    return sum(files, [])


# The rows of systems from elsewhere, of which there are translations alone
ELSEWHERE = [row for row, ensemble in CATALOG.ensembles.items() if ensemble.translations]


def single_models(rows):
    """Return those of the rows that are no ensembles."""
    return [row for row in rows if row not in CATALOG.ensembles]


def token_folders(splits, rows):
    """Return the tokens of splits in all vocabularies that these rows use."""
    vocabularies = dict.fromkeys(EXPERIMENTS[name].vocabulary for name, _ in trainings(rows))
    folder = f"results/corpora/{REPRODUCTION.corpus}"
    return expand(f"{folder}/{{v}}/tokens/{{split}}", v=vocabularies, split=splits)


def figures_of(tables):
    """Return the figures that these tables have, by file name: each one's table and name."""
    return {
        file_name(figure, table): (table, figure)
        for table in tables
        for figure, drawn in FIGURES.items()
        if table == FIRST_TABLE or drawn.of_table
        if drawn.is_drawn_for(TABLES[table], CATALOG)
    }


FIGURES_DRAWN = figures_of(TABLES)


def tables_and_figures(tables):
    """Return all forms of these tables and of their figures."""
    folder = f"results/{REPRODUCTION.name}"
    figures = figures_of(table for table in tables if table in TABLES)
    return [
        *expand(f"{folder}/tables/{{t}}.{{form}}", t=tables, form=("md", "csv", "tex")),
        *expand(f"{folder}/figures/{{f}}.{{form}}", f=figures, form=("png", "pdf", "csv")),
    ]


# The threads of a run, which a cluster's profile overrides. Side by side with one core each, runs
# finish sooner than one after the other with all cores.
THREADS = max(1, (workflow.cores or 1) // max(1, len(trainings(ROWS))))


wildcard_constraints:
    corpus=REPRODUCTION.corpus,
    experiment=alternatives(EXPERIMENTS),
    row=alternatives(REPRODUCTION.experiments),
    run=r"seed-\d+|ensemble",
    reproduction=re.escape(REPRODUCTION.name),
    vocabulary=alternatives({experiment.vocabulary for experiment in EXPERIMENTS.values()}),
    preprocessing=alternatives(PREPROCESSING),
    split=alternatives(CORPUS.split_names),
    language=alternatives(CORPUS.languages.values()),
    archive=alternatives(CORPUS.archives),
    table=alternatives([*TABLES, "complexity", "corpora"]),
    figure=alternatives(FIGURES_DRAWN),
    seed=r"\d+",
