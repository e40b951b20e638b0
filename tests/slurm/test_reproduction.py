"""The tiny reproduction from the first rule to the last table, by SLURM's jobs."""

import stat
from pathlib import Path

import yaml

from nmt.files import read_json
from tests.slurm.workplace import Workplace
from tests.support.workflows import TINY, snakemake

UPDATES = 20
# One figure: the others are drawn no other way on a cluster.
RESULTS = [
    f"results/tiny+updates-{UPDATES}/{name}"
    for name in ("tables/systems.md", "tables/dev.md", "figures/attention.png")
]
SENTENCE = """Don't "say" $(touch harm) `touch harm`; ../*"""


def contents(folder: Path) -> dict[str, bytes]:
    """Return what does not depend on time and machine: models and translations, by path."""
    names = ("*.translations.txt", "model.safetensors", "dev.perplexity.json")
    paths = [path for name in names for path in (folder / "results/runs").rglob(name)]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_models_and_translations_are_those_of_a_local_run(workplace):
    place = workplace(UPDATES, with_corpus=False)
    file = place.folder / TINY
    values = yaml.safe_load(file.read_text()) | {"attention": SENTENCE}
    file.write_text(yaml.safe_dump(values, sort_keys=False))
    place.snakemake(*RESULTS)
    local = workplace(UPDATES).folder
    options = ["--config", f"updates={UPDATES}", "--set-threads", "train=1"]
    local_process = snakemake(
        local, *options, "--until", "translate", "take_translations", "measure_perplexity"
    )
    assert local_process.returncode == 0, local_process.stdout
    assert place.exit_code() == 0, place.messages
    assert len(contents(local)) > 10
    assert contents(place.folder) == contents(local)
    (configuration,) = place.folder.glob("results/*/configuration.json")
    assert read_json(configuration)["attention"] == SENTENCE
    assert list(place.folder.rglob("harm")) == []
    for path in place.folder.rglob("*"):
        writable = stat.S_IMODE(path.lstat().st_mode) & stat.S_IWOTH
        assert path.is_symlink() or not writable, f"{path} can be written by everybody"


def check_that_it_is_refused(place):
    place.train()
    assert place.exit_code() == 1
    assert "has a quote, a dollar sign or a backslash in it" in place.log
    assert "has been submitted" not in place.log
    assert list(place.folder.rglob("harm")) == []


def test_a_folder_whose_name_a_shell_would_run_is_refused(tmp_path, cluster):
    check_that_it_is_refused(Workplace(tmp_path / "it's $(touch harm)", cluster))


def test_a_setting_that_a_shell_would_run_is_refused(tmp_path, cluster):
    place = Workplace(tmp_path / "a copy", cluster)
    place.config["attention"] = "$(touch harm)"
    check_that_it_is_refused(place)
