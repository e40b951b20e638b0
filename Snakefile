# From raw corpora to the paper's tables and figures (README.md); config/*.yaml say what is made.
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

ROOT = Path(workflow.current_basedir.get_path_or_uri(secret_free=True))

if not workflow.configfiles:

    configfile: ROOT / "config/demo.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/inputs.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/targets.smk"
include: "workflow/rules/handlers.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/vocabulary.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/translate.smk"
include: "workflow/rules/paper.smk"
include: "workflow/rules/layers.smk"
include: "workflow/rules/pages.smk"
include: "workflow/rules/plan.smk"


adopt_copied_results()


# What Snakemake's own report begins with
report: "workflow/report/overview.rst"


# For --sdm apptainer alone: docs/cluster.md says how it is built. Snakemake refuses an image whose
# path has a space, whether it is used or not.
IMAGE = in_repository("envs/nmt.sif")
if " " not in IMAGE or "apptainer" in map(str, workflow.deployment_settings.deployment_method):

    container: IMAGE


rule all:
    default_target: True
    input:
        tables(),
        figures(),
        default_models(),
        translations_and_scores(),
        pages(),


for table in REPRODUCTION.tables:
    check_table_name(table)

    rule:
        name:
            table
        input:
            f"results/{REPRODUCTION.name}/tables/{table}.md",
            [figure_path(figure, table, "png") for figure in figures_of(table)],


onstart:
    check_cluster()


onsuccess:
    record_results()
    say_what_was_made()


onerror:
    record_results()
    say_what_went_wrong()
