"""gpu_check.py, in small on the CPU."""

from tests.support.files import ROOT

TINY = ROOT / "tests/workflow/tiny"
OPTIONS = (
    f"--catalog={TINY}",
    "--vocabulary=50",
    "--sentences=3",
    "--seconds=0",
    "--large=tiny-transformer",
)


def test_all_checks_in_small(run_script, tmp_path):
    families = ("--families", "tiny-transformer", "tiny-rnnsearch", "tiny-seq2seq")
    process = run_script("gpu_check", *OPTIONS, *families, f"--output={tmp_path}/gpu.md")
    assert process.returncode == 0, process.stderr
    table = (tmp_path / "gpu.md").read_text()
    assert table == process.stdout
    assert table.count("| right") == 3
    assert table.count("| same") == 3
    assert table.count("tokens/s, MFU") == 1
    assert "sentences/s" in table


def test_what_is_known_when_time_is_over_is_written(run_script, tmp_path):
    process = run_script(
        "gpu_check", *OPTIONS, "--families=tiny-seq2seq", "--minutes=0", f"--output={tmp_path}/gpu"
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "gpu").read_text().count("right") == 1
