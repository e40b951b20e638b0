"""JoeyNMT's Transformer, loss and beam search."""

import yaml
from torch import Tensor

from nmt.benchmarks.peers import MAX_TOKENS, Peer, lengths
from nmt.benchmarks.programs import DEV, Comparison, Part, Program
from nmt.configuration import Transformer
from nmt.data.batch import Batch
from nmt.models.protocol import BOS, EOS, PAD
from nmt.text.subwords import UNK


class Vocabulary:
    """What JoeyNMT needs of its vocabulary."""

    pad_index = PAD
    bos_index = BOS
    eos_index = EOS
    unk_index = UNK
    sep_index = None
    specials = ()
    lang_tags = ()

    def __init__(self, size: int):
        self.size = size

    def __len__(self) -> int:
        return self.size


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return JoeyNMT's Transformer with random weights."""
    from joeynmt.model import build_model
    from joeynmt.search import beam_search

    vocabulary = Vocabulary(vocabulary_size)
    model = build_model(model_settings(config), vocabulary, vocabulary)
    model.loss_function = ("crossentropy", smoothing)

    def loss(batch: Batch) -> Tensor:
        return model(
            return_type="loss",
            src=batch.source.tokens,
            src_length=lengths(batch.source.tokens),
            src_mask=(batch.source.tokens != PAD)[:, None],
            trg_input=batch.target_in,
            trg=batch.target_out,
            trg_mask=(batch.target_out != PAD)[:, None],
        )[0]

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        mask = (source != PAD)[:, None]
        states, last_state, _, _ = model(
            return_type="encode", src=source, src_length=lengths(source), src_mask=mask
        )
        translations = beam_search(
            model, beam, states, last_state, mask, length, alpha=1.0, min_output_length=length
        )[0]
        return translations.tolist()

    return Peer(model, loss, search)


def model_settings(config: Transformer) -> dict:
    """Return the section `model` of a configuration of JoeyNMT."""
    stack = {
        "type": "transformer",
        "num_layers": config.layers,
        "num_heads": config.heads,
        "layer_norm": "post",
        "hidden_size": config.d_model,
        "ff_size": config.d_ff,
        "dropout": config.dropout,
        "embeddings": {
            "embedding_dim": config.d_model,
            "scale": True,
            "dropout": config.dropout,
        },
    }
    return {
        "encoder": stack,
        "decoder": stack,
        "tied_embeddings": True,
        "tied_softmax": True,
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
    }


def program(comparison: Comparison) -> Program:
    """Return JoeyNMT's training."""
    training = comparison.experiment.training
    side = {"level": "word", "voc_file": "words", "max_length": MAX_TOKENS}

    def prepare(part: Part) -> None:
        settings = {
            "name": "joeynmt",
            "model_dir": "out.joeynmt",
            "use_cuda": False,
            "data": {
                "train": f"{part.name}.words",
                "dev": f"{DEV}.words",
                "dataset_type": "plain",
                "src": side | {"lang": "source"},
                "trg": side | {"lang": "target"},
            },
            "testing": {"eval_metrics": []},
            "training": {
                "optimizer": "adam",
                "adam_betas": list(training.adam_betas),
                "learning_rate": comparison.experiment.peak_learning_rate,
                "scheduling": "warmupinversesquareroot",
                "learning_rate_warmup": training.warmup,
                "normalization": "tokens",
                "loss": "crossentropy",
                "label_smoothing": training.label_smoothing,
                "batch_size": training.batch_tokens,
                "batch_type": "token",
                "epochs": 1,
                "validation_freq": 1_000_000,
                "overwrite": True,
            },
            "model": model_settings(comparison.model),
        }
        comparison.write(f"joeynmt.{part.name}.yaml", [yaml.safe_dump(settings)])

    def command(part: Part) -> str:
        return f"{comparison.run('joeynmt')} train joeynmt.{part.name}.yaml --skip-test"

    return Program(command, prepare)
