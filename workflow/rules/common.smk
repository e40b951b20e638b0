"""The configuration, the environment of all jobs, and the wildcards."""

import os
import re
import shlex
import sys
from pathlib import Path

import nmt
from nmt.configuration import load_reproduction, read_yaml
from nmt.environment import SETTINGS
from nmt.errors import UserError

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
# Others may not write what snakemake itself writes, either (nmt.files).
os.umask(os.umask(0o077) | 0o002)


def in_repository(path):
    """Return a path of the repository: relative where snakemake works in its root."""
    return str(path if Path.cwd() == ROOT else ROOT / path)


# Scripts are called by their whole path, so that --directory may name any folder.
SCRIPTS = shlex.quote(in_repository("src"))

try:
    files = [Path(os.path.relpath(file)) for file in workflow.configfiles]
    for file in files:
        read_yaml(file, dict)  # refuses a duplicate key
    where = " with ".join(map(str, files)) or "--config"
    REPRODUCTION, CATALOG = load_reproduction(config, where, ROOT)
    CORPUS = CATALOG.corpus(REPRODUCTION.corpus)
    # The rows of all tables that are made by default
    ROWS = dict.fromkeys(
        row for table in REPRODUCTION.default_tables.values() for row in table.experiments
    )
    # The preprocessing steps of all vocabularies, by their name in paths
    PREPROCESSING = {
        vocabulary.preprocessing_name: vocabulary.preprocessing
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
