"""JoeyNMT's Transformer, loss and beam search."""

from torch import Tensor

from nmt.benchmarks.peers import Peer, lengths
from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.models.protocol import BOS, EOS, PAD
from nmt.text.subwords import UNK


class Words:
    """What JoeyNMT asks of its vocabulary."""

    pad_index, bos_index, eos_index, unk_index, sep_index = PAD, BOS, EOS, UNK, None
    specials = lang_tags = ()

    def __init__(self, size: int):
        self.size = size

    def __len__(self) -> int:
        return self.size


def build(config: Transformer, size: int, smoothing: float) -> Peer:
    from joeynmt.model import build_model
    from joeynmt.search import beam_search

    stack = {
        "type": "transformer",
        "num_layers": config.layers,
        "num_heads": config.heads,
        "layer_norm": "post",
    }
    stack |= {"hidden_size": config.d_model, "ff_size": config.d_ff, "dropout": config.dropout}
    stack["embeddings"] = {
        "embedding_dim": config.d_model,
        "scale": True,
        "dropout": config.dropout,
    }
    tied = {"tied_embeddings": True, "tied_softmax": True}
    start = {"initializer": "xavier_uniform", "embed_initializer": "xavier_uniform"}
    words = Words(size)
    model = build_model({"encoder": stack, "decoder": stack} | tied | start, words, words)
    model.loss_function = ("crossentropy", smoothing)

    def loss(batch: Batch) -> Tensor:
        return model(
            return_type="loss",
            src=batch.source,
            src_length=lengths(batch.source),
            src_mask=(batch.source != PAD)[:, None],
            trg_input=batch.target_in,
            trg=batch.target_out,
            trg_mask=(batch.target_out != PAD)[:, None],
        )[0]

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        mask = (source != PAD)[:, None]
        states, last, _, _ = model(
            return_type="encode", src=source, src_length=lengths(source), src_mask=mask
        )
        found = beam_search(
            model, beam, states, last, mask, length, alpha=1.0, min_output_length=length
        )[0]
        return found.tolist()

    return Peer(model, loss, search)
