"""Filters of training text."""

import pytest

from nmt.text.filters import Filters

PAIRS = [
    ("A dog.", "Ein Hund."),
    ("A dog.", "Ein Hund."),  # duplicates
    ("Same", "Same"),
    ("same", "Same"),
    ("", ""),
    ("In the TEST  set", "Neu"),  # overlap
    ("In the TEST  set", "Neu"),  # overlap
    ("New", "im Test"),  # overlap
    ("A dog.", "Ein Hund. "),
    ("A dog.", "Ein Hund."),  # duplicates
]
DROPPED = {1: "duplicates", 5: "overlap", 6: "overlap", 7: "overlap", 9: "duplicates"}


@pytest.mark.parametrize("names", [["overlap", "duplicates"], ["overlap"], []])
def test_every_dropped_pair_is_counted_by_its_filter(tmp_path, names):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("in the test set\n", encoding="utf-8")
    target.write_text("Im  Test\n\n", encoding="utf-8")
    filters = Filters(names, ([source], [target]))
    kept = list(filters.kept(PAIRS))
    assert kept == [pair for i, pair in enumerate(PAIRS) if DROPPED.get(i) not in names]
    dropped = {name: list(DROPPED.values()).count(name) for name in names}
    assert filters.counts == {"raw": len(PAIRS), "kept": len(kept), "dropped": dropped}
