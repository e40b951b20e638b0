"""The command line of compare.py."""

import pytest

from nmt.files import write_lines

REFERENCE = [
    f"ein hund und {number} katzen laufen schnell durch den großen park ." for number in range(50)
]


@pytest.fixture
def arguments(tmp_path):
    """Write translations; return arguments(*systems, **changes), which compares some of them."""
    texts = {
        "right": REFERENCE,
        "wrong": REFERENCE[::-1],
        "short": REFERENCE[:-1],
        "reference": REFERENCE,
    }
    for name, lines in texts.items():
        write_lines(tmp_path / f"{name}.de", lines)

    def make(*systems, **changes) -> list[str]:
        options = {
            "translations": [tmp_path / f"{name}.de" for name in systems],
            "names": systems,
            "references": [tmp_path / "reference.de"],
            "target-language": ["de"],
            "output": [tmp_path / "o.json"],
        }
        command = []
        for name, values in (options | changes).items():
            command += [f"--{name}", *map(str, values)]
        return command

    return make


def test_bad_input(arguments, run_failing, tmp_path):
    assert "49 against 50" in run_failing("compare", *arguments("right", "short"))
    assert "--names" in run_failing("compare", *arguments("right", "wrong", names=["one"]))
    chinese = {"metrics": ["ter"], "target-language": ["zh"]}
    assert "metric of zh 'ter'" in run_failing("compare", *arguments("right", "wrong", **chinese))
    assert not (tmp_path / "o.json").exists()
