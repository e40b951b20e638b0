"""What is said of files that cannot be read."""

import pytest
import yaml

from nmt.configuration import Ensemble, read_yaml, validated
from nmt.errors import UserError


@pytest.mark.parametrize(
    ("written", "named"),
    [
        (b"a: 1\nb: [1,\n", "line 3"),
        (b"a: 1\nb: 2\na: 3\n", "line 3"),
        (b"a: \xe4\n", "utf-8"),
        (b"a: 2020-02-31\n", "day"),
        (b"a: !!python/name:os.system\n", "python/name"),
        (b"- a\n", "keys and values"),
        (b"a: 1\n__use_yte__: true\n", "__use_yte__"),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(tmp_path, written, named):
    file = tmp_path / "file.yaml"
    file.write_bytes(written)
    with pytest.raises(UserError) as refused:
        read_yaml(file, dict)
    assert str(refused.value).startswith(f"{file}")
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


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
    with pytest.raises(UserError, match="entry, title") as error:
        validated(Ensemble, {"title": yaml.safe_load(bomb), "members": {"a": [1, 2]}}, "entry")
    assert len(str(error.value)) < 2000
