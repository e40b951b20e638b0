"""measure_layers.py."""

import pandas as pd

from nmt.paper.layer_types import LAYER_TYPES


def test_every_layer_is_measured_at_every_size_once_a_round(tmp_path, run_script):
    output = tmp_path / "layers.csv"
    sizes = ("--lengths", "4", "8", "--width", "8", "--widths", "8", "16", "--length", "4")
    options = ("--rounds", "2", "--threads", "1", "--output", output)
    process = run_script("measure_layers", *sizes, *options)
    assert process.returncode == 0, process.stderr
    rows = pd.read_csv(output)
    expected = [
        (number, name, n, d)
        for number in (1, 2)
        for n, d in ((4, 8), (8, 8), (4, 16))
        for name in LAYER_TYPES
    ]
    assert list(rows[["round", "layer", "n", "d"]].itertuples(index=False, name=None)) == expected
    columns = ["forward_seconds", "backward_seconds", "forward_bytes", "bytes"]
    assert (rows[columns] > 0).all(axis=None)


def test_a_width_that_heads_do_not_divide_is_refused(tmp_path, run_script):
    process = run_script("measure_layers", "--widths", "6", "--output", tmp_path / "layers.csv")
    assert process.returncode == 2
    assert "6 is no multiple of 4, the number of heads" in process.stderr
