# Pages that need nothing but a browser, and the checksums of all that was made.


rule make_explorer:
    input:
        first_seed("attention.json", single_models(REPRODUCTION.tables[FIRST_TABLE].experiments)),
    output:
        "results/{reproduction}/explorer.html",
    log:
        "results/logs/{reproduction}/explore.log",
    benchmark:
        "results/benchmarks/{reproduction}/explore.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        title=lambda wildcards: REPRODUCTION.title,
    shell:
        f"python {SCRIPTS}/explore.py"
        " --recorded {input} --title {params.title:q} --output {output} 2>> {log}"


rule make_translations_page:
    input:
        translations=lambda wildcards: [
            files[0] for files in translations_of_a_table(wildcards).values()
        ],
        source=text_of_a_table(CORPUS.source),
        references=text_of_a_table(CORPUS.target),
        configuration="results/{reproduction}/configuration.json",
    output:
        "results/{reproduction}/translations-{table}.html",
    log:
        "results/logs/{reproduction}/browse.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/browse.{table}.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        titles=titles,
    shell:
        f"python {SCRIPTS}/browse.py --catalog {CATALOG_FOLDER}"
        " --reproduction {input.configuration} --table {wildcards.table}"
        " --translations {input.translations} --source {input.source}"
        " --references {input.references} --output {output} 2>> {log}"


rule make_index:
    input:
        [table_files(table) for table in (*REPRODUCTION.default_tables, "complexity", "corpora")],
        [figure_files(figure) for figure in figures_of(REPRODUCTION.default_tables)],
        translations_pages(),
        explorer="results/{reproduction}/explorer.html",
        configuration="results/{reproduction}/configuration.json",
    output:
        "results/{reproduction}/index.html",
    log:
        "results/logs/{reproduction}/publish.log",
    benchmark:
        "results/benchmarks/{reproduction}/publish.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        titles=titles,
    shell:
        f"python {SCRIPTS}/publish.py --catalog {CATALOG_FOLDER}"
        " --reproduction {input.configuration} --output {output} 2>> {log}"


# With the first model of each family that has self-attention, a Transformer first
rule make_lecture:
    input:
        run_files("training.json", REPRODUCTION.tables[FIRST_TABLE].experiments),
        run_files("metrics.jsonl", REPRODUCTION.tables[FIRST_TABLE].experiments),
        models=first_seed("model", taught_rows()),
        tokens=token_folders("dev", taught_rows()[:1]),
        configuration="results/{reproduction}/configuration.json",
    output:
        "results/{reproduction}/lecture.html",
    log:
        "results/logs/{reproduction}/lecture.log",
    benchmark:
        "results/benchmarks/{reproduction}/lecture.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        titles=titles,
    shell:
        f"python {SCRIPTS}/lecture.py --catalog {CATALOG_FOLDER}"
        " --reproduction {input.configuration} --model {input.models} --tokens {input.tokens}"
        " --output {output} --threads {threads} 2>> {log}"


# `sha256sum --check` verifies a copy of the results with it. The index comes last of all else.
rule write_checksums:
    input:
        "results/{reproduction}/index.html",
    output:
        "results/{reproduction}/SHA256SUMS",
    log:
        "results/logs/{reproduction}/checksums.log",
    conda:
        "../../envs/nmt.yaml"
    params:
        files=models_and_translations(),
        folder=subpath(input[0], parent=True),
    shell:
        "(find {params.files} {params.folder} -type f ! -name SHA256SUMS -print0 | sort -zu"
        " | xargs -0 sha256sum) > {output} 2> {log}"
