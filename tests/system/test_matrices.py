"""The experiments of the matrices, which are run by hand, are those of all families."""

from nmt.configuration import load_catalog
from tests.support import tiny_training
from tests.support.families import FAMILIES
from tests.system.resume_matrix import add_experiments, cases_of


def test_the_matrix_of_resumed_trainings_has_every_family(tmp_path):
    cases = cases_of(FAMILIES)
    folder = tiny_training.prepare(tmp_path / "made")
    add_experiments(folder, cases)
    catalog = load_catalog(folder / "catalog")
    for family, precision in cases:
        experiment = catalog.experiment(f"{family}-{precision}")
        longest = {"max_positions": 256} if "max_positions" in experiment.model.chosen() else {}
        assert experiment.model == FAMILIES[family].model_copy(update=longest)
        assert experiment.training.precision == precision
