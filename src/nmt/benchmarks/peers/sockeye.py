"""Sockeye's Transformer, loss and BeamSearch."""

import torch
from torch import Tensor

from nmt.benchmarks.peers import LONGEST, Peer, lengths
from nmt.configuration import Transformer
from nmt.data.batches import Batch
from nmt.models.protocol import EOS, PAD


def build(config: Transformer, size: int, smoothing: float) -> Peer:
    from sockeye.beam_search import CandidateScorer, get_search_algorithm
    from sockeye.data_io import DataConfig
    from sockeye.encoder import EmbeddingConfig
    from sockeye.loss import CrossEntropyLoss
    from sockeye.model import ModelConfig, SockeyeModel, initialize_parameters
    from sockeye.transformer import TransformerConfig

    stack = TransformerConfig(
        model_size=config.d_model,
        attention_heads=config.heads,
        feed_forward_num_hidden=config.d_ff,
        act_type="relu",
        num_layers=config.layers,
        dropout_attention=0.0,
        dropout_act=0.0,
        dropout_prepost=config.dropout,
        positional_embedding_type="fixed",
        preprocess_sequence="",
        postprocess_sequence="drn",
        max_seq_len_source=LONGEST,
        max_seq_len_target=LONGEST,
        depth_key_value=config.d_model,
    )
    embedding = EmbeddingConfig(vocab_size=size, num_embed=config.d_model, dropout=0.0)
    data = DataConfig(None, LONGEST, LONGEST, 1, 1)
    model = SockeyeModel(ModelConfig(data, size, size, embedding, embedding, stack, stack))
    model.apply(initialize_parameters)
    criterion = CrossEntropyLoss(label_smoothing=smoothing, ignore_label=PAD)

    def with_lengths(tokens: Tensor) -> tuple[Tensor, Tensor]:
        return tokens[..., None], torch.stack(
            [lengths(tokens), torch.zeros(len(tokens), dtype=torch.long)], dim=1
        )

    def loss(batch: Batch) -> Tensor:
        logits = model(*with_lengths(batch.source), *with_lengths(batch.target_in))["logits"]
        return criterion.forward(logits, batch.target_out)[0] * (batch.target_out != PAD).sum()

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        scorer = CandidateScorer()
        algorithm = get_search_algorithm([model], beam, torch.device("cpu"), True, scorer)
        # It knows no least length, so EOS is made all but impossible where it is not forced.
        model.output_layer.bias.data[EOS] = -1e4
        longest = torch.full((len(source),), length + 1, dtype=torch.int32)  # with EOS
        tokens, sizes = with_lengths(source)
        found = algorithm(tokens.int(), sizes, None, longest)
        return found.best_word_indices[::beam, 0, :length].tolist()

    return Peer(model, loss, search)
