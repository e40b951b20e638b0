# Pages that need nothing but a browser: all on one, attention, translations.


rule explore:
    input:
        recorded_attention(),
    output:
        "results/{reproduction}/explorer.html",
    log:
        "results/logs/{reproduction}/explore.log",
    benchmark:
        "results/benchmarks/{reproduction}/explore.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        title=lambda wildcards: REPRODUCTION.title,
    shell:
        f"python {SCRIPTS}/explore.py"
        " --recorded {input} --title {params.title:q} --output {output} --log {log}"


rule browse:
    input:
        translations=first_translations_of_a_table,
        source=lambda wildcards: f"results/corpora/{REPRODUCTION.corpus}/raw/"
        f"{REPRODUCTION.tables[wildcards.table].split}.{CORPUS.source}",
        references=lambda wildcards: f"results/corpora/{REPRODUCTION.corpus}/raw/"
        f"{REPRODUCTION.tables[wildcards.table].split}.{CORPUS.target}",
        significance="results/{reproduction}/tables/{table}.significance.json",
        configuration="results/{reproduction}/configuration.json",
    output:
        "results/{reproduction}/translations-{table}.html",
    log:
        "results/logs/{reproduction}/browse.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/browse.{table}.tsv"
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
        f"python {SCRIPTS}/browse.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table {wildcards.table} --translations {input.translations} --source {input.source}"
        " --references {input.references} --significance {input.significance}"
        " --output {output} --log {log}"


rule publish:
    input:
        tables(),
        figures(),
        translation_pages(),
        default_models(),
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
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        captions=in_repository("workflow/report"),
        titles=titles,
    shell:
        f"python {SCRIPTS}/publish.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --captions {params.captions:q} --output {output} --log {log}"


rule trace:
    input:
        default_models(),
        index="results/{reproduction}/index.html",
        configuration="results/{reproduction}/configuration.json",
    output:
        "results/{reproduction}/manifest.json",
    log:
        "results/logs/{reproduction}/trace.log",
    benchmark:
        "results/benchmarks/{reproduction}/trace.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(15),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
    shell:
        f"python {SCRIPTS}/trace.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --output {output} --log {log}"


rule set_article:
    input:
        tables(),
        figures(),
        index="results/{reproduction}/index.html",
        configuration="results/{reproduction}/configuration.json",
    output:
        pdf="results/{reproduction}/article.pdf",
        text="results/{reproduction}/article.tex",
    log:
        "results/logs/{reproduction}/set_article.log",
    benchmark:
        "results/benchmarks/{reproduction}/set_article.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(500),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        captions=in_repository("workflow/report"),
        titles=titles,
    shell:
        f"python {SCRIPTS}/set_article.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --captions {params.captions:q} --output {output.pdf} --log {log}"


rule article:
    input:
        f"results/{REPRODUCTION.name}/article.pdf",
