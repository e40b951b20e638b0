# A run is an experiment on a corpus with a seed. Training keeps its state in a folder that no rule
# declares, because snakemake deletes the declared outputs of a job that was interrupted.


rule train:
    input:
        tokens=following("results/corpora/{corpus}/{vocabulary}/tokens/train"),
        dev_tokens=following("results/corpora/{corpus}/{vocabulary}/tokens/dev"),
        subwords=following("results/corpora/{corpus}/{vocabulary}/subwords"),
        dev_reference=f"results/corpora/{{corpus}}/raw/dev.{CORPUS.target}",
        initial=initial_model,
    output:
        training="results/runs/{corpus}/{experiment}/seed-{seed}/training.json",
        metrics="results/runs/{corpus}/{experiment}/seed-{seed}/metrics.jsonl",
        checkpoints=directory("results/runs/{corpus}/{experiment}/seed-{seed}/checkpoints"),
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/train.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/train.tsv"
    retries: 0
    conda:
        "../../envs/nmt.yaml"
    threads: THREADS
    resources:
        **mpi_of_a_training(),
        gpu=GPUS,
        device_tokens=0,  # as many as the batch has
        compile=1,  # 0: not even where a GPU computes packed sentences
    params:
        folder=subpath(output.training, parent=True),
        # Only to train again when they have changed: train.py reads them in the catalog.
        model=lambda wildcards: EXPERIMENTS[wildcards.experiment].model.chosen(),
        training=lambda wildcards: with_content(
            EXPERIMENTS[wildcards.experiment].training.chosen(), wildcards
        ),
    # By exec no shell is left between, which a signal would end before its training.
    shell:
        f"exec sh {LAUNCH} {PROCESSES} {NODES} {{threads}} {SCRIPTS}/train.py --catalog {CATALOG_PATH}"
        " --corpus {wildcards.corpus} --experiment {wildcards.experiment} --seed {wildcards.seed}"
        " --tokens {input.tokens} --dev-tokens {input.dev_tokens}"
        " --dev-reference {input.dev_reference} --subwords {input.subwords}"
        " --output {params.folder} --threads {threads} --gpus {resources.gpu}"
        " --device-tokens {resources.device_tokens} --compile {resources.compile}"
        " --initialize-from {input.initial:q} 2>> {log}"


rule average_checkpoints:
    input:
        training=following("results/runs/{corpus}/{trained_as}/seed-{seed}/training.json"),
        checkpoints=following("results/runs/{corpus}/{trained_as}/seed-{seed}/checkpoints"),
        subwords=following("results/corpora/{corpus}/{vocabulary}/subwords"),
    output:
        directory("results/runs/{corpus}/{experiment}/seed-{seed}/model"),
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/average.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/average.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        # Only to run again when they have changed: average.py reads them in the catalog.
        training=lambda wildcards: EXPERIMENTS[wildcards.experiment].training.chosen(),
        decoding=lambda wildcards: EXPERIMENTS[wildcards.experiment].decoding.chosen(),
        card=lambda wildcards: [
            EXPERIMENTS[wildcards.experiment].title,
            CORPUS.title,
            CORPUS.license,
        ],
    shell:
        f"python {SCRIPTS}/average.py --catalog {CATALOG_PATH}"
        " --corpus {wildcards.corpus} --experiment {wildcards.experiment}"
        " --checkpoints {input.checkpoints} --training {input.training}"
        " --subwords {input.subwords} --output {output} 2>> {log}"


rule measure_perplexity:
    input:
        model="results/runs/{corpus}/{experiment}/seed-{seed}/model",
        tokens=following("results/corpora/{corpus}/{vocabulary}/tokens/dev"),
    output:
        "results/runs/{corpus}/{experiment}/seed-{seed}/dev.perplexity.json",
    log:
        "results/logs/{corpus}/{experiment}/seed-{seed}/perplexity.log",
    benchmark:
        "results/benchmarks/{corpus}/{experiment}/seed-{seed}/perplexity.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: THREADS
    resources:
        gpu=min(GPUS, 1),
    shell:
        f"python {SCRIPTS}/perplexity.py"
        " --model {input.model} --tokens {input.tokens} --output {output}"
        " --threads {threads} --gpus {resources.gpu} 2>> {log}"


# What the trainings will take, before they run. Without outputs, as it may be asked again.
rule plan:
    input:
        token_folders(["train"], ROWS),
        configuration=f"results/{REPRODUCTION.name}/configuration.json",
    log:
        f"results/logs/{REPRODUCTION.name}/plan.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/plan.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: workflow.cores or 1
    shell:
        f"python {SCRIPTS}/plan.py --catalog {CATALOG_PATH} --threads {THREADS}"
        f" --at-once {max(1, (workflow.cores or 1) // THREADS)} --corpora results/corpora"
        " --reproduction {input.configuration}"
        f" > results/{REPRODUCTION.name}/plan.md 2>> {{log}}"
