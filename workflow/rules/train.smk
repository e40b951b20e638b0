# A run is an experiment on a corpus with a seed. Training keeps its state in a folder that no rule
# declares, because snakemake deletes the declared outputs of a job that was interrupted.


rule train:
    input:
        tokens=vocabulary_file("tokens/train"),
        dev_tokens=vocabulary_file("tokens/dev"),
        subwords=vocabulary_file("subwords"),
        dev_reference=f"results/corpora/{{corpus}}/raw/dev.{CORPUS.target}",
    output:
        training="results/runs/{corpus}/{experiment}/seed-{seed}/training.json",
        metrics="results/runs/{corpus}/{experiment}/seed-{seed}/metrics.jsonl",
        checkpoints=directory("results/runs/{corpus}/{experiment}/seed-{seed}/checkpoints"),
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/train.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/train.tsv"
    wildcard_constraints:
        experiment="|".join(
            re.escape(name)
            for name, experiment in CATALOG.experiments.items()
            if experiment.trained_as is None
        ),
    retries: 0
    conda:
        "../../envs/nmt.yaml"
    threads: threads_of_a_run()
    resources:
        **mpi_of_a_training(),
        mem_mb=training_memory,
        runtime=1440,
        gpu=GPUS,
        launcher=launcher(),
        device_tokens=0,  # as many as the batch has
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        folder=subpath(output.training, parent=True),
        # train.py reads both from the catalog; as params they make snakemake train again when they
        # change. `chosen` are the settings that differ from the defaults, with the keys that they
        # had before renames, so that older runs stay valid.
        model=lambda wildcards: former_spelling(experiment(wildcards).model.chosen()),
        training=lambda wildcards: former_spelling(experiment(wildcards).training.chosen()),
    shell:
        "{resources.launcher} "
        f"{SCRIPTS}/train.py"
        " --catalog {params.catalog:q} --corpus {wildcards.corpus}"
        " --experiment {wildcards.experiment} --seed {wildcards.seed} --tokens {input.tokens}"
        " --dev-tokens {input.dev_tokens} --dev-reference {input.dev_reference}"
        " --subwords {input.subwords}"
        " --output {params.folder} --threads {threads} --gpus {resources.gpu}"
        " --device-tokens {resources.device_tokens} --log {log}"


rule share_training:
    input:
        training=shared_training("training.json"),
        metrics=shared_training("metrics.jsonl"),
        checkpoints=shared_training("checkpoints"),
    output:
        training="results/runs/{corpus}/{experiment}/seed-{seed}/training.json",
        metrics="results/runs/{corpus}/{experiment}/seed-{seed}/metrics.jsonl",
        checkpoints=directory("results/runs/{corpus}/{experiment}/seed-{seed}/checkpoints"),
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/share_training.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/share_training.tsv"
    wildcard_constraints:
        experiment="|".join(
            re.escape(name)
            for name, experiment in CATALOG.experiments.items()
            if experiment.trained_as  # where none is, the wildcard still needs a pattern
        )
        or "none",
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(600),
        runtime=minutes(10),
    params:
        run=subpath(input.training, parent=True),
        folder=subpath(output.training, parent=True),
    shell:
        f"python {SCRIPTS}/share_training.py"
        " --run {params.run} --output {params.folder} --log {log}"


rule average:
    input:
        training="results/runs/{corpus}/{experiment}/seed-{seed}/training.json",
        checkpoints="results/runs/{corpus}/{experiment}/seed-{seed}/checkpoints",
        subwords=vocabulary_file("subwords"),
    output:
        directory("results/runs/{corpus}/{experiment}/seed-{seed}/model"),
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/average.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/average.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(600, per_parameter=25),
        runtime=minutes(20),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        # Only to run again when they have changed: average.py reads them in the catalog.
        settings=lambda wildcards: settings_of(wildcards.experiment),
    shell:
        f"python {SCRIPTS}/average.py"
        " --catalog {params.catalog:q} --corpus {wildcards.corpus}"
        " --experiment {wildcards.experiment} --checkpoints {input.checkpoints}"
        " --training {input.training}"
        " --subwords {input.subwords} --output {output} --log {log}"


rule perplexity:
    input:
        model="results/runs/{corpus}/{experiment}/seed-{seed}/model",
        tokens=vocabulary_file("tokens/dev"),
    output:
        "results/runs/{corpus}/{experiment}/seed-{seed}/dev.perplexity.json",
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/perplexity.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/perplexity.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: threads_of_a_run()
    resources:
        mem_mb=memory(800, per_parameter=8),
        gpu=0,
        runtime=minutes(30),
    shell:
        f"python {SCRIPTS}/perplexity.py"
        " --model {input.model} --tokens {input.tokens} --output {output}"
        " --threads {threads} --gpus {resources.gpu} --log {log}"
