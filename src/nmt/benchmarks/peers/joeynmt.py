"""JoeyNMT's Transformer, loss and beam search."""

from torch import Tensor

from nmt.benchmarks.peers import Peer, lengths
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
    settings = {
        "encoder": stack,
        "decoder": stack,
        "tied_embeddings": True,
        "tied_softmax": True,
        "initializer": "xavier_uniform",
        "embed_initializer": "xavier_uniform",
    }
    vocabulary = Vocabulary(vocabulary_size)
    model = build_model(settings, vocabulary, vocabulary)
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
