"""Sockeye's Transformer, loss and BeamSearch."""

import torch
from torch import Tensor

from nmt.benchmarks.peers import MAX_TOKENS, Peer, lengths
from nmt.benchmarks.programs import DEV, Comparison, Part, Program
from nmt.configuration import Transformer
from nmt.data.batch import Batch
from nmt.models.protocol import EOS, PAD


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return Sockeye's Transformer with random weights."""
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
        max_seq_len_source=MAX_TOKENS,
        max_seq_len_target=MAX_TOKENS,
        depth_key_value=config.d_model,
    )
    embedding = EmbeddingConfig(vocab_size=vocabulary_size, num_embed=config.d_model, dropout=0.0)
    data = DataConfig(None, MAX_TOKENS, MAX_TOKENS, 1, 1)
    settings = ModelConfig(
        data, vocabulary_size, vocabulary_size, embedding, embedding, stack, stack
    )
    model = SockeyeModel(settings)
    model.apply(initialize_parameters)
    criterion = CrossEntropyLoss(label_smoothing=smoothing, ignore_label=PAD)

    def with_lengths(tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Return what the model takes: (B, S) -> (B, S, 1) and lengths (B, 2), the last ones 0."""
        zeros = torch.zeros(len(tokens), dtype=torch.long)
        return tokens[..., None], torch.stack([lengths(tokens), zeros], dim=1)

    def loss(batch: Batch) -> Tensor:
        source, source_lengths = with_lengths(batch.source.tokens)
        target, target_lengths = with_lengths(batch.target_in)
        logits = model(source, source_lengths, target, target_lengths)["logits"]
        mean = criterion.forward(logits, batch.target_out)[0]
        return mean * (batch.target_out != PAD).sum()

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        scorer = CandidateScorer()
        algorithm = get_search_algorithm([model], beam, torch.device("cpu"), True, scorer)
        # It has no minimum length, so EOS is made all but impossible where it is not forced.
        model.output_layer.bias.data[EOS] = -1e4
        max_lengths = torch.full((len(source),), length + 1, dtype=torch.int32)  # with EOS
        tokens, source_lengths = with_lengths(source)
        result = algorithm(tokens.int(), source_lengths, None, max_lengths)
        return result.best_word_indices[::beam, 0, :length].tolist()

    return Peer(model, loss, search)


def program(comparison: Comparison) -> Program:
    """Return sockeye-train."""
    model, training = comparison.model, comparison.experiment.training
    clipping = "--gradient-clipping-type none"
    if training.gradient_clip:
        clipping = (
            f"--gradient-clipping-type norm --gradient-clipping-threshold {training.gradient_clip}"
        )

    def command(part: Part) -> str:
        return (
            f"rm -rf out.sockeye && {comparison.run('sockeye.train')} --output out.sockeye"
            f" --use-cpu --source {part.name}.words.source --target {part.name}.words.target"
            f" --validation-source {DEV}.words.source --validation-target {DEV}.words.target"
            " --source-vocab words.json --target-vocab words.json --shared-vocab"
            " --weight-tying-type src_trg_softmax --encoder transformer --decoder transformer"
            f" --num-layers {model.layers} --transformer-model-size {model.d_model}"
            f" --transformer-attention-heads {model.heads}"
            f" --transformer-feed-forward-num-hidden {model.d_ff}"
            " --transformer-preprocess= --transformer-postprocess drn"
            f" --transformer-dropout-prepost {model.dropout} --transformer-dropout-attention 0"
            f" --transformer-dropout-act 0 --max-seq-len {MAX_TOKENS} --batch-type max-word"
            f" --batch-size {training.batch_tokens} --batch-sentences-multiple-of 1"
            f" --label-smoothing {training.label_smoothing} --optimizer adam --optimizer-betas"
            f" {training.adam_betas[0]}:{training.adam_betas[1]}"
            f" --initial-learning-rate {comparison.experiment.peak_learning_rate} {clipping}"
            " --max-num-epochs 1 --checkpoint-interval 1000000 --decode-and-evaluate 0"
        )

    return Program(command)
