# From raw corpora to the paper's tables and figures (README.md); config/*.yaml say what is made.
import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

# Relative, so that all paths are short where snakemake works in the repository
ROOT = Path(os.path.relpath(workflow.basedir))
# Behind all else, so that no file in src takes the place of a library
sys.path.append(str(ROOT.resolve() / "src"))

if not workflow.configfiles:

    configfile: ROOT / "config/demo.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/vocabulary.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/translate.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/messages.smk"


# What Snakemake's own report begins with
report: "workflow/report/overview.rst"


rule all:
    default_target: True
    input:
        models_and_translations(),
        tables_and_figures([*DEFAULT_TABLES, "complexity", "corpora"]),
        expand(rules.make_index.output, reproduction=REPRODUCTION.name),
        f"results/{REPRODUCTION.name}/SHA256SUMS",


# `snakemake lecture` makes a page of pictures to teach with.
rule lecture:
    input:
        f"results/{REPRODUCTION.name}/lecture.html",


# `snakemake table3` makes that table and its figures.
for table in TABLES:

    rule:
        name:
            table
        input:
            tables_and_figures([table]),
