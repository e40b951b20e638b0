"""fairseq's Transformer, label-smoothed loss and SequenceGenerator."""

import dataclasses
from types import SimpleNamespace

from torch import Tensor

from nmt.benchmarks.peers import Peer, lengths
from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.models.protocol import BOS, EOS, PAD
from nmt.text.subwords import UNK


class Words:
    """What fairseq asks of its dictionary."""

    def __init__(self, size: int):
        self.size = size

    def __len__(self) -> int:
        return self.size

    def pad(self) -> int:
        return PAD

    def unk(self) -> int:
        return UNK

    def eos(self) -> int:
        return EOS


def importable() -> None:
    """Its defaults are objects, which dataclasses of Python 3.11 only take when they have a
    hash.
    """
    plain = dataclasses.dataclass

    def dataclass(cls=None, **options):
        return (
            plain(cls, **{"unsafe_hash": True, **options})
            if cls
            else lambda later: dataclass(later, **options)
        )

    dataclasses.dataclass = dataclass
    import fairseq.criterions.label_smoothed_cross_entropy
    import fairseq.models.transformer  # noqa: F401

    dataclasses.dataclass = plain


def build(config: Transformer, size: int, smoothing: float) -> Peer:
    importable()
    from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
    from fairseq.models.transformer import TransformerConfig, TransformerModelBase
    from fairseq.sequence_generator import SequenceGenerator

    settings = TransformerConfig(dropout=config.dropout, share_all_embeddings=True)
    for side in (settings.encoder, settings.decoder):
        side.embed_dim, side.ffn_embed_dim = config.d_model, config.d_ff
        side.layers, side.attention_heads = config.layers, config.heads
    settings.decoder.input_dim = settings.decoder.output_dim = config.d_model
    words = Words(size)
    task = SimpleNamespace(source_dictionary=words, target_dictionary=words)
    model = TransformerModelBase.build_model(settings, task)

    def loss(batch: Batch) -> Tensor:
        logits, _ = model(batch.source, lengths(batch.source), batch.target_in)
        found = model.get_normalized_probs((logits, None), log_probs=True).flatten(0, 1)
        return label_smoothed_nll_loss(
            found, batch.target_out.flatten()[:, None], smoothing, ignore_index=PAD
        )[0]

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        generator = SequenceGenerator([model], words, beam, max_len_b=length, min_len=length)
        inputs = {"net_input": {"src_tokens": source, "src_lengths": lengths(source)}}
        found = generator.generate([model], inputs, bos_token=BOS)
        return [hypotheses[0]["tokens"].tolist()[:-1] for hypotheses in found]

    return Peer(model, loss, search)
