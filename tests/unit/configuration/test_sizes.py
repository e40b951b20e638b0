"""The bound of a row's parameters, against the exact count."""

from pathlib import Path

import pytest

from nmt.configuration import load_catalog, parameters_at_most
from nmt.models.size import size

CATALOG = load_catalog(Path(__file__).parents[3] / "config")


@pytest.mark.parametrize("name", [*CATALOG.experiments, "rnnsearch+d_embedding-64"])
def test_the_bound_is_at_least_the_count_and_at_most_twice_it(name):
    experiment = CATALOG.experiment(name)
    vocabulary = CATALOG.vocabulary(experiment.vocabulary)
    sizes = (vocabulary.source_size or vocabulary.size, vocabulary.size)
    parameters = size(experiment.model, *sizes).parameters
    assert parameters <= parameters_at_most(experiment, vocabulary) <= 2 * parameters


def test_the_output_matrix_suits_tensor_cores():
    """A product with a side that is no multiple of 8 is slower on a GPU."""
    sizes = [
        size
        for vocabulary in CATALOG.vocabularies.values()
        for size in (vocabulary.source_size or vocabulary.size, vocabulary.size)
    ]
    assert sizes
    assert [size for size in sizes if size % 8] == []
