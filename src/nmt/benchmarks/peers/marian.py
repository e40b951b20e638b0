"""MarianMT of transformers, with its generate; its loss has no smoothing, so torch's is taken."""

from torch import Tensor

from nmt.benchmarks.peers import LONGEST, Peer, smoothed
from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.models.protocol import BOS, EOS, PAD


def build(config: Transformer, size: int, smoothing: float) -> Peer:
    from transformers import MarianConfig, MarianMTModel

    sides = {"layers": config.layers, "attention_heads": config.heads, "ffn_dim": config.d_ff}
    model = MarianMTModel(
        MarianConfig(
            **{
                f"{side}_{name}": value
                for side in ("encoder", "decoder")
                for name, value in sides.items()
            },
            vocab_size=size,
            d_model=config.d_model,
            dropout=config.dropout,
            max_position_embeddings=LONGEST,
            activation_function="relu",
            scale_embedding=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )

    def loss(batch: Batch) -> Tensor:
        mask = (batch.source != PAD).long()
        logits = model(batch.source, mask, batch.target_in, use_cache=False).logits
        return smoothed(logits, batch.target_out, smoothing)

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        exactly = {"min_new_tokens": length, "max_new_tokens": length}
        mask = (source != PAD).long()
        return model.generate(source, attention_mask=mask, num_beams=beam, **exactly)[
            :, 1:
        ].tolist()

    return Peer(model, loss, search)
