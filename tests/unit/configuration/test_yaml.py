"""What is said of files that cannot be read."""

import pytest
import yaml

from nmt.configuration import Ensemble, read_yaml, validated
from nmt.errors import UserError


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            b"a: 1\nb: [1,\n",
            "is not valid YAML: line 3: expected the node content, but found '<stream end>'.",
        ),
        (b"a: 1\nb: 2\na: 3\n", "is not valid YAML: line 3: the key 'a' is there twice."),
        (b"a: \xe4\n", "is not valid YAML: it is not in UTF-8."),
        (
            b"a: \x01\n",
            "is not valid YAML: unacceptable character #x0001: special characters are not allowed",
        ),
        (b"a: " + b"[" * 3000 + b"]" * 3000, "is not valid YAML: it is nested too deep."),
        (b"a: " + b"9" * 5000, "is not valid YAML: Exceeds the limit (4300 digits) for integer"),
        (b"a: 2020-02-31\n", "is not valid YAML: day is out of range for month."),
        (b"a: !!python/name:os.system\n", "could not determine a constructor for the tag"),
        (b"# nothing\n", " is empty."),
        (b"- a\n", ": expected keys and values."),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(tmp_path, written, message):
    file = tmp_path / "file.yaml"
    file.write_bytes(written)
    with pytest.raises(UserError) as refused:
        read_yaml(file, dict)
    assert str(refused.value).startswith(f"{file}")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "why"), [(".", "Is a directory"), ("file/corpora.yaml", "Not a directory")]
)
def test_what_is_no_file_is_named(tmp_path, name, why):
    (tmp_path / "file").touch()
    with pytest.raises(UserError) as refused:
        read_yaml(tmp_path / name, dict)
    assert str(refused.value) == f"{tmp_path / name} cannot be read: {why}: name another file."


def test_a_number_needs_no_point(tmp_path):
    file = tmp_path / "file.yaml"
    file.write_text("[3e-4, -1E2, 3e, e3, 1.5e-3]")
    assert read_yaml(file, list) == [3e-4, -100.0, "3e", "e3", 1.5e-3]


def test_a_merged_key_may_be_given_anew(tmp_path):
    file = tmp_path / "file.yaml"
    file.write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\n")
    assert read_yaml(file, dict)["b"] == {"x": 1, "y": 3}


def test_a_value_that_grows_by_references_is_shown_in_brief():
    bomb = "[&a0 [x, x]" + "".join(f", &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)) + "]"
    with pytest.raises(
        UserError, match=r"entry: title: expected text, not \[\['x', 'x'\], "
    ) as error:
        validated(Ensemble, {"title": yaml.safe_load(bomb), "members": {"a": [1, 2]}}, "entry")
    assert len(str(error.value)) < 2000
