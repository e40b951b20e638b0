"""Rows with overrides in their names, and `--config updates=60` for all rows of a reproduction."""

import pytest

from nmt.configuration import DecoderOnly, Transformer, load_catalog, load_reproduction, read_yaml
from nmt.errors import UserError
from tests.support.files import ROOT

CATALOG = load_catalog(ROOT / "config")


def values(name: str = "demo") -> dict:
    return read_yaml(ROOT / "config" / f"{name}.yaml", dict)


def load(changes: dict, name: str = "demo"):
    return load_reproduction(values(name) | changes, name, ROOT / "config")


def test_what_is_counted_in_updates_keeps_its_proportion():
    row, short = (
        CATALOG.experiment(name) for name in ("transformer-base", "transformer-base+updates-1000")
    )
    assert short.model == row.model
    assert short.training.updates == 1000
    for key in ("warmup", "interval"):
        assert getattr(short.training, key) == round(getattr(row.training, key) / 100)
    assert short.training.bleu_interval == 10 * short.training.interval
    assert "1000" in short.title


def test_a_key_that_is_given_is_not_scaled():
    row = CATALOG.experiment("transformer-base+updates-1000+warmup-7")
    assert row.training.warmup == 7


def test_points_of_the_source_loss_are_scaled():
    row, short = (
        CATALOG.experiment(f"decoder-only-lambda{end}").training for end in ("", "+updates-3970")
    )
    ratio = 3970 / row.updates
    assert short.source_loss == tuple((round(u * ratio), weight) for u, weight in row.source_loss)


@pytest.mark.parametrize("override", ["beam-2", "checkpoint-best", "average-1", "alpha-0.3+beam-2"])
def test_overrides_of_search_and_checkpoints_share_the_training(override):
    for name, trained_as in {
        "demo-transformer": "demo-transformer",
        "heads-4": "heads-4",
        "table3-base": "transformer-base",
    }.items():
        assert CATALOG.experiment(f"{name}+{override}").trained_as == trained_as


@pytest.mark.parametrize(
    ("name", "trained_as"),
    [
        ("table3-base+updates-60", "transformer-base+updates-60"),
        ("demo-transformer+beam-2+updates-60", "demo-transformer+updates-60"),
        ("table3-base+checkpoint-best+updates-60", "transformer-base+updates-60"),
        ("demo-transformer+updates-60", None),
        ("demo-transformer+average-10", None),  # more than the row keeps
    ],
)
def test_overrides_of_training_need_a_training_of_their_own(name, trained_as):
    assert CATALOG.experiment(name).trained_as == trained_as


def test_a_vocabulary_s_size_can_be_overridden():
    row = CATALOG.experiment("demo-transformer+vocabulary_size-500")
    vocabulary = CATALOG.vocabulary(row.vocabulary)
    assert vocabulary.size == 500
    assert vocabulary.changed(size=2000) == CATALOG.vocabulary("demo-bpe-2000")


def test_a_missing_value_is_yaml_s_null():
    row = CATALOG.experiment("demo-transformer+gradient_clip-null")
    assert row.training.gradient_clip is None


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("demo-transformer+beams-2", "'beam'"),
        ("demo-transformer+experts-2", "experts"),
        ("demo-transformer+average-many", "average"),
        ("multi30k-small-transformer+vocabulary-lowercased-characters", "lowercased-characters"),
    ],
)
def test_a_name_is_checked_as_an_entry_is(name, key):
    with pytest.raises(UserError, match=key):
        CATALOG.experiment(name)


def test_every_row_and_the_reproduction_are_named_by_the_overrides():
    reproduction, catalog = load({"updates": 60, "beam": 2})
    assert reproduction.name == "demo+beam-2+updates-60"
    assert {row.partition("+")[2] for row in reproduction.experiments} == {"beam-2+updates-60"}
    assert all(catalog.rows[row].training.updates == 60 for row in reproduction.experiments)
    again, _ = load_reproduction(
        reproduction.model_dump(), "again", ROOT / "config"
    )  # as tables read it
    assert again == reproduction


def test_rows_of_families_without_the_key_stay_as_they_are():
    reproduction, _ = load({"d_model": 64})
    assert reproduction.experiments == [
        "demo-rnnencdec",
        "demo-rnnsearch",
        "demo-transformer+d_model-64",
    ]


def test_a_model_is_told_from_another_family_s_with_the_same_keys():
    keys = {"layers": 1, "d_model": 8, "d_ff": 8, "heads": 1, "dropout": 0.0}
    assert Transformer(**keys).chosen() != DecoderOnly(**keys).chosen()


def test_rows_that_become_the_same_are_one():
    reproduction, _ = load({"alpha": 1.0}, "multi30k-en-de")
    *beams, base = sorted(reproduction.tables["search"].experiments, reverse=True)
    assert base == reproduction.tables["search"].base == "multi30k-small-transformer+alpha-1.0"
    assert beams == [f"{base}+beam-{beam}" for beam in (8, 2, 16, 1)]


def test_members_of_an_ensemble_are_overridden():
    reproduction, catalog = load({"updates": 60}, "demo-families")
    assert "demo-small-ensemble+updates-60" in reproduction.experiments
    ensemble = catalog.ensembles["demo-small-ensemble+updates-60"]
    assert list(ensemble.members) == ["demo-small-transformer+updates-60"]


def test_single_rows_may_have_seeds_of_their_own():
    reproduction, _ = load({"seeds": {"default": [1], "demo-rnnsearch": [4, 5]}, "updates": 60})
    assert reproduction.seeds_for("demo-rnnsearch+updates-60") == [4, 5]
    assert reproduction.seeds_for("demo-transformer+updates-60") == [1]


def test_only_some_rows_are_made():
    reproduction, _ = load({"only": ["demo-transformer"]}, "demo")
    assert reproduction.experiments == ["demo-transformer"]
    reproduction, _ = load({"only": ["multi30k-heads-1"]}, "multi30k-en-de")
    assert list(reproduction.tables) == ["table3"]
