# AIAYN's Table 1: the layer types' complexity, and their time and memory as measured here.


rule typeset_complexity:
    input:
        configuration=f"results/{REPRODUCTION.name}/configuration.json",
    output:
        markdown=f"results/{REPRODUCTION.name}/tables/complexity.md",
        csv=f"results/{REPRODUCTION.name}/tables/complexity.csv",
        latex=f"results/{REPRODUCTION.name}/tables/complexity.tex",
        html=report(
            f"results/{REPRODUCTION.name}/tables/complexity.html",
            caption="../report/complexity.rst",
            category="Tables",
            labels={"table": "complexity"},
        ),
    log:
        f"results/logs/{REPRODUCTION.name}/typeset.complexity.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/typeset.complexity.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(900),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
    shell:
        f"python {SCRIPTS}/typeset.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table complexity --markdown {output.markdown} --csv {output.csv} --latex {output.latex}"
        " --html {output.html} --log {log}"


# Time and memory of AIAYN's layer types on this machine, alone on all of its cores, when asked for.
rule measure_layers:
    output:
        f"results/{REPRODUCTION.name}/layers.csv",
    log:
        f"results/logs/{REPRODUCTION.name}/measure_layers.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/measure_layers.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: workflow.cores or 1
    resources:
        mem_mb=memory(2000),
        gpu=0,
        runtime=minutes(20),
    shell:
        f"python {SCRIPTS}/measure_layers.py"
        " --threads {threads} --gpus {resources.gpu} --output {output} --log {log}"


rule layers:
    input:
        f"results/{REPRODUCTION.name}/layers.csv",
        configuration=f"results/{REPRODUCTION.name}/configuration.json",
    output:
        report(
            f"results/{REPRODUCTION.name}/figures/layers.png",
            caption="../report/layers.rst",
            category="Figures",
            labels={"figure": "layers"},
        ),
        f"results/{REPRODUCTION.name}/figures/layers.pdf",
        f"results/{REPRODUCTION.name}/figures/layers.csv",
        markdown=f"results/{REPRODUCTION.name}/tables/layers.md",
        csv=f"results/{REPRODUCTION.name}/tables/layers.csv",
        latex=f"results/{REPRODUCTION.name}/tables/layers.tex",
        html=report(
            f"results/{REPRODUCTION.name}/tables/layers.html",
            caption="../report/layers.rst",
            category="Tables",
            labels={"table": "layers"},
        ),
    log:
        f"results/logs/{REPRODUCTION.name}/plot.layers.log",
    benchmark:
        f"results/benchmarks/{REPRODUCTION.name}/plot.layers.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=memory(900),
        runtime=minutes(10),
    params:
        catalog=in_repository(REPRODUCTION.catalog),
        folder=subpath(output[0], parent=True),
    shell:
        f"python {SCRIPTS}/plot.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --figures layers --output {params.folder} --log {log}"
        f" && python {SCRIPTS}/typeset.py"
        " --catalog {params.catalog:q} --reproduction {input.configuration}"
        " --table layers --markdown {output.markdown} --csv {output.csv} --latex {output.latex}"
        " --html {output.html} --log {log}"
