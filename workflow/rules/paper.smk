# Tables and figures, with captions for the report.


rule resolve_configuration:
    output:
        "results/{reproduction}/configuration.json",
    log:
        "results/logs/{reproduction}/resolve_configuration.log",
    benchmark:
        "results/benchmarks/{reproduction}/resolve_configuration.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(200),
        runtime=minutes(10),
    params:
        values=REPRODUCTION.model_dump_json(indent=2, exclude={"mirror"}),
    shell:
        f"python {SCRIPTS}/resolve_configuration.py"
        " --values {params.values:q} --output {output} --log {log}"


rule compare:
    input:
        translations=lambda wildcards: sum(translations_of_a_table(wildcards).values(), []),
        references=lambda wildcards: f"results/corpora/{REPRODUCTION.corpus}/raw/"
        f"{REPRODUCTION.tables[wildcards.table].split}.{CORPUS.target}",
    output:
        "results/{reproduction}/tables/{table}.significance.json",
    log:
        "results/logs/{reproduction}/compare.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/compare.{table}.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(60),
    params:
        names=lambda wildcards: [
            row for row, runs in translations_of_a_table(wildcards).items() for _ in runs
        ],
        metrics=lambda wildcards: compared_metrics(wildcards.table),
        language=CORPUS.target,
    shell:
        f"python {SCRIPTS}/compare.py"
        " --translations {input.translations} --names {params.names}"
        " --references {input.references} --target-language {params.language}"
        " --metrics {params.metrics}"
        " --output {output} --log {log}"


rule typeset:
    input:
        table_inputs,
        significance=significance_of_a_table,
        configuration="results/{reproduction}/configuration.json",
    output:
        csv="results/{reproduction}/tables/{table}.csv",
        markdown="results/{reproduction}/tables/{table}.md",
        html=report(
            "results/{reproduction}/tables/{table}.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        latex="results/{reproduction}/tables/{table}.tex",
    log:
        "results/logs/{reproduction}/typeset.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/typeset.{table}.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        significance=lambda wildcards, input: (
            f"--significance {input.significance}" if input.significance else ""
        ),
        published=published_digest(),
        titles=titles(),
    shell:
        f"python {SCRIPTS}/typeset.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table {wildcards.table} {params.significance} --csv {output.csv}"
        " --markdown {output.markdown}"
        " --html {output.html} --latex {output.latex} --log {log}"


# A caption's file name knows no wildcards, so that each figure has a rule, named like it.
for figure in FIGURES:

    rule:
        name:
            figure
        input:
            figure_inputs(figure),
            configuration=f"results/{REPRODUCTION.name}/configuration.json",
        output:
            pdf=f"results/{REPRODUCTION.name}/figures/{figure}.pdf",
            png=report(
                f"results/{REPRODUCTION.name}/figures/{figure}.png",
                caption=f"../report/{figure}.rst",
                category="Figures",
                labels={"figure": figure},
            ),
        log:
            f"results/logs/{REPRODUCTION.name}/plot.{figure}.log",
        benchmark:
            f"results/benchmarks/{REPRODUCTION.name}/plot.{figure}.tsv"
        conda:
            "../../envs/nmt.yaml"
        threads: 1
        resources:
            mem_mb=memory(700),
            runtime=minutes(10),
        params:
            catalog=in_repository(REPRODUCTION.catalog),
            figure=figure,
            titles=titles(),
        shell:
            f"python {SCRIPTS}/plot.py"
            " --catalog {params.catalog:q} --reproduction {input.configuration}"
            " --figure {params.figure} --pdf {output.pdf} --png {output.png} --log {log}"
