"""Rows that make no sense are refused when they are read, by the entry's name."""

from pathlib import Path

import pytest

from nmt import configuration
from nmt.configuration import Vocabulary
from nmt.configuration.rows import (
    Entry,
    check_shared_training,
    resolved_ensemble,
    resolved_experiment,
)
from nmt.errors import UserError
from nmt.models import build

ROOT = Path(__file__).resolve().parents[3]
VOCABULARIES = {"joint": Vocabulary(size=100), "apart": Vocabulary(size=100, source_size=90)}
BASE = {
    "title": "Row",
    "vocabulary": "joint",
    "updates": 10,
    "batch_tokens": 100,
    "warmup": 1,
    "interval": 5,
    "dropout": 0.1,
}
MODELS = {
    "transformer": {"layers": 2, "d_model": 16, "d_ff": 8, "heads": 4},
    "decoder-only": {"layers": 2, "d_model": 16, "d_ff": 8, "heads": 4},
    "seq2seq": {"layers": 2, "d_embedding": 8, "d_hidden": 8, "peak_learning_rate": 0.1},
    "gnmt": {"layers": 3, "d_model": 8, "peak_learning_rate": 0.1},
    "bytenet": {"d_hidden": 8, "peak_learning_rate": 0.1},
}
COSINE, HALVING = {"schedule": "cosine"}, {"schedule": "halving", "halve_every": 2}


def resolve(name: str, entries: dict[str, dict]):
    declared = {key: Entry(values, f"rows.yaml, entry {key}") for key, values in entries.items()}
    return resolved_experiment(name, declared, VOCABULARIES)


def resolved(family: str, **changes):
    return resolve("row", {"row": {**BASE, "family": family, **MODELS[family], **changes}})


@pytest.mark.parametrize("family", MODELS)
def test_what_the_cases_change_makes_sense_itself(family):
    assert resolved(family).model.family == family


