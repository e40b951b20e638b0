# What the reproduction's trainings will take, before they run: `snakemake plan`.


# Without outputs, as those would be there the second time: another machine may be asked.
rule plan:
    input:
        token_folders(),
        configuration=f"results/{REPRODUCTION.name}/configuration.json",
    log:
        f"results/logs/{REPRODUCTION.name}/plan.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/plan.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: threads_of_a_run()
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=min(1, GPUS),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        report=f"results/{REPRODUCTION.name}/plan.md",
        at_once=trainings_at_once(),
    shell:
        f"python {SCRIPTS}/plan.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --corpora results/corpora --threads {threads} --at-once {params.at_once}"
        " --output {params.report} --log {log}"
