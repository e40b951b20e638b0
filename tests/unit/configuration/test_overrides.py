"""Rows with overrides in their names, and `--config updates=60` for all rows of a reproduction."""

import pytest
import yaml

from nmt.configuration import load_catalog, load_reproduction
from nmt.errors import UserError
from tests.support.workflows import ROOT


@pytest.fixture(scope="module")
def catalog():
    return load_catalog(ROOT / "config")


@pytest.fixture
def values():
    return yaml.safe_load((ROOT / "config" / "demo.yaml").read_text(encoding="utf-8"))


def test_what_is_counted_in_updates_keeps_its_proportion(catalog):
    row, short = (
        catalog.experiment("transformer-base"),
        catalog.experiment("transformer-base+updates-1000"),
    )
    assert (row.training.updates, row.training.warmup, row.training.interval) == (
        100000,
        4000,
        1389,
    )
    assert (short.training.updates, short.training.warmup, short.training.interval) == (
        1000,
        40,
        14,
    )
    assert short.training.bleu_interval == 140
    assert short.model == row.model
    assert short.title == "Transformer (base), updates=1000"


def test_a_key_that_is_given_is_not_scaled(catalog):
    assert catalog.experiment("transformer-base+updates-1000+warmup-7").training.warmup == 7


def test_points_of_the_source_loss_are_scaled(catalog):
    row = catalog.experiment("decoder-only-lambda+updates-3970")
    assert row.training.source_loss == ((0, 1.0), (992, 0.1), (3970, 0.0))


@pytest.mark.parametrize("override", ["beam-2", "checkpoint-best", "average-1", "alpha-0.3+beam-2"])
def test_overrides_of_search_and_checkpoints_share_the_training(catalog, override):
    row = catalog.experiment(f"demo-transformer+{override}")
    assert row.trained_as == "demo-transformer"
    assert catalog.experiment(f"heads-4+{override}").trained_as == "heads-4"
    assert catalog.experiment(f"table3-base+{override}").trained_as == "transformer-base"


def test_a_shared_training_is_overridden_too(catalog):
    assert catalog.experiment("table3-base+updates-60").trained_as == "transformer-base+updates-60"


def test_overrides_of_search_share_the_training_of_the_other_overrides(catalog):
    row = catalog.experiment("demo-transformer+beam-2+updates-60")
    assert row.trained_as == "demo-transformer+updates-60"
    assert catalog.experiment(row.trained_as).trained_as is None
    row = catalog.experiment("table3-base+checkpoint-best+updates-60")
    assert row.trained_as == "transformer-base+updates-60"


def test_more_checkpoints_than_the_row_keeps_need_a_training_of_their_own(catalog):
    assert catalog.experiment("demo-transformer").training.average < 10
    assert catalog.experiment("demo-transformer+average-10").trained_as is None
    shared = "transformer-base+average-10"
    assert catalog.experiment("table3-base+average-10").trained_as == shared
    assert catalog.experiment(shared).trained_as is None


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("demo-transformer+positions_std-0.5", "positions_std is for positions: learned"),
        ("demo-transformer+max_distance-8", "max_distance is for positions: relative"),
        ("demo-transformer+average-2+checkpoint-best", "average is for checkpoint: average"),
        (
            "multi30k-small-transformer+vocabulary-lowercased-characters",
            "tie: all needs one vocabulary for both sides, lowercased-characters is two",
        ),
    ],
)
def test_a_name_is_checked_as_an_entry_is(catalog, name, fault):
    with pytest.raises(UserError, match=fault):
        catalog.experiment(name)


def test_rows_in_which_a_key_has_no_effect_stay_as_they_are(values):
    rows = ["demo-transformer", "demo-transformer+checkpoint-best"]
    table = values["tables"]["systems"] | {"experiments": rows}
    reproduction, _ = load_reproduction(values | {"tables": {"systems": table}, "average": 2})
    assert reproduction.experiments == ["demo-transformer+average-2", rows[1]]


def test_a_missing_value_is_yaml_s_null(catalog):
    row = catalog.experiment("demo-transformer+gradient_clip-null")
    assert row.training.gradient_clip is None
    assert row.title == "Transformer, gradient_clip=null"


def test_every_row_and_the_reproduction_are_named_by_the_overrides(values):
    reproduction, catalog = load_reproduction(values | {"updates": 60, "beam": 2})
    assert reproduction.name == "demo+beam-2+updates-60"
    assert {row.partition("+")[2] for row in reproduction.experiments} == {"beam-2+updates-60"}
    assert all(catalog.rows[row].training.updates == 60 for row in reproduction.experiments)
    again, _ = load_reproduction(reproduction.model_dump())  # as tables and figures read it
    assert again == reproduction


def test_rows_of_families_without_the_key_stay_as_they_are(values):
    reproduction, _ = load_reproduction(values | {"d_model": 64})
    assert reproduction.experiments == [
        "demo-rnnencdec",
        "demo-rnnsearch",
        "demo-transformer+d_model-64",
    ]


def test_members_of_an_ensemble_are_overridden():
    values = yaml.safe_load((ROOT / "config" / "demo-families.yaml").read_text(encoding="utf-8"))
    reproduction, catalog = load_reproduction(values | {"updates": 60})
    assert "demo-small-ensemble+updates-60" in reproduction.experiments
    ensemble = catalog.ensembles["demo-small-ensemble+updates-60"]
    assert list(ensemble.members) == ["demo-small-transformer+updates-60"]
    assert ensemble.title == "Transformers, two together, updates=60"


def test_a_key_that_no_member_of_an_ensemble_knows_is_refused(catalog):
    with pytest.raises(UserError, match="unknown key 'beams': did you mean 'beam'"):
        catalog.with_rows(["demo-small-ensemble+beams-2"])


def test_single_rows_have_seeds_of_their_own(values):
    reproduction, _ = load_reproduction(
        values | {"seeds_of": {"demo-rnnsearch": [4, 5]}, "updates": 60}
    )
    assert reproduction.seeds_for("demo-rnnsearch+updates-60") == [4, 5]
    assert reproduction.seeds_for("demo-transformer+updates-60") == [1]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"update": 60}, "unknown key 'update': did you mean 'updates'?"),
        ({"experts": 2}, "no experiment of this reproduction uses the key 'experts'"),
        ({"updates": 0}, "updates: expected a whole number of at least 1, not 0"),
        ({"updates": "many"}, "updates: expected a whole number of at least 1, not 'many'"),
        (
            {"updates": [1]},
            "updates can be set for all experiments to a number or a word, not to [1]",
        ),
        ({"vocabulary": "none-such"}, "unknown vocabulary 'none-such'"),
        ({"seeds_of": {"demo-rnn": [1]}}, "seeds_of: no table has the row 'demo-rnn'"),
    ],
)
def test_what_makes_no_sense_is_said(values, changes, fault):
    with pytest.raises(UserError) as refused:
        load_reproduction(values | changes, "made-up.yaml")
    assert fault in str(refused.value)
