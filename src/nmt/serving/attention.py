"""A sentence's translations and all attention that a model pays when it writes the best one."""

import torch

from nmt.data.batch import pad_sources
from nmt.data.sequences import Sequences
from nmt.decoding.translator import translate_tokens
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS
from nmt.serving.folder import TranslationModel

CROSS = "cross-attention"
SCALE = 1000  # weights are whole numbers of 1/SCALE: pages with many of them stay small
# The longest sentence: maps grow with its square, and nobody can read larger ones.
MOST_SUBWORDS = 250


@torch.inference_mode()
def attend(model: TranslationModel, sentence: str) -> dict:
    """Return a sentence, its translations and the attention of the best one, as JSON has them.

    source, target: subwords, </s> at the end of both. inputs: what the decoder reads at each
    position of the target: <s> and the subwords before. row: what a decoder-only model reads, with
    the languages' tags. translations: of the beam, the best first,
    each {"text", "score"}. maps: {kind: {layer: [heads][query][key]}}, in thousandths; kinds are
    cross-attention (none in models without it) and, where a model has it, encoder, decoder or joint
    self-attention. A query of the decoder is the subword that is written, a key of its
    self-attention what it has read. Raises UserError when there are no words.
    """
    (tokens,) = model.encode([sentence])
    if not tokens:
        raise UserError("the sentence is empty: give one with words in it.")
    decoding = model.experiment.decoding
    ((_, (hypotheses,)),) = translate_tokens(model.model, [tokens], decoding, decoding.beam)
    best = hypotheses[0].tokens
    source = pad_sources([tokens]).to(model.device)
    target = Sequences.of(torch.tensor([[BOS, *best]], device=model.device))
    kinds = {CROSS: model.single.attention(source, target)}
    for stack, maps in model.single.self_attention(source, target).items():
        kinds[f"{stack} self-attention"] = maps
    pieces = model.subwords.target.pieces([*best, EOS])
    source_pieces = model.subwords.source.pieces([*tokens, EOS])
    source_tag, target_tag = f"<{model.configuration.source}>", f"<{model.configuration.target}>"
    return {
        "sentence": sentence,
        "source": source_pieces,
        "target": pieces,
        "inputs": ["<s>", *pieces[:-1]],
        "row": [source_tag, *source_pieces, target_tag, *pieces[:-1]],
        "translations": [
            {"text": model.decode(hypothesis.tokens), "score": round(hypothesis.score, 4)}
            for hypothesis in hypotheses
        ],
        "maps": {
            kind: {
                layer: (weights[0].float() * SCALE).round().int().tolist()
                for layer, weights in maps.items()
            }
            for kind, maps in kinds.items()
            if maps
        },
    }
