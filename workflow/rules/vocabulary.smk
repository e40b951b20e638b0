# Subwords learned from the training text, and all text as subword ids.


rule learn_vocabulary:
    input:
        source=text_file(CORPUS.source, split="train"),
        target=text_file(CORPUS.target, split="train"),
    output:
        directory("results/corpora/{corpus}/{vocabulary}/subwords"),
    log:
        "results/logs/{corpus}/{vocabulary}/learn_vocabulary.log",
    benchmark:
        "results/benchmarks/{corpus}/{vocabulary}/learn_vocabulary.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: workflow.cores or 1
    resources:
        mem_mb=memory(700, per_mb=3, most=6000),
        runtime=minutes(20, per_mb=0.03),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        vocabulary=lambda wildcards: former_spelling(
            CATALOG.vocabulary(wildcards.vocabulary).chosen()
        ),
    shell:
        f"python {SCRIPTS}/learn_vocabulary.py"
        " --catalog {params.catalog:q} --vocabulary {wildcards.vocabulary}"
        " --source {input.source} --target {input.target} --output {output} --jobs {threads}"
        " --log {log}"


rule binarize:
    input:
        subwords="results/corpora/{corpus}/{vocabulary}/subwords",
        source=text_file(CORPUS.source),
        target=text_file(CORPUS.target),
    output:
        directory("results/corpora/{corpus}/{vocabulary}/tokens/{split}"),
    log:
        "results/logs/{corpus}/{vocabulary}/binarize.{split}.log",
    benchmark:
        "results/benchmarks/{corpus}/{vocabulary}/binarize.{split}.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: cores_of_a_split
    resources:
        mem_mb=memory(2500),
        runtime=minutes(10, per_mb=0.02),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        cleaning=CORPUS.cleaning.of_subwords,
        max_length=lambda wildcards: CATALOG.vocabulary(wildcards.vocabulary).max_length,
    shell:
        f"python {SCRIPTS}/binarize.py"
        " --catalog {params.catalog:q} --corpus {wildcards.corpus}"
        " --vocabulary {wildcards.vocabulary} --subwords {input.subwords}"
        " --split {wildcards.split} --source {input.source} --target {input.target}"
        " --output {output} --jobs {threads} --log {log}"
