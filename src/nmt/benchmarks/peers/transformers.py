"""transformers' MarianMT and its `generate`; its loss has no smoothing, so it gets torch's loss."""

import shlex

from torch import Tensor

from nmt.benchmarks.peers import MAX_TOKENS, Peer, smoothed_cross_entropy
from nmt.benchmarks.programs import Comparison, Part, Program
from nmt.configuration import Transformer
from nmt.data.batch import Batch
from nmt.models.protocol import PAD


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return MarianMT with random weights."""
    from transformers import MarianMTModel

    from nmt.serving.marian import marian_config

    model = MarianMTModel(marian_config(config, vocabulary_size, MAX_TOKENS))

    def loss(batch: Batch) -> Tensor:
        mask = (batch.source.tokens != PAD).long()
        logits = model(batch.source.tokens, mask, batch.target_in, use_cache=False).logits
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


def program(comparison: Comparison) -> Program:
    """Return a training by Seq2SeqTrainer, which transformers has in place of a program."""

    def command(part: Part) -> str:
        return (
            f"rm -rf out.transformers"
            f" && {comparison.run('nmt.benchmarks.peers.transformers_program')}"
            f" --catalog {shlex.quote(str(comparison.catalog))} --experiment {comparison.name}"
            f" --tokens {part.name}.tokens --output out.transformers"
        )

    return Program(command)
