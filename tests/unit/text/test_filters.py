"""Filters of training text."""

import pytest

from nmt.configuration import Corpus
from nmt.configuration.corpora import FILTERS
from nmt.text import chunks
from nmt.text.filters import clean, has_non_printing, in_wrong_script

PAIRS = [
    ("A dog.", "Ein Hund."),
    ("A dog.", "Ein Hund."),  # duplicates
    ("Same", "Same"),  # identical
    ("same", "Same"),
    ("Собака.", "Ein Hund."),  # script
    ("A dog.", "犬 Hund 犬犬犬犬犬"),  # script
    ("", ""),  # identical
    ("In the TEST  set", "Neu"),  # overlap
    ("New", "im Test"),  # overlap
    ("zero\u200bwidth", "Same"),  # non_printing
    ("1 2 3", "4"),
    ("A dog.", "Ein Hund. "),
    ("A dog.", "Ein Hund."),  # duplicates
    ("Same", "Same"),  # identical
]
REASONS = ["", "duplicates", "identical", "", "script", "script", "identical", "overlap"]
REASONS += ["overlap", "non_printing", "", "", "duplicates", "identical"]


def corpus(filters) -> Corpus:
    generated = {"grammar": "g.yaml", "seed": 1, "sizes": {"train": 1, "dev": 1}}
    values = {"title": "T", "source": "en", "target": "de", "license": "free"}
    cleaning = dict.fromkeys(filters, True)
    return Corpus(**values, generated=generated, cleaning=cleaning)


def write(folder, name, lines):
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("filters", [FILTERS, *((name,) for name in FILTERS), ()])
def test_every_dropped_pair_is_counted_by_its_filter(tmp_path, monkeypatch, filters, jobs):
    monkeypatch.setattr(chunks, "CHUNK", 30)
    text = tuple(write(tmp_path, f"s{i}", [pair[i] for pair in PAIRS]) for i in (0, 1))
    tests = [(write(tmp_path, "t0", ["in the test set"]), write(tmp_path, "t1", ["Im  Test", ""]))]
    files = (tmp_path / "out0", tmp_path / "out1")
    counts = clean(corpus(filters), text, tests, files, jobs)
    if len(filters) == len(FILTERS):
        kept = [pair for pair, reason in zip(PAIRS, REASONS, strict=True) if not reason]
        expected = {name: REASONS.count(name) for name in FILTERS}
        assert counts == {"raw": len(PAIRS), "kept": len(kept), "dropped": expected}
        for i in (0, 1):
            assert files[i].read_text(encoding="utf-8") == "".join(f"{p[i]}\n" for p in kept)
    elif not filters:
        assert [path.read_bytes() for path in files] == [path.read_bytes() for path in text]
    else:
        [name] = filters
        dropped = {"duplicates": 3, "identical": 3}.get(name, REASONS.count(name))
        assert counts["dropped"] == {name: dropped}
    lines = files[0].read_text(encoding="utf-8").count("\n")
    assert counts["kept"] == lines == counts["raw"] - sum(counts["dropped"].values())


@pytest.mark.parametrize(
    ("text", "language", "wrong"),
    [
        ("Größe", "de", False),
        ("Größe", "ru", True),
        ("Привет abc", "ru", False),
        ("Привет", "en", True),
        ("12 – 5 %", "el", False),
        ("漢字かな", "ja", False),
        ("", "en", False),
    ],
)
def test_the_script_is_that_of_most_letters(text, language, wrong):
    assert in_wrong_script(text, language) == wrong


def test_spaces_are_no_non_printing_characters():
    assert not has_non_printing("5\u00a0% \u3000\u2009")
    for character in ("\u200b", "\u00ad", "\ue000", "\ufeff", "\U000e0001"):
        assert has_non_printing(f"a{character}b")
