"""The families of a comparison have the same budget, and differ in what their papers say."""

from pathlib import Path

from nmt.configuration import read_reproduction
from nmt.models.build import size

CONFIG = Path(__file__).parents[3] / "config"
REPRODUCTION, CATALOG = read_reproduction(CONFIG / "multi30k-families.yaml", CONFIG)
FAMILIES = REPRODUCTION.tables["families"].experiments
CHARACTERS = "multi30k-small-bytenet-characters"


def test_the_families_train_on_the_same_batches_for_as_long():
    trainings = [CATALOG.experiment(name).training for name in FAMILIES if name != CHARACTERS]
    budgets = {
        (t.updates, t.batch_tokens, t.micro_batches, t.label_smoothing, t.average)
        for t in trainings
    }
    assert budgets == {(6000, 2000, 4, 0.1, 5)}


def test_the_families_have_as_many_parameters():
    counts = []
    for name in FAMILIES:
        experiment = CATALOG.experiment(name)
        entries = CATALOG.vocabulary(experiment.vocabulary).size
        if name != CHARACTERS:
            counts.append(size(experiment.model, entries, entries).parameters)
    assert max(counts) < 1.15 * min(counts)
