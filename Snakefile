# From raw corpora to the paper's tables and figures. See README.md; what is made is said in config/*.yaml.
import os
import sys

from snakemake.utils import min_version

min_version("9.0")

# No rule: when it ends, a second snakemake takes away the lock of the one that is running beside it.
if "status" in sys.argv[1:]:
    os.execv(
        sys.executable,
        [sys.executable, f"{workflow.basedir}/src/status.py", "--runs", "results/runs"],
    )

if not workflow.configfiles:

    configfile: "config/demo.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/vocabulary.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/translate.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/benchmark.smk"


rule all:
    default_target: True
    input:
        tables(),
        figures(),
        cards(),


for table in REPRODUCTION.tables:
    if table in {"status", *(known.name for known in workflow.rules)}:
        sys.exit(f"error: the table {table} has the name of a rule: choose another.")

    rule:
        name:
            table
        input:
            f"results/{REPRODUCTION.name}/tables/{table}.md",
