# Corpora as plain text, one sentence a line: generated, or extracted from downloads or files.


if CORPUS.generated:

    rule generate_corpus:
        input:
            ROOT / CORPUS.generated.grammar,
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
            "../../envs/nmt.yaml"
        params:
            contents=checksums([CORPUS.generated.grammar]),
            settings=CORPUS.generated.model_dump(),
            folder=subpath(output[0], parent=True),
        shell:
            f"python {SCRIPTS}/generate.py --catalog {CATALOG_PATH}"
            f" --corpus {REPRODUCTION.corpus} --output {{params.folder}} 2>> {{log}}"

else:

    # Without one, download.py looks at NMT_MIRROR.
    MIRROR = f"--mirror {shlex.quote(REPRODUCTION.mirror)}" if REPRODUCTION.mirror else ""

    # Compute nodes often have no network.
    rule download:
        output:
            ensure("results/downloads/{archive}", non_empty=True),
        log:
            "results/logs/downloads/{archive}.log",
        benchmark:
            "results/benchmarks/downloads/{archive}.tsv"
        retries: 2
        localrule: True
        conda:
            "../../envs/nmt.yaml"
        params:
            corpus=REPRODUCTION.corpus,
            sha256=lambda wildcards: CORPUS.archives[wildcards.archive].sha256,
        shell:
            f"python {SCRIPTS}/download.py"
            f" --catalog {CATALOG_PATH} {MIRROR}"
            " --corpus {params.corpus} --archive {wildcards.archive} --output {output} 2>> {log}"

    rule extract_text:
        input:
            sources_of_a_split,
            held_back_sources=lambda wildcards: held_back(wildcards, CORPUS.source),
            held_back_targets=lambda wildcards: held_back(wildcards, CORPUS.target),
        output:
            source=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.source}",
            target=f"results/corpora/{{corpus}}/raw/{{split}}.{CORPUS.target}",
            counts="results/corpora/{corpus}/raw/{split}.json",
        log:
            "results/logs/{corpus}/extract.{split}.log",
        benchmark:
            "results/benchmarks/{corpus}/extract.{split}.tsv"
        conda:
            "../../envs/nmt.yaml"
        params:
            parts=parts_of_a_split,
            contents=lambda wildcards: checksums(CORPUS.sources_of(wildcards.split)[1]),
            filters=lambda wildcards: CORPUS.filters_of(wildcards.split),
        shell:
            f"python {SCRIPTS}/extract.py --catalog {CATALOG_PATH}"
            " --corpus {wildcards.corpus} --split {wildcards.split} --archives results/downloads"
            " --test-sources {input.held_back_sources} --test-targets {input.held_back_targets}"
            " --source {output.source} --target {output.target} --counts {output.counts}"
            " 2>> {log}"


# Vocabularies that ask for the same steps share the text.
rule normalize_text:
    input:
        "results/corpora/{corpus}/raw/{split}.{language}",
    output:
        "results/corpora/{corpus}/text/{preprocessing}/{split}.{language}",
    log:
        "results/logs/{corpus}/normalize.{preprocessing}.{split}.{language}.log",
    benchmark:
        "results/benchmarks/{corpus}/normalize.{preprocessing}.{split}.{language}.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: cores_of_a_split
    params:
        steps=lambda wildcards: PREPROCESSING[wildcards.preprocessing],
    shell:
        f"python {SCRIPTS}/normalize.py"
        " --language {wildcards.language} --steps {params.steps} --input {input} --output {output}"
        " --jobs {threads} 2>> {log}"
