"""fairseq's Transformer, label-smoothed loss and SequenceGenerator."""

import dataclasses
from types import SimpleNamespace

from torch import Tensor

from nmt.benchmarks.peers import Peer, lengths
from nmt.benchmarks.programs import DEV, Comparison, Part, Program, seconds
from nmt.configuration import Transformer
from nmt.data.batch import Batch
from nmt.models.protocol import BOS, EOS, PAD
from nmt.text.subwords import UNK


class Dictionary:
    """What fairseq needs of its dictionary."""

    def __init__(self, size: int):
        self.size = size

    def __len__(self) -> int:
        return self.size

    def pad(self) -> int:
        """Return the token of padding."""
        return PAD

    def unk(self) -> int:
        """Return the token of unknown words."""
        return UNK

    def eos(self) -> int:
        """Return the token that ends a sentence."""
        return EOS


def import_fairseq() -> None:
    """Import fairseq although its dataclasses have other dataclass objects as defaults.

    Since Python 3.11, dataclasses accept such defaults only when they have a hash.
    """
    original_dataclass = dataclasses.dataclass

    def hashable_dataclass(cls=None, **options):
        if cls is None:
            return lambda decorated: hashable_dataclass(decorated, **options)
        return original_dataclass(cls, **{"unsafe_hash": True, **options})

    dataclasses.dataclass = hashable_dataclass
    import fairseq.criterions.label_smoothed_cross_entropy
    import fairseq.models.transformer  # noqa: F401

    dataclasses.dataclass = original_dataclass


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return fairseq's Transformer with random weights."""
    import_fairseq()
    from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
    from fairseq.models.transformer import TransformerConfig, TransformerModelBase
    from fairseq.sequence_generator import SequenceGenerator

    settings = TransformerConfig(dropout=config.dropout, share_all_embeddings=True)
    for side in (settings.encoder, settings.decoder):
        side.embed_dim = config.d_model
        side.ffn_embed_dim = config.d_ff
        side.layers = config.layers
        side.attention_heads = config.heads
    settings.decoder.input_dim = config.d_model
    settings.decoder.output_dim = config.d_model
    dictionary = Dictionary(vocabulary_size)
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    model = TransformerModelBase.build_model(settings, task)

    def loss(batch: Batch) -> Tensor:
        logits, _ = model(batch.source.tokens, lengths(batch.source.tokens), batch.target_in)
        log_probs = model.get_normalized_probs((logits, None), log_probs=True).flatten(0, 1)
        targets = batch.target_out.flatten()[:, None]
        smoothed_loss, _ = label_smoothed_nll_loss(log_probs, targets, smoothing, ignore_index=PAD)
        return smoothed_loss

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        generator = SequenceGenerator([model], dictionary, beam, max_len_b=length, min_len=length)
        inputs = {"net_input": {"src_tokens": source, "src_lengths": lengths(source)}}
        sentences = generator.generate([model], inputs, bos_token=BOS)
        return [hypotheses[0]["tokens"].tolist()[:-1] for hypotheses in sentences]

    return Peer(model, loss, search)


def program(comparison: Comparison) -> Program:
    """Return fairseq-train, after fairseq-preprocess."""
    model, training = comparison.model, comparison.experiment.training
    run = comparison.run("nmt.benchmarks.peers.fairseq_program")
    sizes = " ".join(
        f"--{side}-layers {model.layers} --{side}-embed-dim {model.d_model}"
        f" --{side}-ffn-embed-dim {model.d_ff} --{side}-attention-heads {model.heads}"
        for side in ("encoder", "decoder")
    )

    def prepare(part: Part) -> None:
        data = f"fairseq.{part.name}"
        if not (comparison.folder / data).exists():
            preprocess = (
                f"{run} preprocess --source-lang source --target-lang target --destdir {data}"
                f" --trainpref {part.name}.words --validpref {DEV}.words --srcdict words.counts"
                " --joined-dictionary"
            )
            seconds(preprocess, comparison)

    def command(part: Part) -> str:
        return (
            f"{run} train fairseq.{part.name} --cpu --arch transformer --share-all-embeddings"
            f" {sizes} --dropout {model.dropout} --criterion label_smoothed_cross_entropy"
            f" --label-smoothing {training.label_smoothing} --optimizer adam"
            f" --adam-betas '{training.adam_betas}' --lr {comparison.experiment.peak_learning_rate}"
            f" --lr-scheduler inverse_sqrt --warmup-updates {training.warmup}"
            f" --clip-norm {training.gradient_clip or 0} --max-tokens {training.batch_tokens}"
            " --required-batch-size-multiple 1 --num-workers 0 --max-epoch 1 --no-save"
            " --disable-validation --no-progress-bar"
        )

    return Program(command, prepare)
