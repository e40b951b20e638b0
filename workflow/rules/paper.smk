# Tables and figures; these with captions for the report.


# The configuration with all that --config changed: scripts of this and the next file read it.
rule write_configuration:
    output:
        "results/{reproduction}/configuration.json",
    log:
        "results/logs/{reproduction}/write_configuration.log",
    localrule: True
    conda:
        "../../envs/nmt.yaml"
    params:
        values=lambda wildcards: REPRODUCTION.model_dump_json(indent=2, exclude={"mirror"}),
    shell:
        "printf '%s\\n' {params.values:q} > {output} 2> {log}"


rule test_significance:
    input:
        translations=lambda wildcards: translated(
            f"{TABLES[wildcards.table].split}.translations.txt",
            TABLES[wildcards.table].experiments,
        ),
        references=lambda wildcards: (
            f"results/corpora/{REPRODUCTION.corpus}/raw/"
            f"{TABLES[wildcards.table].split}.{CORPUS.target}"
        ),
    output:
        "results/{reproduction}/tables/{table}.significance.json",
    log:
        "results/logs/{reproduction}/compare.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/compare.{table}.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        names=lambda wildcards, input: [Path(file).parts[3] for file in input.translations],
        metrics=lambda wildcards: TABLES[wildcards.table].compared,
    shell:
        f"python {SCRIPTS}/compare.py --target-language {CORPUS.target}"
        " --translations {input.translations} --names {params.names}"
        " --references {input.references}"
        " --metrics {params.metrics} --output {output} 2>> {log}"


rule make_table:
    input:
        table_inputs,
        significance=branch(
            lambda wildcards: wildcards.table in TABLES and TABLES[wildcards.table].compared,
            then="results/{reproduction}/tables/{table}.significance.json",
        ),
        configuration="results/{reproduction}/configuration.json",
    output:
        csv="results/{reproduction}/tables/{table}.csv",
        markdown="results/{reproduction}/tables/{table}.md",
        latex="results/{reproduction}/tables/{table}.tex",
    log:
        "results/logs/{reproduction}/typeset.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/typeset.{table}.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        shown=shown,
    shell:
        f"python {SCRIPTS}/typeset.py --catalog {CATALOG_PATH}"
        " --reproduction {input.configuration} --table {wildcards.table}"
        " --significance {input.significance}"
        " --csv {output.csv} --markdown {output.markdown} --latex {output.latex} 2>> {log}"


rule draw_figure:
    input:
        figure_inputs,
        configuration="results/{reproduction}/configuration.json",
    output:
        png=report(
            "results/{reproduction}/figures/{figure}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
        pdf="results/{reproduction}/figures/{figure}.pdf",
        csv="results/{reproduction}/figures/{figure}.csv",
    log:
        "results/logs/{reproduction}/plot.{figure}.log",
    benchmark:
        "results/benchmarks/{reproduction}/plot.{figure}.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        table=lambda wildcards: FIGURES_DRAWN[wildcards.figure][0],
        figure=lambda wildcards: FIGURES_DRAWN[wildcards.figure][1],
        caption=lambda wildcards: FIGURES[FIGURES_DRAWN[wildcards.figure][1]].caption,
        shown=shown,
    shell:
        f"python {SCRIPTS}/plot.py --catalog {CATALOG_PATH}"
        " --reproduction {input.configuration} --table {params.table} --figure {params.figure}"
        " --png {output.png} --pdf {output.pdf} --csv {output.csv} 2>> {log}"


# What papers claim, against the runs that are kept with the repository.
rule claims:
    input:
        claims=ROOT / "config/claims.yaml",
        runs=ROOT / "docs/results/data/runs.jsonl.gz",
        configuration=sorted((ROOT / "config").glob("**/*.yaml")),
    output:
        "results/claims.md",
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        runs=subpath(input.runs, parent=True),
    shell:
        f"python {SCRIPTS}/check_claims.py"
        " --claims {input.claims:q} --runs {params.runs:q} --output {output} 2>> {log}"
