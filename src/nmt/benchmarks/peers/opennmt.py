"""OpenNMT-py's Transformer and Translator, with torch's loss, which it uses itself."""

import re

import torch
import yaml
from torch import Tensor, nn

from nmt.benchmarks.peers import Peer, lengths, smoothed_cross_entropy
from nmt.benchmarks.programs import Comparison, Part, Program
from nmt.configuration import Transformer
from nmt.data.batch import Batch
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS, PAD
from nmt.text.subwords import UNK

SPECIAL_TOKENS = {"<blank>": PAD, "<unk>": UNK, "<s>": BOS, "</s>": EOS}


class Vocabulary:
    """What OpenNMT-py needs of its vocabulary."""

    def __init__(self, size: int):
        self.size = size

    def __len__(self) -> int:
        return self.size

    def lookup_token(self, token: str) -> int:
        """Return the number of a special token."""
        return SPECIAL_TOKENS.get(token, UNK)


def build_model(config: Transformer, vocabulary_size: int) -> tuple[nn.Module, nn.Linear]:
    """Return OpenNMT-py's Transformer with random weights, and its generator of logits."""
    from onmt.decoders import TransformerDecoder
    from onmt.encoders import TransformerEncoder
    from onmt.models import NMTModel
    from onmt.modules import Embeddings

    source_embeddings, target_embeddings = (
        Embeddings(
            config.d_model,
            vocabulary_size,
            PAD,
            dropout=config.dropout,
            position_encoding=True,
            position_encoding_type="SinusoidalInterleaved",
        )
        for _ in range(2)
    )
    target_embeddings.word_lut.weight = source_embeddings.word_lut.weight
    sizes = (config.layers, config.d_model, config.heads, config.d_ff)
    encoder = TransformerEncoder(*sizes, config.dropout, 0.0, source_embeddings, 0, 0)
    decoder = TransformerDecoder(
        *sizes,
        False,
        "scaled-dot",
        config.dropout,
        0.0,
        target_embeddings,
        0,
        0,
        False,
        False,
        -3,
        1,
    )
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(config.d_model, vocabulary_size)
    model.generator.weight = source_embeddings.word_lut.weight
    # Its modules leave their parameters uninitialized.
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
    return model, model.generator


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return OpenNMT-py's Transformer with random weights."""
    from onmt.translate import GNMTGlobalScorer, Translator

    model, generator = build_model(config, vocabulary_size)

    def loss(batch: Batch) -> Tensor:
        # The model leaves the last token of its target out.
        target = torch.cat([batch.target_in, batch.target_out[:, -1:]], dim=1)
        source = batch.source.tokens
        states, _ = model(source[..., None], target[..., None], lengths(source))
        return smoothed_cross_entropy(generator(states), batch.target_out, smoothing)

    def search(source: Tensor, length: int, beam: int) -> list[list[int]]:
        vocabulary = Vocabulary(vocabulary_size)
        translator = Translator(
            model,
            {"src": vocabulary, "tgt": vocabulary, "decoder_start_token": "<s>"},
            beam_size=beam,
            min_length=length,
            max_length=length,
            max_length_ratio=0,
            global_scorer=GNMTGlobalScorer(0.0, 0.0, "none", "none"),
        )
        batch = {"src": source[..., None], "srclen": lengths(source)}
        sentences = translator.translate_batch(batch, attn_debug=False)["predictions"]
        best = [hypotheses[0].tolist() for hypotheses in sentences]
        return [[token for token in tokens if token != EOS] for tokens in best]

    return Peer(model, loss, search)


def program(comparison: Comparison) -> Program:
    """Return OpenNMT-py's training.

    It reads its corpus without end, and so gets as many updates as an epoch has here; its log has
    the mean number of an update's target tokens.
    """

    def prepare(part: Part) -> None:
        settings = program_settings(comparison, part)
        comparison.write(f"opennmt.{part.name}.yaml", [yaml.safe_dump(settings)])

    def log(part: Part) -> str:
        return f"opennmt.{part.name}.log"

    def command(part: Part) -> str:
        run = comparison.run("onmt.bin.train")
        return f"{run} -config opennmt.{part.name}.yaml > {log(part)} 2>&1"

    def target_tokens(part: Part) -> int:
        path = comparison.folder / log(part)
        match = re.search(rf"Step +{part.updates}/.*bsz: *\d+/ *(\d+)/", path.read_text("utf-8"))
        if match is None:
            raise UserError(f"{path} does not say how many tokens an update had.")
        return int(match[1]) * part.updates

    return Program(command, prepare, target_tokens)


def program_settings(comparison: Comparison, part: Part) -> dict:
    """Return the configuration of onmt_train."""
    model, training = comparison.model, comparison.experiment.training
    corpus = {
        "path_src": f"{part.name}.words.source",
        "path_tgt": f"{part.name}.words.target",
        # It appends EOS to the target only
        "transforms": ["suffix"],
        "src_suffix": "</s>",
        "tgt_suffix": "",
    }
    return {
        "data": {"train": corpus},
        "src_vocab": "words",
        "tgt_vocab": "words",
        "share_vocab": True,
        "save_model": "out.opennmt",
        "train_steps": part.updates,
        "report_every": part.updates,
        "valid_steps": 1_000_000,
        "save_checkpoint_steps": 1_000_000,
        # All pairs are sorted once, in the process that trains
        "bucket_size": part.pairs,
        "num_workers": 0,
        "encoder_type": "transformer",
        "decoder_type": "transformer",
        "position_encoding": True,
        "share_embeddings": True,
        "share_decoder_embeddings": True,
        "add_ffnbias": True,
        "layers": model.layers,
        "hidden_size": model.d_model,
        "word_vec_size": model.d_model,
        "heads": model.heads,
        "transformer_ff": model.d_ff,
        "dropout": [model.dropout],
        "attention_dropout": [0.0],
        "label_smoothing": training.label_smoothing,
        "optim": "adam",
        "adam_beta1": training.adam_betas[0],
        "adam_beta2": training.adam_betas[1],
        "learning_rate": comparison.experiment.peak_learning_rate,
        "max_grad_norm": training.gradient_clip or 0.0,
        "batch_type": "tokens",
        "batch_size": training.batch_tokens,
        "normalization": "tokens",
        "world_size": 1,
    }
