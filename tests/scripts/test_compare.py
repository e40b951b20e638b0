"""compare.py through its command line."""

import pytest

from nmt.files import read_json, write_lines

REFERENCE = [
    f"ein hund und {number} katzen laufen schnell durch den großen park ." for number in range(50)
]


@pytest.fixture
def arguments(tmp_path):
    files = {
        "right": REFERENCE,
        "wrong": [line.replace("hund und", "katze oder") for line in REFERENCE],
        "short": REFERENCE[:-1],
        "reference": REFERENCE,
    }
    for name, lines in files.items():
        write_lines(tmp_path / f"{name}.de", lines)

    def named(*systems, **changes):
        options = {
            "references": [tmp_path / "reference.de"],
            "target-language": ["de"],
            "output": [tmp_path / "o.json"],
        }
        options |= {
            "translations": [tmp_path / f"{name}.de" for name in systems],
            "names": systems,
        } | changes
        return [str(word) for name, values in options.items() for word in (f"--{name}", *values)]

    return named


def test_it_says_which_may_be_the_best(arguments, run_script, tmp_path):
    done = run_script("compare", *arguments("wrong", "right", metrics=["bleu", "chrf"]))
    assert done.returncode == 0, done.stderr
    found = read_json(tmp_path / "o.json")
    assert list(found) == ["bleu", "chrf"]
    assert found["bleu"]["systems"]["right"]["may_be_best"]
    assert not found["bleu"]["systems"]["wrong"]["may_be_best"]
    assert done.stderr == "bleu: may be best: right\nchrf: may be best: right\n"


@pytest.mark.parametrize(
    ("systems", "changes", "message"),
    [
        (["right", "wrong"], {"metrics": ["blue"]}, "unknown metric 'blue': did you mean 'bleu'?"),
        (["right", "short"], {}, "differ in their number of lines, 49 against 50"),
        (
            ["right", "wrong"],
            {"names": ["one"]},
            "give each file of --translations the name of its system",
        ),
    ],
)
def test_bad_input(arguments, run_failing, tmp_path, systems, changes, message):
    assert message in run_failing("compare", *arguments(*systems, **changes))
    assert not (tmp_path / "o.json").exists()
