# Translations of plain text by plain text, their scores, and what a model attends to.


rule translate:
    input:
        models=models,
        source=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.source}",
    output:
        "results/runs/{corpus}/{row}/{run}/{split}.translations.txt",
    log:
        "results/logs/{corpus}/{row}/{run}/translate.{split}.log",
    benchmark:
        "results/benchmarks/{corpus}/{row}/{run}/translate.{split}.tsv"
    wildcard_constraints:
        row=alternatives([row for row in REPRODUCTION.experiments if row not in ELSEWHERE]),
    conda:
        "../../envs/nmt.yaml"
    threads: THREADS
    resources:
        gpu=min(GPUS, 1),
    shell:
        f"python {SCRIPTS}/translate.py"
        " --model {input.models} --input {input.source} --output {output}"
        " --threads {threads} --gpus {resources.gpu} 2>> {log}"


rule take_translations:
    input:
        lambda wildcards: made_or_own(
            CATALOG.ensembles[wildcards.row].translations[wildcards.split]
        ),
    output:
        "results/runs/{corpus}/{row}/ensemble/{split}.translations.txt",
    log:
        "results/logs/{corpus}/{row}/take_translations.{split}.log",
    wildcard_constraints:
        row=alternatives(ELSEWHERE),
    localrule: True
    conda:
        "../../envs/nmt.yaml"
    params:
        contents=lambda wildcards, input: checksums(input),
    shell:
        "cp {input:q} {output} 2> {log}"


rule score:
    input:
        translations="results/runs/{corpus}/{row}/{run}/{split}.translations.txt",
        references=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.target}",
        sources=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.source}",
        subwords=subwords_of_a_score,
    output:
        "results/runs/{corpus}/{row}/{run}/{split}.scores.json",
    log:
        "results/logs/{corpus}/{row}/{run}/score.{split}.log",
    benchmark:
        "results/benchmarks/{corpus}/{row}/{run}/score.{split}.tsv"
    conda:
        "../../envs/nmt.yaml"
    shell:
        f"python {SCRIPTS}/score.py --target-language {CORPUS.target}"
        " --translations {input.translations} --references {input.references}"
        " --sources {input.sources}"
        " --subwords {input.subwords} --output {output} 2>> {log}"


rule record_attention:
    input:
        model="results/runs/{corpus}/{experiment}/seed-{seed}/model",
        source=f"results/corpora/{{corpus}}/raw/dev.{CORPUS.source}",
        references=f"results/corpora/{{corpus}}/raw/dev.{CORPUS.target}",
    output:
        "results/runs/{corpus}/{experiment}/seed-{seed}/attention.json",
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/attend.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/attend.tsv"
    conda:
        "../../envs/nmt.yaml"
    resources:
        gpu=min(GPUS, 1),
    params:
        sentence=lambda wildcards: REPRODUCTION.attention,
    shell:
        f"python {SCRIPTS}/attend.py"
        " --model {input.model} --sentence {params.sentence:q} --source {input.source}"
        " --references {input.references}"
        " --threads {threads} --gpus {resources.gpu} --output {output} 2>> {log}"
