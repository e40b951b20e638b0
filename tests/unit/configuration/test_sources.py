"""Experiments have the settings that their sources print (config/experiments/decoder-only.yaml)."""

import pytest

from nmt.configuration import load_catalog

# "Translation using deep neural networks", part 2: its table of settings, its README and its code
COMMON = {
    "batch_tokens": None,
    "micro_batches": 3,
    "optimizer": "adamw",
    "adam_betas": (0.9, 0.999),
    "adam_epsilon": 1e-8,
    "gradient_clip": 1.0,
    "schedule": "cosine",
    "warmup": 2000,
    "peak_learning_rate": 6e-4,
    "final_learning_rate": 6e-5,
    "precision": "float16",
    "average": 1,
    "checkpoint": "best",
    "kind": "bpe",
    "normalize": False,
    "byte_fallback": True,
}
PAIRS = 40_836_715  # of which 3 x 128 are an update's, or 3 x 256 of a decoder alone
RNN = {
    "family": "rnnsearch",
    "layers": 4,
    "d_embedding": 1000,
    "d_hidden": 1000,
    "attention": "scaled-dot",
    "readout": "state",
    "dropout": 0.0,
    "batch_sentences": 384,
    "weight_decay": 0.1,
    "label_smoothing": 0.0,
    "epochs": 3,
    "planned": 3,
    "beam": 10,
    "alpha": 0.0,
    "size": 30000,
    "source_size": 30000,
    "max_length": 80,
}
TRANSFORMER = {
    "family": "transformer",
    "layers": 6,
    "d_model": 512,
    "d_ff": 2048,
    "heads": 8,
    "norm": "post",
    "activation": "relu",
    "positions": "learned",
    "final_norm": True,
    "attention_bias": True,
    "tie": "decoder",
    "dropout": 0.1,
    "batch_sentences": 384,
    "weight_decay": 0.1,
    "label_smoothing": 0.1,
    "epochs": 2.16,
    "planned": 3,
    "beam": 4,
    "alpha": 0.0,
    "size": 30000,
    "source_size": 30000,
    "max_length": 128,
}
DECODER_ONLY = {
    "family": "decoder-only",
    "layers": 19,
    "d_model": 512,
    "d_ff": 2048,
    "heads": 8,
    "norm": "pre",
    "activation": "gelu",
    "positions": "sinusoidal",
    "attention_bias": True,
    "prefix": False,
    "dropout": 0.1,
    "batch_sentences": 768,
    "weight_decay": 1e-4,
    "label_smoothing": 0.1,
    "epochs": 1.41,
    "planned": 2,
    "beam": 4,
    "alpha": 0.0,
    "source_loss": (),
    "size": 32000,
    "source_size": None,
    "max_length": 128,
}
# Of both epochs: alpha 0.1 after B = 0.25
LAMBDA = {"source_loss": ((0, 1.0), (26560, 0.1), (106240, 0.0))}
REPORT = {
    "rnn-158m": RNN | {"attention": "none"},
    "rnn-attention-158m": RNN,
    "transformer-60m": TRANSFORMER,
    "decoder-only-mt": DECODER_ONLY,
    "decoder-only-lambda": DECODER_ONLY | LAMBDA,
}


@pytest.fixture(scope="module")
def catalog(root):
    return load_catalog(root / "config")


@pytest.mark.parametrize("row", REPORT)
def test_the_settings_of_the_report(row, catalog):
    experiment = catalog.experiment(row)
    training = experiment.training
    sentences = training.batch_sentences / PAIRS
    settings = {
        "epochs": training.updates * sentences,
        "planned": (training.cosine_updates or training.updates) * sentences,
    }
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    for part in (training, experiment.decoding, experiment.model, vocabulary):
        settings |= part.model_dump()
    expected = COMMON | REPORT[row]
    epochs = {key: expected.pop(key) for key in ("epochs", "planned")}
    assert {key: settings[key] for key in epochs} == pytest.approx(epochs, rel=0.01)
    assert {key: settings[key] for key in expected} == expected


def test_the_dev_set_of_the_report_is_a_thousandth(catalog):
    corpus = catalog.corpus("wmt14-en-fr-report")
    assert corpus.held_out["dev"] == pytest.approx(PAIRS / 1000, rel=0.01)
    assert corpus.cleaning.max_ratio is None


def test_widths_of_gehring_et_al_for_english_french(catalog):
    assert catalog.experiment("convs2s-en-fr").model.d_embedding == 768
