"""The threads, memory, time and GPUs that rules ask for."""

import math

from nmt.configuration import parameters_at_most, training_megabytes

# On a cluster, a job runs two processes of snakemake, of 130 MB each, beside its script.
SNAKEMAKE_MB = 300


def cores_of_a_split(wildcards):
    """Return all cores for the training text, one for other splits, which take seconds.

    A cluster's profile overrides it.
    """
    return workflow.cores or 1 if wildcards.split == "train" else 1


def threads_of_a_run():
    """Return the threads with which all runs share the machine; a cluster's profile overrides it.

    Side by side with one core each, runs finish sooner than one after the other with all cores.
    """
    return max(1, (workflow.cores or 1) // max(1, len(trained("", ROWS))))


def memory(base, per_mb=0, per_parameter=0, most=math.inf):
    """Return a function for a job's mem_mb, which grows with each attempt.

    It adds SNAKEMAKE_MB to what the script needs:
    base: megabytes of the smallest job. per_mb: megabytes for each megabyte of input (folders
    count 0). per_parameter: bytes for each parameter of the model. most: an upper bound of the sum.
    """

    def mem_mb(wildcards, input, attempt):
        # Before the inputs are there, a dry run shows what does not depend on them.
        needed = base + (per_mb * input.size_mb if per_mb else 0)
        if per_parameter:
            needed += per_parameter * parameters_of(wildcards) / 1e6
        return math.ceil(SNAKEMAKE_MB + attempt * min(needed, most))

    return mem_mb


def minutes(base, per_mb=0):
    """Return a function for a job's runtime, which grows with input and with each attempt."""

    def runtime(wildcards, input, attempt):
        return math.ceil(attempt * (base + (per_mb * input.size_mb if per_mb else 0)))

    return runtime


def parameters_of(wildcards):
    """Return an upper bound for the number of parameters of all models that a job loads."""
    row = wildcards.get("experiment") or wildcards.row
    members = CATALOG.ensembles[row].members if row in CATALOG.ensembles else {row: [0]}
    experiments = [CATALOG.experiment(name) for name, seeds in members.items() for _ in seeds]
    return sum(
        parameters_at_most(member, CATALOG.vocabulary(member.vocabulary)) for member in experiments
    )


def training_memory(wildcards, input, attempt):
    """Return a training's mem_mb on each of its nodes, which grows with each attempt."""
    tokens_mb = sum(file.stat().st_size for file in Path(input.tokens).glob("*")) / 1e6
    needed = training_megabytes(parameters_of(wildcards), experiment(wildcards).training, tokens_mb)
    return math.ceil(SNAKEMAKE_MB + attempt * needed * math.ceil(PROCESSES / NODES))


# What the command line or a profile sets for training, as in set-resources
SET_FOR_TRAINING = workflow.resource_settings.overwrite_resources.get("train", {})


def training_resource(name, default):
    """Return a number that is set for training, or the default."""
    return SET_FOR_TRAINING[name].value if name in SET_FOR_TRAINING else default


# The GPUs of a training on all of its nodes, and its processes: one for each GPU, at least one
# for each node
GPUS = training_resource("gpu", 0)
NODES = training_resource("nodes", 1)
PROCESSES = max(training_resource("processes", 1), GPUS, NODES)


def trainings_at_once():
    """Return how many trainings run side by side on the GPUs, or without any on the cores."""
    if GPUS:
        available = workflow.global_resources.get("gpu")
        limit = available.value if available else None  # a cluster's profile sets none
        return max(1, (limit or GPUS) // GPUS)
    return max(1, (workflow.cores or 1) // threads_of_a_run())


def launcher():
    """Return the command that starts train.py: python, or launch.py for several processes."""
    if PROCESSES == 1:
        return "python"
    start = f"python {SCRIPTS}/launch.py --processes {PROCESSES} --nodes {NODES}"
    return lambda wildcards, threads: f"{start} --threads {threads} --"


def mpi_of_a_training():
    """Return the resources with which SLURM's plugin leaves it to the job to call srun."""
    if PROCESSES == 1:
        return {}
    tasks = {"mpi": "srun", "nodes": NODES, "tasks": PROCESSES}
    return tasks | {"tasks_per_gpu": 1} if GPUS else tasks
