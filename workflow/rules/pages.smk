# Pages that need nothing but a browser, and the checksums of all that was made.


rule make_index:
    input:
        tables_and_figures([*DEFAULT_TABLES, "complexity", "corpora"]),
        translations_and_texts(),
        first_seed("attention.json", single_models(TABLES[FIRST_TABLE].experiments)),
        configuration="results/{reproduction}/configuration.json",
    output:
        [
            f"results/{{reproduction}}/translations-{name}.html"
            for name, table in DEFAULT_TABLES.items()
            if table.compared
        ],
        *["results/{reproduction}/explorer.html"]
        * bool(single_models(TABLES[FIRST_TABLE].experiments)),
        index=report(
            "results/{reproduction}/index.html",
            caption="../report/index.rst",
            category="Tables",
        ),
    log:
        "results/logs/{reproduction}/publish.log",
    benchmark:
        "results/benchmarks/{reproduction}/publish.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        shown=shown,
    shell:
        f"python {SCRIPTS}/publish.py --catalog {CATALOG_PATH}"
        " --reproduction {input.configuration} --output results/{wildcards.reproduction} 2>> {log}"


# With the first model of each family that has self-attention, a Transformer first
rule make_lecture:
    input:
        run_files("training.json", TABLES[FIRST_TABLE].experiments),
        run_files("metrics.jsonl", TABLES[FIRST_TABLE].experiments),
        models=first_seed("model", taught_rows()),
        tokens=token_folders(["dev"], taught_rows()[:1]),
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
        shown=shown,
    shell:
        f"python {SCRIPTS}/lecture.py --catalog {CATALOG_PATH}"
        " --reproduction {input.configuration} --model {input.models} --tokens {input.tokens}"
        " --output {output} --threads {threads} 2>> {log}"


# `sha256sum --check` verifies a copy of the results with it.
rule write_checksums:
    input:
        rules.make_index.output,
        tables_and_figures([*DEFAULT_TABLES, "complexity", "corpora"]),
    output:
        "results/{reproduction}/SHA256SUMS",
    log:
        "results/logs/{reproduction}/checksums.log",
    conda:
        "../../envs/nmt.yaml"
    params:
        files=models_and_translations(),
    shell:
        "(find {input} {params.files} -type f -print0 | sort -zu | xargs -0 sha256sum) > {output}"
        " 2> {log}"
