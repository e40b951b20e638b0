"""Damaged CSV files, each named with what to do."""

import pytest

from nmt.errors import UserError
from nmt.paper.csv_files import read_csv


def test_a_file_is_read_with_its_types(tmp_path):
    path = tmp_path / "plan.csv"
    path.write_text("experiment,hours\na,1.5\n")
    frame = read_csv(path, ["experiment", "hours"], "make it again")
    assert frame.to_dict("list") == {"experiment": ["a"], "hours": [1.5]}


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"", "is no valid CSV"),
        (b'a,b\n1,"2\n', "is no valid CSV"),
        (b"a,b\n1,\xff\n", "is no valid CSV"),
        (b"a\n1\n", "it has no column b"),
        (b"a,b\n", "it has no row"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, content, fault):
    path = tmp_path / "plan.csv"
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        read_csv(path, ["a", "b"], "make it again")
    assert fault in str(refused.value)
    assert str(refused.value).startswith(str(path))
    assert str(refused.value).endswith("delete it, make it again.")
