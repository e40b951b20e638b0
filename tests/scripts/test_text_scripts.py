"""normalize.py, learn_vocabulary.py and binarize.py through their command lines."""

import random
import re
import subprocess
from typing import get_args

import pytest

from nmt.configuration import Vocabulary
from nmt.data.tokens import ParallelTokens
from nmt.files import write_json, write_lines
from nmt.text.subwords import SUBWORD_FILES, UNK, SubwordPair
from tests.support.files import flip_last_bit

ENGLISH = [
    "A man sits on a bench.",
    "Two dogs run.",
    "",
    "A dog sits.",
    "Two men sit on two benches.",
] * 4
GERMAN = [
    "Ein Mann sitzt auf einer Bank.",
    "Zwei Hunde laufen.",
    "Leer",
    "Ein Hund sitzt.",
    "Zwei Männer sitzen.",
] * 4


@pytest.fixture
def folder(tmp_path, catalog):
    catalog(
        {
            "tiny": {
                "title": "Tiny",
                "source": "en",
                "target": "de",
                "license": "free",
                "generated": {"grammar": "g.yaml", "seed": 1, "sizes": {"train": 1, "dev": 1}},
                "cleaning": {"max_length": 40, "max_ratio": 3.0},
            },
        },
        {
            "small": {"size": 60, "tokenize": True, "lowercase": True},
            "brief": {"size": 60, "max_length": 1},
            "apart": {"size": 60, "source_size": 50},
        },
    )
    write_lines(tmp_path / "text.en", ENGLISH)
    write_lines(tmp_path / "text.de", GERMAN)
    return tmp_path


def normalize(folder):
    steps = ["--steps", "tokenize", "lowercase", "normalize", "--language=en"]
    return ["normalize", *steps, *named(input=folder / "text.en", output=folder / "out" / "made")]


def learn(folder, **changes):
    return command("learn_vocabulary", folder, **changes)


def binarize(folder, **changes):
    options = {"corpus": "tiny", "split": "train", "subwords": folder / "model"}
    return command("binarize", folder, **options | changes)


def command(script, folder, **changes):
    options = {
        "catalog": folder / "catalog",
        "vocabulary": "small",
        "source": folder / "text.en",
        "target": folder / "text.de",
        "output": folder / "out" / "made",
    }
    return [script, *named(**options | changes)]


def named(**options):
    return [f"--{name}={value}" for name, value in options.items()]


def nothing_written(folder):
    return not (folder / "out").exists() or not list((folder / "out").iterdir())


@pytest.fixture
def model(folder, run_script):
    result = run_script(*learn(folder, output=folder / "model"))
    assert result.returncode == 0, result
    return folder / "model"


def test_normalize_keeps_every_line(folder, run_script):
    for jobs in (1, 2):
        result = run_script(*normalize(folder), f"--jobs={jobs}")
        assert result.returncode == 0, result
        lines = (folder / "out" / "made").read_text().split("\n")
        assert lines[:4] == ["a man sits on a bench .", "two dogs run .", "", "a dog sits ."]
        assert len(lines) == len(ENGLISH) + 1


@pytest.mark.parametrize("make", [normalize, learn, binarize])
def test_bad_input_is_named_with_its_line_and_leaves_nothing(folder, model, run_failing, make):
    (folder / "text.en").write_bytes(b"good\n\xff\n")
    assert f"{folder}/text.en, line 2" in run_failing(*make(folder), "--jobs=2")
    assert nothing_written(folder)


def test_learn_vocabulary_writes_its_models_in_silence(folder, run_script):
    result = run_script(*learn(folder))
    assert (result.returncode, result.stderr) == (0, "")
    pair = SubwordPair.load(folder / "out" / "made")
    assert (pair.source.size, pair.target.size) == (60, 60)
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=folder / "out" / "made").returncode == 0


def test_a_sentence_is_cut_by_every_kind_of_subwords(tmp_path, run_script):
    sentence = "the license"
    letters = random.Random(1)
    words = ["".join(letters.choices("abcdehilnst", k=5)) for _ in range(1000)]
    write_lines(tmp_path / "text", 3 * [f"the {word} license" for word in words])
    options = ["--size=350", f"--sentence={sentence}", "--jobs=1"]
    process = run_script("../docs/results/segment", f"--text={tmp_path / 'text'}", *options)
    assert process.returncode == 0, process.stderr
    cut = {}
    for line in process.stdout.splitlines()[2:]:
        _, kind, pieces, _, _ = line.split("|")
        cut[kind.strip()] = re.findall("`(.*?)`", pieces)
    assert len(cut) == len(get_args(Vocabulary.model_fields["kind"].annotation)) + 1
    assert bytes(int(piece[3:5], 16) for piece in cut.pop("bytes")).decode() == sentence
    assert cut.pop("word") == ["▁the", "▁license"]
    for kind, pieces in cut.items():
        assert "".join(pieces) == "▁the▁license", kind
    assert len(cut["char"]) == 12


def test_subwords_may_be_those_of_a_model(folder, model, run_script, run_failing):
    settings = {"vocabulary": Vocabulary(size=60, tokenize=True, lowercase=True).model_dump()}
    write_json(model / "configuration.json", settings)
    write_lines(folder / "text.de", ["Ganz anderer Text."])
    assert run_script(*learn(folder, model=model)).returncode == 0
    for name in SUBWORD_FILES:
        assert (folder / "out" / "made" / name).read_bytes() == (model / name).read_bytes()
    assert "tokenize" in run_failing(*learn(folder, model=model, vocabulary="brief"))


def test_source_and_target_may_have_separate_subwords(folder, run_script):
    assert run_script(*learn(folder, vocabulary="apart")).stderr == ""
    pair = SubwordPair.load(folder / "out" / "made")
    assert (pair.source.size, pair.target.size) == (50, 60)
    assert UNK not in pair.source.encode(ENGLISH[:1])[0]
    assert UNK in pair.source.encode(["ä"])[0]
    assert UNK not in pair.target.encode(["ä"])[0]


def test_binarize_cleans_only_training_text(folder, model, run_script):
    train_dropped = {"empty": 4, "too_long": 0, "ratio": 0}
    for split, sentences, dropped in (("train", 16, train_dropped), ("dev", 20, {})):
        result = run_script(*binarize(folder, split=split))
        assert result.returncode == 0, result
        tokens = ParallelTokens.load(folder / "out" / "made")
        assert len(tokens) == sentences
        assert tokens.meta["dropped"] == dropped
        assert [path.name for path in (folder / "out").iterdir()] == ["made"]


def test_a_vocabulary_may_have_its_own_length_limit(folder, model, run_failing):
    assert "16 too_long" in run_failing(*binarize(folder, vocabulary="brief"))


def test_binarize_refuses_unusable_input(folder, model, run_failing):
    write_lines(folder / "short", GERMAN[:-1])
    error = run_failing(*binarize(folder, target=folder / "short"))
    assert f"{folder}/text.en has 20 lines but {folder}/short has 19" in error
    assert "'train'" in run_failing(*binarize(folder, split="tran"))
    name = model / SUBWORD_FILES[0]
    flip_last_bit(name)
    assert f"{name} is damaged" in run_failing(*binarize(folder))
    name.unlink()
    assert f"{name} is not there" in run_failing(*binarize(folder))
    assert nothing_written(folder)
