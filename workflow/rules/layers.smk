# AIAYN's Table 1: the layer types' complexity.


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
