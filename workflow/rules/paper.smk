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
        values=lambda wildcards: REPRODUCTION.model_dump_json(indent=2, exclude={"mirror"}),
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
        runtime=minutes(20),
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
        titles=titles,
    shell:
        f"python {SCRIPTS}/typeset.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table {wildcards.table} {params.significance} --csv {output.csv}"
        " --markdown {output.markdown}"
        " --html {output.html} --latex {output.latex} --log {log}"


rule typeset_corpora:
    input:
        token_folders(),
        dropped_pairs(),
        configuration=f"results/{REPRODUCTION.name}/configuration.json",
    output:
        markdown=f"results/{REPRODUCTION.name}/tables/corpora.md",
        csv=f"results/{REPRODUCTION.name}/tables/corpora.csv",
        latex=f"results/{REPRODUCTION.name}/tables/corpora.tex",
        html=report(
            f"results/{REPRODUCTION.name}/tables/corpora.html",
            caption="../report/corpora.rst",
            category="Tables",
            labels={"table": "corpora"},
        ),
    log:
        f"results/logs/{REPRODUCTION.name}/typeset.corpora.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/typeset.corpora.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        titles=titles,
    shell:
        f"python {SCRIPTS}/typeset.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table corpora --markdown {output.markdown} --csv {output.csv} --latex {output.latex}"
        " --html {output.html} --log {log}"


rule measure_gradients:
    input:
        model="results/runs/{corpus}/{experiment}/seed-{seed}/model",
        tokens=vocabulary_file("tokens/train"),
    output:
        "results/runs/{corpus}/{experiment}/seed-{seed}/gradients.json",
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/measure_gradients.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/measure_gradients.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(3000, per_parameter=16),
        gpu=0,
        runtime=minutes(20),
    shell:
        f"python {SCRIPTS}/measure_gradients.py"
        " --model {input.model} --tokens {input.tokens} --seed {wildcards.seed}"
        " --threads {threads} --gpus {resources.gpu} --output {output} --log {log}"


# A caption's file name knows no wildcards, so that each table has a rule of its own for figures.
for table in REPRODUCTION.tables:

    rule:
        name:
            f"figures-{table}"
        input:
            figure_inputs(table),
            configuration=f"results/{REPRODUCTION.name}/configuration.json",
        output:
            [
                report(
                    figure_path(figure, table, "png"),
                    caption=f"../report/{figure}.rst",
                    category="Figures",
                    labels={"table": table, "figure": figure},
                )
                for figure in figures_of(table)
            ],
            [
                figure_path(figure, table, ending)
                for figure in figures_of(table)
                for ending in ("pdf", "csv")
            ],
        log:
            f"results/logs/{REPRODUCTION.name}/plot.{table}.log",
        benchmark:
            f"results/benchmarks/{REPRODUCTION.name}/plot.{table}.tsv"
        # A profile's `groups` would need this rule's name. A local dry run lists no groups.
        group:
            "tabulate" if workflow.non_local_exec else None
        conda:
            "../../envs/nmt.yaml"
        threads: 1
        resources:
            mem_mb=memory(900),
            runtime=minutes(10),
        params:
            catalog=in_repository(REPRODUCTION.catalog),
            table=table,
            figures=figures_of(table),
            folder=subpath(output[0], parent=True),
            titles=titles,
        shell:
            f"python {SCRIPTS}/plot.py"
            " --catalog {params.catalog:q} --reproduction {input.configuration}"
            " --table {params.table} --figures {params.figures} --output {params.folder}"
            " --log {log}"


# Translates the dev set many times, so that it is drawn when asked for.
rule search:
    input:
        trained("training.json", REPRODUCTION.tables[FIRST_TABLE].experiments),
        trained("dev.sweep.json", experiments_of(FIRST_TABLE)),
        configuration=f"results/{REPRODUCTION.name}/configuration.json",
    output:
        report(
            f"results/{REPRODUCTION.name}/figures/search.png",
            caption="../report/search.rst",
            category="Figures",
            labels={"figure": "search"},
        ),
        f"results/{REPRODUCTION.name}/figures/search.pdf",
        f"results/{REPRODUCTION.name}/figures/search.csv",
        markdown=f"results/{REPRODUCTION.name}/tables/search.md",
        csv=f"results/{REPRODUCTION.name}/tables/search.csv",
        latex=f"results/{REPRODUCTION.name}/tables/search.tex",
        html=report(
            f"results/{REPRODUCTION.name}/tables/search.html",
            caption="../report/search.rst",
            category="Tables",
            labels={"table": "search"},
        ),
    log:
        f"results/logs/{REPRODUCTION.name}/plot.search.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/plot.search.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(700),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        folder=subpath(output[0], parent=True),
        titles=titles,
    shell:
        f"python {SCRIPTS}/plot.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --figures search --output {params.folder} --log {log}"
        f" && python {SCRIPTS}/typeset.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table search --markdown {output.markdown} --csv {output.csv} --latex {output.latex}"
        " --html {output.html} --log {log}"
