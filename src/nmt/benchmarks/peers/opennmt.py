"""OpenNMT-py's Transformer and Translator, with torch's loss, as it uses itself."""

import torch
from torch import Tensor, nn

from nmt.benchmarks.peers import Peer, lengths, smoothed
from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.models.protocol import BOS, EOS, PAD
from nmt.text.subwords import UNK

NUMBERS = {"<blank>": PAD, "<unk>": UNK, "<s>": BOS, "</s>": EOS}


class Words:
    """What OpenNMT-py asks of its vocabulary."""

    def __init__(self, size: int):
        self.size = size

    def __len__(self) -> int:
        return self.size

    def lookup_token(self, token: str) -> int:
        return NUMBERS.get(token, UNK)


def build(config: Transformer, size: int, smoothing: float) -> Peer:
    from onmt.decoders import TransformerDecoder
    from onmt.encoders import TransformerEncoder
    from onmt.models import NMTModel
    from onmt.modules import Embeddings
    from onmt.translate import GNMTGlobalScorer, Translator

    def embeddings() -> nn.Module:
        options = {"position_encoding": True, "position_encoding_type": "SinusoidalInterleaved"}
        return Embeddings(config.d_model, size, PAD, dropout=config.dropout, **options)

    sizes = (config.layers, config.d_model, config.heads, config.d_ff)
    source, target = embeddings(), embeddings()
    target.word_lut.weight = source.word_lut.weight
    encoder = TransformerEncoder(*sizes, config.dropout, 0.0, source, 0, 0)
    decoder = TransformerDecoder(
        *sizes, False, "scaled-dot", config.dropout, 0.0, target, 0, 0, False, False, -3, 1
    )
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(config.d_model, size)
    model.generator.weight = source.word_lut.weight
    for (
        name,
        parameter,
    ) in model.named_parameters():  # its modules leave them as they found the memory
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)

    def loss(batch: Batch) -> Tensor:
        target = torch.cat(
            [batch.target_in, batch.target_out[:, -1:]], dim=1
        )  # the model leaves the last one out
        states, _ = model(batch.source[..., None], target[..., None], lengths(batch.source))
        return smoothed(model.generator(states), batch.target_out, smoothing)

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        words = Words(size)
        translator = Translator(
            model,
            {"src": words, "tgt": words, "decoder_start_token": "<s>"},
            beam_size=beam,
            min_length=length,
            max_length=length,
            max_length_ratio=0,
            global_scorer=GNMTGlobalScorer(0.0, 0.0, "none", "none"),
        )
        batch = {"src": source[..., None], "srclen": lengths(source)}
        found = translator.translate_batch(batch, attn_debug=False)["predictions"]
        return [[token for token in hypotheses[0].tolist() if token != EOS] for hypotheses in found]

    return Peer(model, loss, search)
