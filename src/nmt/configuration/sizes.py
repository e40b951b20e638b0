"""What an experiment takes at most: parameters, memory and disk, for what jobs ask of a scheduler.

nmt.models.size counts exactly, but takes torch, which no rule should have to import.
"""

from nmt.configuration.experiments import Experiment, Training, Vocabulary
from nmt.configuration.models import (
    GNMT,
    Architecture,
    ByteNet,
    ConvS2S,
    DecoderOnly,
    RNNSearch,
    SelfAttention,
    Seq2Seq,
)


def parameters_at_most(experiment: Experiment, vocabulary: Vocabulary) -> int:
    """Return an upper bound of the number of parameters; it is less than twice that number."""
    target_size = vocabulary.size
    source_size = vocabulary.source_size or target_size
    model = experiment.model
    tied = getattr(model, "tie", "none") == "all"
    tables = target_size if tied else source_size + 2 * target_size
    return round(1.1 * (tables * embedding_width(model) + layer_weights(model))) + 10_000


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


def embedding_width(model: Architecture) -> int:
    """Return the largest width of an embedding or of the output's matrix."""
    match model:
        case RNNSearch():
            return model.d_embedding
        case ConvS2S():
            return max(model.d_embedding, model.d_output)
        case Seq2Seq():
            return max(model.d_embedding, model.d_hidden)
        case ByteNet():
            return 2 * model.d_hidden
        case SelfAttention() | GNMT():
            return model.d_model
    return widest(model)


def layer_weights(model: Architecture) -> int:
    """Return about how many weights all layers have."""
    match model:
        case SelfAttention():
            d = model.d_model
            d_k = model.d_k or d // model.heads
            d_v = model.d_v or d // model.heads
            attention = 2 * d * model.heads * (d_k + d_v)
            positions = model.max_positions * d if model.positions == "learned" else 0
            stacks = 1 if isinstance(model, DecoderOnly) else 2
            attentions = 1 if stacks == 1 else 3
            layer = attentions * attention + stacks * 2 * d * model.d_ff
            return model.layers * layer + stacks * positions
        case Seq2Seq():
            d = model.d_hidden
            first = 2 * 4 * d * (d + model.d_embedding + d)
            return first + (model.layers - 1) * 2 * 4 * d * 2 * d + 4 * d * d
        case RNNSearch():
            d = max(model.d_hidden) if isinstance(model.d_hidden, tuple) else model.d_hidden
            return 3 * d * (3 * d + 3 * model.d_embedding + 2 * d) + 8 * d * d
        case GNMT():
            d = model.d_model
            cell = model.d_cell or d
            layers = sum(model.layers) if isinstance(model.layers, tuple) else 2 * model.layers
            weights = (layers + 1) * 4 * cell * 3 * d + 4 * d * d
            if model.experts and model.d_expert:
                weights += 2 * model.experts * 2 * d * model.d_expert
            return weights
        case ConvS2S():
            weights = 0
            for stack, attention in ((model.encoder, 0), (model.decoder, 2)):
                width = model.d_embedding
                for d, kernel, count in stack:
                    weights += 2 * kernel * d * (width + (count - 1) * d)
                    weights += attention * count * d * model.d_embedding
                    width = d
            positions = 2 * model.max_positions * model.d_embedding
            return weights + positions + 4 * width * max(model.d_embedding, model.d_output)
        case ByteNet():
            d = model.d_hidden
            kernel = max(model.kernel) if isinstance(model.kernel, tuple) else model.kernel
            blocks = 2 * model.sets * len(model.dilations)
            return blocks * (4 + kernel) * d * d + 8 * d * d
    return 100 * widest(model) ** 2


def widest(model: Architecture) -> int:
    """Return the largest width among the settings, for a family of which nothing else is known."""
    widths = [
        value
        for name, value in model.model_dump().items()
        if name.startswith("d_") and isinstance(value, int)
    ]
    return max(widths, default=1000)