@pytest.mark.parametrize(
    ("family", "changes", "fault"),
    [
        ("transformer", {"heads": 3}, "heads 3 does not divide d_model 16: give d_k and d_v"),
        ("transformer", {"d_model": 15, "heads": 5}, "d_model 15 is odd: sinusoids come in pairs"),
        (
            "transformer",
            {"d_k": 3, "positions": "rotary"},
            "d_k 3 is odd: rotary positions turn pairs",
        ),
        (
            "transformer",
            {"vocabulary": "apart"},
            "tie: all needs one vocabulary for both sides, apart is two",
        ),
        (
            "transformer",
            {"source_loss": [[0, 1.0]]},
            "source_loss is for decoder-only models without prefix",
        ),
        (
            "decoder-only",
            {"source_loss": [[0, 1.0]], "prefix": True},
            "source_loss is for decoder-only models",
        ),
        (
            "decoder-only",
            {"source_loss": [[5, 1.0], [2, 0.0]]},
            "source_loss: its updates must grow",
        ),
        (
            "decoder-only",
            {"vocabulary": "apart"},
            "one sequence needs one vocabulary, apart is two",
        ),
        ("decoder-only", {"tie": "decoder"}, "tie: Input should be 'all' or 'none'"),
        ("seq2seq", {"attention": "global"}, "attention global needs score"),
        ("seq2seq", {"score": "dot"}, "attention none has no score"),
        ("seq2seq", {"attention": "local-p", "score": "dot"}, "attention local-p needs a window"),
        (
            "seq2seq",
            {"attention": "global", "score": "dot", "window": 5},
            "attention global has no window",
        ),
        (
            "seq2seq",
            {"input_feeding": True},
            "input_feeding feeds what attention makes: choose an attention",
        ),
        ("seq2seq", {"peak_learning_rate": None}, "peak_learning_rate is missing"),
        (
            "gnmt",
            {"experts": 4},
            "experts, experts_used and d_expert belong together: give all three or none",
        ),
        (
            "gnmt",
            {"experts": 4, "experts_used": 5, "d_expert": 8},
            "experts_used 5 is more than the 4 experts",
        ),
        (
            "gnmt",
            {"experts": 4, "experts_used": 2, "d_expert": 8, "context": "current"},
            "context: current is for the upper decoder layers, which with experts get none",
        ),
        ("gnmt", {"d_cell": 7}, "d_cell 7 is less than d_model 8: cells are projected to fewer"),
        ("gnmt", {"d_cell": 8}, "d_cell is d_model: leave it out, there is nothing to project"),
        ("transformer", {"warmup": 0}, "the schedule inverse_sqrt needs a warmup of at least 1"),
        ("transformer", {"schedule": "cosine"}, "the schedule cosine needs final_learning_rate"),
        ("transformer", {"halve_every": 3}, "the schedule inverse_sqrt has no halve_every"),
        ("transformer", {"weight_decay": 0.1}, "weight_decay is adamw's, the optimizer is adam"),
        (
            "transformer",
            {"window": 3},
            "unknown key 'window': it is one of seq2seq, not of transformer",
        ),
        ("transformer", {"hads": 3}, "unknown key 'hads': did you mean 'heads'?"),
        ("transformer", {"heads": True}, "heads: expected a number, not true"),
        ("transformer", {"updates": 9.5}, "updates: expected a whole number, not 9.5"),
        (
            "transformer",
            {"peak_learning_rate": "fast"},
            "peak_learning_rate: expected a number, not 'fast'",
        ),
        (
            "transformer",
            {"deterministic": "perhaps"},
            "deterministic: expected true or false, not 'perhaps'",
        ),
        ("transformer", {"dropout": 1}, "dropout: Input should be less than 1, not 1"),
        ("transformer", {"adam_betas": [0.9]}, "training.adam_betas: value 2 is missing"),
        ("decoder-only", {"source_loss": 1}, "source_loss: expected a list, not 1"),
        ("transformer", {"warmup": 11}, "warmup 11 is longer than the 10 updates"),
        (
            "transformer",
            HALVING | {"halve_from": 10},
            "halve_from 10 is not before the last of 10 updates",
        ),
        (
            "transformer",
            HALVING | {"warmup": 5, "halve_from": 5},
            "halve_from 5 is not after the warmup of 5 updates",
        ),
        (
            "seq2seq",
            COSINE | {"final_learning_rate": 0.2},
            "final_learning_rate 0.2 is above the peak",
        ),
        (
            "transformer",
            COSINE | {"final_learning_rate": 2.0, "peak_learning_rate": None},
            "final_learning_rate 2.0 is above the peak",
        ),
        ("transformer", {"bleu_interval": 8}, "bleu_interval 8 is no multiple of interval 5"),
        (
            "transformer",
            {"micro_batches": 101},
            "micro_batches 101: there are only 100 batch_tokens for them",
        ),
        ("gnmt", {"balance": 0.1}, "balance is that of experts, and there are none"),
        (
            "transformer",
            {"max_positions": 99},
            "max_positions is for positions: learned, here it is sinusoidal: leave",
        ),
        (
            "transformer",
            {"positions": "rotary", "max_distance": 9},
            "max_distance is for positions: relative, here",
        ),
        (
            "transformer",
            {"optimizer": "sgd", "adam_betas": [0.9, 0.9]},
            "adam_betas is for optimizer: adam or adamw",
        ),
        (
            "transformer",
            {"penalty": "none", "alpha": 0.6},
            "alpha is for penalty: wu or power, here it is none",
        ),
        (
            "transformer",
            {"alpha": 1e9},
            "decoding: alpha: Input should be less than or equal to 10, not 1000000000.0",
        ),
        (
            "transformer",
            {"layers": 100_000},
            "layers: Input should be less than or equal to 1000, not 100000",
        ),
        (
            "transformer",
            {"d_ff": 10**9},
            "d_ff: Input should be less than or equal to 1000000, not 1000000000",
        ),
        ("bytenet", {"kernel": 1}, "kernel: Input should be greater than or equal to 2, not 1"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(family, changes, fault):
    with pytest.raises(UserError) as refused:
        resolved(family, **changes)
    assert fault in str(refused.value)
    assert str(refused.value).startswith("rows.yaml, entry row")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"trained_as": "rwo"}, "unknown experiment 'rwo': did you mean 'row'?"),
        ({"trained_as": "other"}, "only average, checkpoint and search may differ from other."),
        ({"trained_as": "row", "average": 6}, "row keeps 5 checkpoints, average asks for more."),
        (
            {"trained_as": "row", "updates": 11},
            "only average, checkpoint and search may differ from row.",
        ),
        ({"trained_as": "new"}, "this is the entry itself: leave it out."),
        ({"trained_as": "same"}, "same is itself trained as row: name that one."),
    ],
)
def test_a_training_is_not_shared_with_another(changes, fault):
    experiments = {
        "row": resolved("transformer"),
        "same": resolved("transformer", trained_as="row", average=1, beam=1),
        "other": resolved("transformer", layers=3),
        "new": resolved("transformer", **changes),
    }
    check_shared_training("same", experiments, "rows.yaml, entry same")
    with pytest.raises(UserError) as refused:
        check_shared_training("new", experiments, "rows.yaml, entry new")
    assert str(refused.value) == f"rows.yaml, entry new, trained_as: {fault}"


