"""Which files belong to a reproduction, of runs that are made up."""

from nmt.archive.chain import Chain
from nmt.files import write_text
from tests.support import paper_runs
from tests.support.made_up_folder import make_folder


def test_what_is_made_after_the_manifest_is_not_in_it(tmp_path, root):
    folder, catalog = make_folder(tmp_path / "results", root)
    chain = Chain(folder.parent, paper_runs.reproduction(), catalog)
    before = list(chain.files())
    assert f"{folder.name}/tables/systems.csv" in before
    for name in ("manifest.json", "article.pdf", "article.tex"):
        write_text(folder / name, "later")
    assert list(chain.files()) == before
