# Tables and figures, with captions for the report.


rule resolve_configuration:
    output:
        "results/{reproduction}/configuration.json",
    log:
        "results/logs/{reproduction}/resolve_configuration.log",
    benchmark:
        "results/benchmarks/{reproduction}/resolve_configuration.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        values=REPRODUCTION.model_dump_json(indent=2),
    threads: 1
    resources:
        mem_mb=100,
        runtime=5,
        gpu=0,
    shell:
        "printf '%s\\n' {params.values:q} >{output} 2>{log}"


rule tabulate:
    input:
        table_inputs,
        configuration="results/{reproduction}/configuration.json",
    output:
        csv="results/{reproduction}/tables/{table}.csv",
        markdown=report(
            "results/{reproduction}/tables/{table}.md",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{table}"},
        ),
        latex="results/{reproduction}/tables/{table}.tex",
    log:
        "results/logs/{reproduction}/tabulate.{table}.log",
    benchmark:
        "results/benchmarks/{reproduction}/tabulate.{table}.tsv"
    conda:
        "../../envs/nmt.yaml"
    params:
        published=[entry.model_dump() for entry in CATALOGUE.published],
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
        gpu=0,
    shell:
        "python src/typeset.py --catalogue {REPRODUCTION.catalogue:q} --reproduction {input.configuration}"
        " --table {wildcards.table} --csv {output.csv} --markdown {output.markdown} --latex {output.latex}"
        " --log {log}"


rule plot:
    input:
        figure_inputs,
        configuration="results/{reproduction}/configuration.json",
    output:
        pdf="results/{reproduction}/figures/{figure}.pdf",
        png=report(
            "results/{reproduction}/figures/{figure}.png",
            caption="../report/{figure}.rst",
            category="Figures",
            labels={"figure": "{figure}"},
        ),
    log:
        "results/logs/{reproduction}/plot.{figure}.log",
    benchmark:
        "results/benchmarks/{reproduction}/plot.{figure}.tsv"
    conda:
        "../../envs/nmt.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
        gpu=0,
    shell:
        "python src/plot.py --catalogue {REPRODUCTION.catalogue:q} --reproduction {input.configuration}"
        " --figure {wildcards.figure} --pdf {output.pdf} --png {output.png} --log {log}"
