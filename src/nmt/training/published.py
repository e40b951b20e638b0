"""What a finished training leaves: checkpoints, metrics.jsonl and training.json."""

from pathlib import Path

from nmt.configuration import Training, present_spelling, validated
from nmt.errors import UserError
from nmt.files import atomic_write, link, read_json, write_json

# Of training.json
TRAINING_REMEDY = (
    "delete it and run snakemake, which makes it again from the run's state in seconds"
)
CHECKPOINTS_REMEDY = (
    "delete {folder} and run snakemake, or train.py, which take them from the run's state-* folder"
    " in seconds; where they are not there either, delete the whole folder of the run, to train"
    " again from the first update"
)


def publish_run(output: Path, checkpoints: list[Path], metrics: Path, training: dict) -> None:
    """Write the results of a run: checkpoints (as hard links), metrics and, last, training.json."""
    with atomic_write(output / "checkpoints") as temporary:
        temporary.mkdir()
        for path in checkpoints:
            link(path, temporary / path.name)
    with atomic_write(output / "metrics.jsonl") as temporary:
        temporary.write_bytes(metrics.read_bytes())
    write_json(output / "training.json", training)


def share_run(run: Path, output: Path) -> None:
    """Write the results of a finished training as another experiment's.

    Raises UserError when one of its own checkpoints is not there.
    """
    path, checkpoints = run / "training.json", run / "checkpoints"
    training = read_json(path, ["settings", "updates"], TRAINING_REMEDY)
    settings = present_spelling(training["settings"]["training"])
    checkpoints_to_average(
        checkpoints, validated(Training, settings, str(path)), training["updates"]
    )
    files = sorted(checkpoints.glob("*.safetensors"))
    publish_run(output, files, run / "metrics.jsonl", training)


def checkpoints_to_average(folder: Path, training: Training, updates: int) -> list[Path]:
    """Return the last checkpoints, as many as are averaged, or the best one.

    updates: those of the finished training. Raises UserError when a checkpoint is not there, which
    a training of so many updates has written.
    """
    remedy = CHECKPOINTS_REMEDY.format(folder=folder)
    if training.checkpoint == "best":
        checkpoints = sorted(folder.glob("best-*.safetensors"))[-1:]
        if not checkpoints:
            raise UserError(f"{folder} has no best-*.safetensors: {remedy}.")
        return checkpoints
    intervals = range(training.interval, updates, training.interval)
    names = [f"{update:08d}.safetensors" for update in (*intervals, updates)]
    checkpoints = [folder / name for name in names[-training.average :]]
    missing = [path.name for path in checkpoints if not path.exists()]
    if missing:
        raise UserError(f"{folder} has no {', '.join(missing)} to average: {remedy}.")
    return checkpoints
