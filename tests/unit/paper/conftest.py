"""Made-up runs for tables."""

import pytest

from tests.support import paper_runs
from tests.support.paper_tables import publishing


@pytest.fixture
def made(tmp_path, root):
    """Return made(seeds, corpus, **changes), the folder, reproduction and catalog of made-up runs.

    The catalog has published numbers for those on the demo corpus. changes: of the table.
    """

    def make(seeds=(1, 2), corpus="demo", **changes):
        reproduction = paper_runs.reproduction(seeds, corpus, **changes)
        catalog = paper_runs.make_runs(tmp_path, root, reproduction)
        return tmp_path, reproduction, publishing(catalog)

    return make
