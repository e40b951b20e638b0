"""Which files belong to a reproduction, of runs that are made up."""

from nmt.archive.chain import Chain
from nmt.configuration import read_reproduction
from nmt.files import write_text
from tests.support import paper_runs
from tests.support.made_up_folder import make_folder


def test_what_is_made_after_the_manifest_is_not_in_it(tmp_path, root):
    folder, catalog = make_folder(tmp_path / "results", root)
    chain = Chain(folder.parent, paper_runs.reproduction(), catalog)
    before = list(chain.files())
    assert f"{folder.name}/tables/systems.csv" in before
    for name in ("manifest.json", "article.pdf", "article.tex", "plan.csv", "plan.md"):
        write_text(folder / name, "later")
    assert list(chain.files()) == before


def test_training_text_of_a_corpus_with_filters_is_made_from_what_they_leave(tmp_path, root):
    reproduction, catalog = read_reproduction(root / "config/tatoeba-en-de.yaml", root / "config")
    corpus = "corpora/tatoeba-en-de"
    for name in ("clean/train.json", "clean/train.en", "text/spacing/train.en"):
        write_text(tmp_path / corpus / name, "made up")
    chain = Chain(tmp_path, reproduction, catalog)
    assert f"{corpus}/clean/train.json" in list(chain.files())
    raw = [
        f"{corpus}/raw/{split}.{language}"
        for split in ("train", "dev", "test")
        for language in ("en", "de")
    ]
    assert chain.made_from(f"{corpus}/clean/train.en") == raw
    assert chain.made_from(f"{corpus}/text/spacing/train.en") == [f"{corpus}/clean/train.en"]
    assert chain.made_from(f"{corpus}/text/spacing/test.en") == [f"{corpus}/raw/test.en"]
    table = chain.made_from(f"{reproduction.name}/tables/corpora.csv")
    assert f"{corpus}/clean/train.json" in table
