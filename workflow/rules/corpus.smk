# Corpora as plain text, one sentence a line: generated, or extracted from downloads or files.
import hashlib

if CORPUS.generated:

    rule generate:
        input:
            # A checkout gives it a new date; its checksum is below.
            grammar=ancient(in_repository(CORPUS.generated.grammar)),
        output:
            expand(
                "results/corpora/{corpus}/raw/{split}.{language}",
                corpus=REPRODUCTION.corpus,
                split=CORPUS.split_names,
                language=CORPUS.languages.values(),
            ),
        log:
            f"results/logs/{REPRODUCTION.corpus}/generate.log",
        benchmark:
            f"results/benchmarks/{REPRODUCTION.corpus}/generate.tsv"
        conda:
            "../../envs/text.yaml"
        resources:
            mem_mb=memory(200),
            runtime=minutes(10),
        params:
            sha256=hashlib.sha256(
                Path(in_repository(CORPUS.generated.grammar)).read_bytes()
            ).hexdigest(),
            seed=CORPUS.generated.seed,
            source_language=CORPUS.source,
            target_language=CORPUS.target,
            folder=subpath(output[0], parent=True),
            sizes=" ".join(f"--{split} {size}" for split, size in CORPUS.generated.sizes.items()),
        shell:
            f"python {SCRIPTS}/generate.py"
            " --grammar {input.grammar:q} --seed {params.seed} {params.sizes}"
            " --source-language {params.source_language} --target-language {params.target_language}"
            " --output {params.folder} --log {log}"

else:

    # Compute nodes often have no network.
    localrules:
        download,

    rule download:
        output:
            ensure("results/downloads/{archive}", non_empty=True),
        log:
            "results/logs/downloads/{archive}.log",
        benchmark:
            "results/benchmarks/downloads/{archive}.tsv"
        retries: 2
        conda:
            "../../envs/text.yaml"
        resources:
            mem_mb=memory(200),
            runtime=minutes(600),
        params:
            catalog=in_repository(REPRODUCTION.catalog),
            corpus=REPRODUCTION.corpus,
            sha256=lambda wildcards: CORPUS.archives[wildcards.archive].sha256,
        shell:
            f"python {SCRIPTS}/download.py"
            " --catalog {params.catalog:q} --corpus {params.corpus}"
            " --archive {wildcards.archive} --output {output} --log {log}"

    rule extract:
        input:
            text_sources,
        output:
            source=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.source}",
            target=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.target}",
        log:
            "results/logs/{corpus}/extract.{split}.log",
        benchmark:
            "results/benchmarks/{corpus}/extract.{split}.tsv"
        conda:
            "../../envs/text.yaml"
        resources:
            mem_mb=memory(300),
            runtime=minutes(10, per_mb=0.02),
        params:
            catalog=in_repository(REPRODUCTION.catalog),
            parts=text_parts,
        shell:
            f"python {SCRIPTS}/extract.py"
            " --catalog {params.catalog:q} --corpus {wildcards.corpus}"
            " --split {wildcards.split} --archives results/downloads"
            " --source {output.source} --target {output.target} --log {log}"


if CORPUS.cleaning.filters:

    # Only the training text is cleaned.
    rule clean:
        input:
            text_sources,
            test_sources=other_splits(CORPUS.source),
            test_targets=other_splits(CORPUS.target),
        output:
            source=f"results/corpora/{{corpus}}/clean/{{split}}.{CORPUS.source}",
            target=f"results/corpora/{{corpus}}/clean/{{split}}.{CORPUS.target}",
            counts="results/corpora/{corpus}/clean/{split}.json",
        log:
            "results/logs/{corpus}/clean.{split}.log",
        benchmark:
            "results/benchmarks/{corpus}/clean.{split}.tsv"
        conda:
            "../../envs/text.yaml"
        resources:
            mem_mb=memory(1000, per_mb=0.3),
            runtime=minutes(10, per_mb=0.05),
        params:
            catalog=in_repository(REPRODUCTION.catalog),
            parts=text_parts,
            filters=CORPUS.cleaning.filters,
        shell:
            f"python {SCRIPTS}/extract.py"
            " --catalog {params.catalog:q} --corpus {wildcards.corpus}"
            " --split {wildcards.split} --archives results/downloads"
            " --test-sources {input.test_sources} --test-targets {input.test_targets}"
            " --source {output.source} --target {output.target} --counts {output.counts}"
            " --log {log}"


# Vocabularies that ask for the same steps share the text.
rule normalize:
    input:
        cleaned_text,
    output:
        "results/corpora/{corpus}/text/{preprocessing}/{split}.{language}",
    log:
        "results/logs/{corpus}/normalize.{preprocessing}.{split}.{language}.log",
    benchmark:
        "results/benchmarks/{corpus}/normalize.{preprocessing}.{split}.{language}.tsv"
    conda:
        "../../envs/text.yaml"
    threads: cores_of_a_split
    resources:
        mem_mb=memory(1000),
        runtime=minutes(10, per_mb=0.02),
    params:
        steps=lambda wildcards: PREPROCESSING[wildcards.preprocessing],
    shell:
        f"python {SCRIPTS}/normalize.py"
        " --language {wildcards.language} --steps {params.steps} --input {input} --output {output}"
        " --jobs {threads} --log {log}"
