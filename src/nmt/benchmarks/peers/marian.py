"""transformers' MarianMT and its `generate`; its loss has no smoothing, so it gets torch's loss."""

from torch import Tensor

from nmt.benchmarks.peers import MAX_TOKENS, Peer, smoothed_cross_entropy
from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.models.protocol import BOS, EOS, PAD


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return MarianMT with random weights."""
    from transformers import MarianConfig, MarianMTModel

    marian_config = MarianConfig(
        encoder_layers=config.layers,
        encoder_attention_heads=config.heads,
        encoder_ffn_dim=config.d_ff,
        decoder_layers=config.layers,
        decoder_attention_heads=config.heads,
        decoder_ffn_dim=config.d_ff,
        vocab_size=vocabulary_size,
        d_model=config.d_model,
        dropout=config.dropout,
        max_position_embeddings=MAX_TOKENS,
        activation_function="relu",
        scale_embedding=True,
        pad_token_id=PAD,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )
    model = MarianMTModel(marian_config)

    def loss(batch: Batch) -> Tensor:
        mask = (batch.source != PAD).long()
        logits = model(batch.source, mask, batch.target_in, use_cache=False).logits
        return smoothed_cross_entropy(logits, batch.target_out, smoothing)

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        translations = model.generate(
            source,
            attention_mask=(source != PAD).long(),
            num_beams=beam,
            min_new_tokens=length,
            max_new_tokens=length,
        )
        return translations[:, 1:].tolist()  # without BOS

    return Peer(model, loss, search)
