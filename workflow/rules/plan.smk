# What the reproduction's trainings will take, before they run: `snakemake plan`.


# Without outputs, as those would be there the second time: it is asked again after some have run.
rule plan:
    input:
        f"results/{REPRODUCTION.name}/configuration.json",
    log:
        f"results/logs/{REPRODUCTION.name}/plan.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/plan.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: workflow.cores or 1
    resources:
        mem_mb=memory(6000),
        runtime=minutes(60),
        gpu=min(1, GPUS),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        report=f"results/{REPRODUCTION.name}/plan.md",
        hours=f"results/{REPRODUCTION.name}/plan.csv",
        threads=threads_of_a_run(),
        devices=trainings_at_once(),
    shell:
        f"python {SCRIPTS}/plan.py --reproduction {{input}} --catalog {{params.catalog:q}}"
        " --threads {params.threads} --devices {params.devices} --gpus {resources.gpu}"
        " --output {params.report} --csv {params.hours} --log {log}"
