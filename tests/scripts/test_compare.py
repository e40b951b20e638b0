"""The command line of compare.py."""

from nmt.files import write_lines


def test_bad_input(run_failing, tmp_path):
    lines = [f"ein hund und {number} katzen laufen durch den park ." for number in range(50)]
    texts = {"right": lines, "wrong": lines[::-1], "short": lines[:-1], "reference": lines}
    for name, text in texts.items():
        write_lines(tmp_path / name, text)

    def compare(*systems, names=None, options=()):
        words = ["--translations", *(tmp_path / name for name in systems)]
        words += ["--names", *(names or systems), "--references", tmp_path / "reference"]
        words += ["--target-language=de", f"--output={tmp_path / 'out'}", *options]
        return run_failing("compare", *words)

    assert "49 against 50" in compare("right", "short")
    assert "--names" in compare("right", "wrong", names=["one"])
    chinese = ("--metrics=ter", "--target-language=zh")
    assert "metric of zh 'ter'" in compare("right", "wrong", options=chinese)
    assert not (tmp_path / "out").exists()
