"""The families of a comparison have the same budget, and differ in what their papers say."""

from pathlib import Path

import pytest

from nmt.configuration import read_reproduction
from nmt.models.size import size

CONFIG = Path(__file__).parents[3] / "config"
REPRODUCTION, CATALOG = read_reproduction(CONFIG / "multi30k-families.yaml", CONFIG)
FAMILIES = REPRODUCTION.tables["families"].experiments
CHARACTERS = "multi30k-small-bytenet-characters"
# Of AIAYN, the decoder-only models and ByteNet no clipping is known.
UNCLIPPED = {"transformer", "decoder-only", "bytenet"}


def test_the_families_train_on_the_same_batches_for_as_long():
    trainings = [CATALOG.experiment(name).training for name in FAMILIES if name != CHARACTERS]
    budgets = {
        (t.updates, t.batch_tokens, t.micro_batches, t.label_smoothing, t.average)
        for t in trainings
    }
    assert budgets == {(6000, 2000, 4, 0.1, 5)}


@pytest.mark.parametrize("name", FAMILIES)
def test_gradients_are_clipped_where_a_family_s_paper_does(name):
    experiment = CATALOG.experiment(name)
    clip = None if experiment.model.family in UNCLIPPED else 5.0
    assert experiment.training.gradient_clip == clip


def test_the_families_have_as_many_parameters():
    counts = []
    for name in FAMILIES:
        experiment = CATALOG.experiment(name)
        entries = CATALOG.vocabulary(experiment.vocabulary).size
        if name != CHARACTERS:
            counts.append(size(experiment.model, entries, entries).parameters)
    assert max(counts) < 1.15 * min(counts)


def test_one_bytenet_reads_characters_as_its_paper():
    vocabulary = CATALOG.vocabulary(CATALOG.experiment(CHARACTERS).vocabulary)
    assert CATALOG.experiment(CHARACTERS).model.family == "bytenet"
    assert vocabulary.kind == "char"
