# Subwords learned from the training text, and all text as subword ids.

TEXT = "results/corpora/{corpus}/text/{preprocessing}"


rule learn_vocabulary:
    input:
        source=following(f"{TEXT}/train.{CORPUS.source}"),
        target=following(f"{TEXT}/train.{CORPUS.target}"),
        model=initial_model,
    output:
        directory("results/corpora/{corpus}/{vocabulary}/subwords"),
    log:
        "results/logs/{corpus}/{vocabulary}/learn_vocabulary.log",
    benchmark:
        "results/benchmarks/{corpus}/{vocabulary}/learn_vocabulary.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: workflow.cores or 1
    params:
        settings=lambda wildcards: with_content(
            CATALOG.vocabulary(wildcards.vocabulary).chosen(), wildcards
        ),
    shell:
        f"python {SCRIPTS}/learn_vocabulary.py --catalog {CATALOG_PATH}"
        " --vocabulary {wildcards.vocabulary} --source {input.source} --target {input.target}"
        " --model {input.model:q} --output {output} --jobs {threads} 2>> {log}"


rule binarize:
    input:
        subwords="results/corpora/{corpus}/{vocabulary}/subwords",
        source=following(f"{TEXT}/{{split}}.{CORPUS.source}"),
        target=following(f"{TEXT}/{{split}}.{CORPUS.target}"),
    output:
        directory("results/corpora/{corpus}/{vocabulary}/tokens/{split}"),
    log:
        "results/logs/{corpus}/{vocabulary}/binarize.{split}.log",
    benchmark:
        "results/benchmarks/{corpus}/{vocabulary}/binarize.{split}.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: cores_of_a_split
    params:
        limits=lambda wildcards: CATALOG.cleaning(
            wildcards.corpus, wildcards.vocabulary
        ).model_dump(include={"max_length", "max_ratio"}),
    shell:
        f"python {SCRIPTS}/binarize.py --catalog {CATALOG_PATH}"
        " --corpus {wildcards.corpus} --vocabulary {wildcards.vocabulary}"
        " --subwords {input.subwords} --split {wildcards.split}"
        " --source {input.source} --target {input.target}"
        " --output {output} --jobs {threads} 2>> {log}"
