# How fast the rows of the reproduction train on this machine; made only when asked for.

BENCHMARKED = [row for row in ROWS if row not in CATALOG.ensembles]


rule benchmark_training:
    input:
        [
            f"results/corpora/{REPRODUCTION.corpus}/"
            f"{CATALOG.experiment(row).vocabulary}/tokens/train"
            for row in BENCHMARKED
        ],
    output:
        csv=f"results/benchmark/{REPRODUCTION.name}.csv",
        markdown=f"results/benchmark/{REPRODUCTION.name}.md",
        pdf=f"results/benchmark/{REPRODUCTION.name}.pdf",
        png=f"results/benchmark/{REPRODUCTION.name}.png",
    log:
        f"results/logs/{REPRODUCTION.name}/benchmark_training.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/benchmark_training.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: workflow.cores or 1
    resources:
        mem_mb=memory(6000),
        runtime=minutes(240),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        rows=BENCHMARKED,
        settings=[settings_of(row) for row in BENCHMARKED],
    shell:
        f"python {SCRIPTS}/benchmark_training.py"
        " --catalog {params.catalog:q}"
        " --experiments {params.rows} --tokens {input} --threads {threads}"
        " --csv {output.csv} --markdown {output.markdown} --pdf {output.pdf} --png {output.png}"
        " --log {log}"