def test_whose_training_serves_is_not_passed_on():
    entries = {"row": {**BASE, "family": "transformer", **MODELS["transformer"], "trained_as": "x"}}
    entries["child"] = {"base": "row"}
    assert resolve("child", entries).trained_as is None


def test_what_comes_from_a_base_may_lie_idle():
    learned = {
        **BASE,
        "family": "transformer",
        **MODELS["transformer"],
        "positions": "learned",
        "max_positions": 99,
    }
    entries = {"row": learned, "child": {"base": "row", "positions": "rotary"}}
    assert resolve("child", entries).model.positions == "rotary"


def test_bytes_need_their_room():
    with pytest.raises(ValueError, match="byte_fallback takes 256 subwords for bytes alone"):
        Vocabulary(size=1000, source_size=256, byte_fallback=True)


def test_bytes_are_for_kinds_that_can_spell():
    with pytest.raises(ValueError, match="byte_fallback is for bpe and unigram, the kind is char"):
        Vocabulary(size=100, kind="char", byte_fallback=True)


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        (
            {"row": [1], "other": [1]},
            "its members need one vocabulary: row has joint, other has apart.",
        ),
        ({"row": [1], "rwo": [1]}, "unknown experiment 'rwo': did you mean 'row'?"),
        ({"row": [1]}, "members: give at least two runs, none of them twice"),
        ({"row": [1, 1]}, "members: give at least two runs, none of them twice"),
        ({"row": []}, "row: Tuple should have at least 1 item"),
    ],
)
def test_an_ensemble_that_makes_no_sense_is_refused_by_name(members, fault):
    experiments = {
        "row": resolved("transformer"),
        "other": resolved("transformer", vocabulary="apart", tie="none"),
    }
    with pytest.raises(UserError) as refused:
        resolved_ensemble(
            Entry({"title": "Both", "members": members}, "rows.yaml, ensemble both"), experiments
        )
    assert fault in str(refused.value)
    assert str(refused.value).startswith("rows.yaml, ensemble both")


def test_a_row_without_a_family_is_told_from_a_base():
    base = {key: value for key, value in BASE.items() if key != "title"}
    entries = {"base": base, "row": {"base": "base", "title": "A row"}}
    with pytest.raises(UserError, match="entry row: there is a title but no family"):
        resolve("row", entries)
    assert resolve("base", entries) is None


def test_a_misspelled_key_of_a_base_is_found_where_it_is():
    with pytest.raises(UserError, match="entry row: unknown key 'famly': did you mean 'family'"):
        resolve("row", {"row": {"famly": "transformer"}})


def test_every_family_has_settings_and_a_model():
    assert set(configuration.FAMILIES) == set(build.FAMILIES)


@pytest.mark.parametrize(("key", "value"), [("base", "'a'"), ("family", r"\['a'\]")])
def test_unknown_names_are_refused(key, value):
    entries = {"row": {**BASE, **MODELS["transformer"], "family": "transformer"} | {key: ["a"]}}
    with pytest.raises(UserError, match=rf"entry row: unknown {key} {value}"):
        resolve("row", entries)


def test_a_later_base_goes_before_an_earlier_one():
    entries = {
        "first": {**BASE, "family": "transformer", **MODELS["transformer"]},
        "second": {"updates": 20, "warmup": 2},
        "row": {"base": ["first", "second"], "warmup": 3},
    }
    row = resolve("row", entries)
    assert (row.title, row.training.updates, row.training.warmup) == ("Row", 20, 3)


def test_a_circle_of_bases_is_shown():
    entries = {"row": {"base": "other"}, "other": {"base": ["row"]}}
    with pytest.raises(UserError, match="entry row is its own base: row -> other -> row"):
        resolve("row", entries)


def test_a_former_spelling_is_named():
    with pytest.raises(UserError, match="unknown key 'batches': it is called micro_batches"):
        resolved("transformer", batches=2)


@pytest.mark.parametrize("base", [5, None, [5], {"a": 1}])
def test_a_base_is_a_name_or_several(base):
    with pytest.raises(UserError, match=r"entry row, base: expected a name or a list of names"):
        resolve("row", {"row": {**BASE, "family": "transformer", "base": base}})
