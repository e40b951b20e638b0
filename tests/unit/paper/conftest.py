"""Made-up runs for tables."""

import pytest

from tests.support import paper_runs
from tests.support.paper_tables import publishing


@pytest.fixture
def made(tmp_path, root):
    """Return made(seeds), the folder, reproduction and catalog of made-up runs.

    The catalog has published numbers for them.
    """

    def make(seeds=(1, 2)):
        reproduction = paper_runs.reproduction(seeds)
        catalog = paper_runs.make_runs(tmp_path, root, reproduction)
        return tmp_path, reproduction, publishing(catalog)

    return make
