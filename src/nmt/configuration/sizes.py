"""What an experiment takes at most: parameters, memory and disk, for what jobs ask of a scheduler.

nmt.models.size counts exactly, but takes torch, which no rule should have to import.
"""

from nmt.configuration.experiments import Experiment, Training, Vocabulary


def parameters_at_most(experiment: Experiment, vocabulary: Vocabulary) -> int:
    """Return an upper bound of the number of parameters, of the catalog's rows below twice it."""
    target_size = vocabulary.size
    source_size = vocabulary.source_size or target_size
    model = experiment.model
    tied = getattr(model, "tie", "none") == "all"
    tables = target_size if tied else source_size + 2 * target_size
    return round(1.1 * (tables * model.embedding_width + model.layer_weights)) + 10_000


def training_megabytes(parameters: int, training: Training, tokens_mb: float) -> float:
    """Return the memory of a training: weights, gradients, moments, a checkpoint, activations.

    tokens_mb: the size of the training set's ids, of which an epoch's order takes as much.
    """
    return 1500 + 24 * parameters / 1e6 + tokens_mb + 0.1 * training.batch_tokens


def training_disk(weights: int, training: Training) -> int:
    """Return the bytes that a training may come to hold on disk, for so many bytes of weights."""
    moments = 0 if training.optimizer == "sgd" else 2
    # A new checkpoint or state is whole before the old one goes; the best two checkpoints may be
    # none of the last.
    return (training.average + 3) * weights + 2 * (1 + moments) * weights
