"""Parallel text as memory-mapped subword ids."""

import numpy as np
import pytest

from nmt.configuration import Cleaning, Vocabulary
from nmt.data.tokens import ParallelTokens
from nmt.data.writing import write_tokens
from nmt.errors import UserError
from nmt.text import chunks
from nmt.text.subwords import SubwordPair, Subwords, learn

SOURCE = ["a b c", "", "b", "c c c", "a a a a a a", "x z"]
TARGET = ["a", "b c", "", "b b b", "a a a a a a", "x"]


@pytest.fixture
def subwords(tmp_path):
    (tmp_path / "vocabulary").write_text("a b c x\n" * 5)
    return Subwords(learn(Vocabulary(size=9), [tmp_path / "vocabulary"], 1))


@pytest.fixture
def pair(subwords):
    return SubwordPair(subwords, subwords)


@pytest.fixture
def write(tmp_path, pair):
    def write(source=SOURCE, target=TARGET, cleaning=None, folder="tokens", jobs=1):
        for name, lines in (("s", source), ("t", target)):
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        write_tokens(tmp_path / folder, pair, tmp_path / "s", tmp_path / "t", cleaning, jobs)
        return tmp_path / folder

    return write


def test_tokens_survive_writing_and_loading(write, subwords):
    tokens = ParallelTokens.load(write())
    assert len(tokens) == len(tokens.source) == len(tokens.target) == len(SOURCE)
    for side, lines in ((tokens.source, SOURCE), (tokens.target, TARGET)):
        ids = subwords.encode(lines)
        assert [side[number].tolist() for number in range(len(side))] == ids
        assert side.lengths.tolist() == [len(sequence) for sequence in ids]
        assert side.tokens.dtype == np.uint16
        assert side.offsets.dtype == np.int64
        assert isinstance(side.tokens, np.memmap)


def test_meta_counts(write, subwords):
    folder = write()
    meta = ParallelTokens.load(folder).meta
    assert meta["sentences"] == 6
    assert meta["source_tokens"] == sum(map(len, subwords.encode(SOURCE)))
    assert meta["target_tokens"] == sum(map(len, subwords.encode(TARGET)))
    assert (meta["source_unknown"], meta["target_unknown"]) == (1, 0)
    assert meta["vocabulary_sizes"] == [subwords.size, subwords.size]
    assert meta["vocabularies"] == [subwords.checksum, subwords.checksum]
    assert meta["dropped"] == {}
    assert (folder / "dropped.tsv").read_text() == ""


def test_the_files_do_not_depend_on_how_pairs_are_shared_out(write, monkeypatch):
    at_once = write(cleaning=Cleaning())
    monkeypatch.setattr(chunks, "CHUNK", 2)
    in_parts = write(cleaning=Cleaning(), folder="parts", jobs=2)
    assert (in_parts / "dropped.tsv").read_text() == "2\tempty\n3\tempty\n"
    for file in at_once.iterdir():
        assert file.read_bytes() == (in_parts / file.name).read_bytes()


def test_the_fingerprint_is_that_of_the_contents(write):
    folders = [
        write(),
        write(folder="same"),
        write(["b", *SOURCE[1:]], folder="other-sentence"),
        write(["a b", "c"], ["a", "a"], folder="other-tokens"),
        write(["a", "b c"], ["a", "a"], folder="other-offsets"),
    ]
    fingerprints = [ParallelTokens.load(folder).meta["fingerprint"] for folder in folders]
    assert fingerprints[0] == fingerprints[1]
    assert len(set(fingerprints)) == 4


def lengths(tokens):
    return list(zip(tokens.source.lengths.tolist(), tokens.target.lengths.tolist(), strict=True))


def test_cleaning_drops_by_emptiness_length_and_ratio(write, subwords):
    """Lengths are in units: an "a" and its space are one subword together, or one each."""
    sources = ["a", "a", "a a", "a a a", "a a", "a a a"]
    targets = ["", "a", "a", "a a a", "a a a", "a a"]
    encoded = subwords.encode(["a", "a a", "a a a"])
    unit = len(encoded[0])
    assert [len(ids) for ids in encoded] == [unit, 2 * unit, 3 * unit]
    cleaning = Cleaning(max_length=3 * unit, max_ratio=1.5)
    folder = write(sources, targets, cleaning)
    cleaned = ParallelTokens.load(folder)
    kept = [(1, 1), (3, 3), (2, 3), (3, 2)]  # a ratio of 2 is over 1.5, one of 1.5 is not
    assert lengths(cleaned) == [(unit * source, unit * target) for source, target in kept]
    assert cleaned.meta["dropped"] == {"empty": 1, "too_long": 0, "ratio": 1}
    assert (folder / "dropped.tsv").read_text() == "1\tempty\n3\tratio\n"
    cleaning = Cleaning(max_length=2 * unit)
    shorter = ParallelTokens.load(write(sources, targets, cleaning, folder="shorter"))
    assert lengths(shorter) == [(unit, unit), (2 * unit, unit)]
    assert shorter.meta["dropped"] == {"empty": 1, "too_long": 3, "ratio": 0}


def test_nothing_left_is_an_error(write):
    with pytest.raises(UserError, match="2 empty"):
        write(["", "a"], ["b", ""], Cleaning())
    with pytest.raises(UserError, match="no sentence pair"):
        write([], [], folder="nothing")


def test_damaged_folders_are_refused(write):
    folder = write()
    array = np.load(folder / "source.npy")
    array[-1] = 60_000
    np.save(folder / "source.npy", array)
    with pytest.raises(UserError, match=str(folder)):
        ParallelTokens.load(folder)


def test_a_missing_file_is_an_error(write, tmp_path):
    folder = write()
    (folder / "target.npy").unlink()
    for missing in (folder, tmp_path / "none"):
        with pytest.raises(UserError, match="is not there"):
            ParallelTokens.load(missing)


def test_other_vocabularies_of_the_same_sizes_are_refused(write, pair, tmp_path):
    tokens = ParallelTokens.load(write())
    tokens.require_vocabulary(pair, tmp_path)
    tokens.meta["vocabularies"] = ["", ""]
    with pytest.raises(UserError, match=str(tmp_path)):
        tokens.require_vocabulary(pair, tmp_path)
