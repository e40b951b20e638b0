import json

import numpy as np
import pytest

from nmt.configuration import Cleaning, Vocabulary
from nmt.data import tokens as module
from nmt.data.tokens import ParallelTokens, Ragged, write_tokens
from nmt.errors import UserError
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
    def write(source=SOURCE, target=TARGET, cleaning=None, folder="tokens"):
        for name, lines in (("s", source), ("t", target)):
            (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
        write_tokens(tmp_path / folder, pair, tmp_path / "s", tmp_path / "t", cleaning, 1)
        return tmp_path / folder

    return write


def test_what_is_written_is_read(write, subwords):
    tokens = ParallelTokens.load(write())
    assert len(tokens) == len(tokens.source) == len(tokens.target) == len(SOURCE)
    for side, lines in ((tokens.source, SOURCE), (tokens.target, TARGET)):
        ids = subwords.encode(lines)
        assert [side[number].tolist() for number in range(len(side))] == ids
        assert side.lengths.tolist() == [len(sequence) for sequence in ids]
        assert side.tokens.dtype == np.uint16
        assert side.offsets.dtype == np.int64
        assert isinstance(side.tokens, np.memmap)
        with pytest.raises(IndexError):
            side[len(side)]


def test_entropy_is_that_of_subwords_and_ends():
    """Two sequences of 3 a and 1 b: a and ends are 1/2 and 1/3 of 6 tokens."""
    side = Ragged(np.array([5, 5, 7, 5]), np.array([0, 3, 4]))
    expected = -sum(share * np.log(share) for share in (3 / 6, 1 / 6, 2 / 6))
    assert side.entropy == pytest.approx(expected)


def test_meta_counts(write, subwords):
    meta = ParallelTokens.load(write()).meta
    assert meta["sentences"] == 6
    assert meta["source_tokens"] == sum(map(len, subwords.encode(SOURCE)))
    assert meta["target_tokens"] == sum(map(len, subwords.encode(TARGET)))
    assert (meta["source_unknown"], meta["target_unknown"]) == (1, 0)
    assert meta["vocabulary_sizes"] == [subwords.size, subwords.size]
    assert meta["dropped"] == {}


def test_nothing_depends_on_how_many_pairs_are_encoded_at_a_time(write, monkeypatch):
    whole = write()
    monkeypatch.setattr(module, "PAIRS_AT_A_TIME", 2)
    pieces = write(folder="pieces")
    for file in whole.iterdir():
        assert file.read_bytes() == (pieces / file.name).read_bytes()


def test_the_fingerprint_is_that_of_the_contents(write):
    prints = [
        ParallelTokens.load(folder).meta["fingerprint"]
        for folder in (
            write(),
            write(folder="again"),
            write(["b", *SOURCE[1:]], folder="other"),
            write(["a b", "c"], ["a", "a"], folder="here"),
            write(["a", "b c"], ["a", "a"], folder="there"),
        )
    ]
    assert prints[0] == prints[1]
    assert len(set(prints)) == 4


def lengths(tokens):
    return list(zip(tokens.source.lengths.tolist(), tokens.target.lengths.tolist(), strict=True))


def test_cleaning_drops_by_emptiness_length_and_ratio(write, subwords):
    """Each letter and each space before it is a subword, or both together one; only counts matter
    here.
    """
    sources, targets = (
        ["a", "a", "a a", "a a a", "a a", "a a a"],
        ["", "a", "a", "a a a", "a a a", "a a"],
    )
    unit = len(subwords.encode(["a"])[0])
    assert [len(ids) for ids in subwords.encode(["a", "a a", "a a a"])] == [
        unit,
        2 * unit,
        3 * unit,
    ]
    cleaned = ParallelTokens.load(
        write(sources, targets, Cleaning(max_length=3 * unit, max_ratio=1.5))
    )
    kept = [(1, 1), (3, 3), (2, 3), (3, 2)]  # a ratio of 2 is over 1.5, one of 1.5 is not
    assert lengths(cleaned) == [(unit * source, unit * target) for source, target in kept]
    assert cleaned.meta["dropped"] == {"empty": 1, "too_long": 0, "ratio": 1}
    shorter = ParallelTokens.load(
        write(sources, targets, Cleaning(max_length=2 * unit), folder="shorter")
    )
    assert lengths(shorter) == [(unit, unit), (2 * unit, unit)]
    assert shorter.meta["dropped"] == {"empty": 1, "too_long": 3, "ratio": 0}


def test_sets_that_are_not_cleaned_may_have_empty_sides(write):
    assert lengths(ParallelTokens.load(write(["", ""], ["", ""]))) == [(0, 0), (0, 0)]


def test_nothing_left_is_an_error(write):
    with pytest.raises(
        UserError, match=r"no sentence pair is left .* after cleaning \(dropped: 2 empty"
    ):
        write(["", "a"], ["b", ""], Cleaning())
    with pytest.raises(UserError, match="no sentence pair"):
        write([], [], folder="nothing")


def test_line_counts_must_agree(write):
    with pytest.raises(UserError, match=r"s has 3 lines but .*t has 2"):
        write(["a", "b", "c"], ["a", "b"])


def damage_meta(folder):
    (folder / "meta.json").write_text("{")


def lose_file(folder):
    (folder / "target.npy").unlink()


def truncate(folder):
    content = (folder / "source.npy").read_bytes()
    (folder / "source.npy").write_bytes(content[:-2])


def shorten(folder):
    np.save(folder / "source.npy", np.load(folder / "source.npy")[:-1])


def other_count(folder):
    meta = json.loads((folder / "meta.json").read_text())
    (folder / "meta.json").write_text(json.dumps({**meta, "sentences": 5}))


@pytest.mark.parametrize("spoil", [damage_meta, lose_file, truncate, shorten, other_count])
def test_damaged_folders_are_refused(write, spoil):
    folder = write()
    spoil(folder)
    with pytest.raises(UserError, match="make it again"):
        ParallelTokens.load(folder)


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(UserError, match="is not there"):
        ParallelTokens.load(tmp_path / "none")
