"""How the loop counts, logs and keeps what it does."""

import math
import unicodedata
from dataclasses import replace

import pytest

from nmt.decoding.search import Hypothesis
from nmt.errors import UserError
from nmt.training.distributed import ProcessGroup
from nmt.training.loop import resume
from nmt.training.metrics import read_metrics
from nmt.training.state import MOST_SKIPPED, Counters
from nmt.training.validation import TRAINING_SENTENCES, has_diverged, perplexity
from tests.support import tiny_training


@pytest.fixture
def loop(tmp_path):
    folder = tiny_training.prepare(tmp_path, updates=40, interval=10, bleu_interval=10)
    return tiny_training.make_loop(folder)


def test_rates_are_those_since_the_last_line(loop):
    before = Counters(update=20, target_tokens=1000, flops=1e6, seconds=10.0, device_seconds=20.0)
    now = {"update": 40, "target_tokens": 4000, "flops": 5e6, "seconds": 12.0}
    loop.logged, loop.counters = before, replace(before, device_seconds=24.0, **now)
    loop.log(0.01, norm=1.0)
    (line,) = read_metrics(loop.folder.metrics)
    assert line["tokens_per_second"] == 1500
    assert line["mfu"] == pytest.approx(4e6 / 4 / loop.machine.peak)
    assert line["seconds"] == 12.0


def test_a_model_whose_dev_loss_is_nan_is_not_translated_with(loop):
    loop.counters.update = 10
    next(loop.trainer.model.parameters()).data.fill_(math.nan)
    loop.validate()
    (line,) = read_metrics(loop.folder.metrics)
    assert math.isnan(line["dev_nll"])
    assert "dev_bleu" not in line


def test_the_form_of_unicode_changes_no_dev_bleu(loop, monkeypatch):
    validation = loop.validation
    perfect = [(list(range(len(validation.tokens))), [])]
    for tokens in validation.tokens.target.lists():
        perfect[0][1].append([Hypothesis(tokens, 0.0, 0.0)])
    monkeypatch.setattr("nmt.training.validation.translate_tokens", lambda *_: perfect)
    decomposed = [unicodedata.normalize("NFD", line) for line in validation.references]
    assert decomposed != validation.references
    validation.references = decomposed
    assert validation.bleu(loop.trainer.model) == pytest.approx(100)


def test_training_bleu_is_that_of_training_sentences(loop):
    validation, model = loop.validation, loop.trainer.model
    validation.training = validation.tokens
    assert len(validation.tokens) <= TRAINING_SENTENCES
    assert validation.training_bleu(model) == pytest.approx(validation.bleu(model))


def test_skipped_updates_are_counted_and_many_in_a_row_stop_training():
    counters = Counters()
    counters.count_skipped([1.0, math.nan, math.inf, 1.0, *[math.nan] * (MOST_SKIPPED - 2)])
    counters.count_skipped([math.inf])
    assert counters.skipped == MOST_SKIPPED + 1
    with pytest.raises(UserError, match="lower the learning rate"):
        counters.count_skipped([math.inf])


def test_patience_ends_a_training_whose_dev_loss_no_longer_falls(loop):
    settings = loop.settings.model_copy(update={"patience": 2})
    counters = Counters(update=5)
    finished = []
    for nll in (3.0, 3.5, 2.0, 2.0, math.nan):
        counters.record_dev_nll(nll)
        finished.append(counters.is_finished(settings))
    assert finished == [False, False, False, False, True]
    assert Counters(update=40).is_finished(loop.settings)


def test_what_is_worse_than_guessing_has_diverged():
    guessing = math.log(300)
    assert not has_diverged(guessing + 0.9, 300)  # as an untrained model may be
    assert has_diverged(guessing + 1.1, 300)
    assert has_diverged(math.inf, 300)
    assert has_diverged(math.nan, 300)
    assert perplexity(guessing) == pytest.approx(300)
    assert perplexity(1e4) == math.inf
    assert math.isnan(perplexity(math.nan))


def test_ranks_go_on_from_the_same_update(loop, monkeypatch):
    loop.save()
    resume(loop.trainer, loop.folder, {})
    monkeypatch.setattr(ProcessGroup, "sum", lambda group, values: values + 20)  # of another rank
    with pytest.raises(UserError, match="all nodes share"):
        resume(loop.trainer, loop.folder, {})


def test_the_first_checkpoint_is_the_best_until_a_loss_is_finite(loop):
    kept = []
    counters = Counters()
    for counters.update, nll in enumerate([math.nan, math.inf, 5.0, math.nan], start=1):
        counters.record_dev_nll(nll)
        loop.folder.keep_checkpoint(loop.trainer, counters)
        kept.append(loop.folder.checkpoints("best-*")[-1].stem)
    assert kept == ["best-00000001", "best-00000001", "best-00000003", "best-00000003"]
    average = loop.settings.average
    assert len(loop.folder.checkpoints()) == min(4, average)
