"""The command line of score.py."""

import gzip
import json
from pathlib import Path

import pytest

from nmt.evaluation.metrics import METRICS
from tests.support.files import golden, mirrored

REFERENCE = "Ein Mann steht auf einer Leiter.\nZwei Hunde spielen im tiefen Schnee.\nSie liest.\n"
TRANSLATION = "Ein Mann steht auf der Leiter.\nZwei Hunde spielen im Schnee.\nSie liest.\n"
SOURCE = (
    "A man is standing on a ladder.\nTwo dogs play in the deep snow this early winter morning.\nShe"
    " reads.\n"
)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with translations, references and sources."""
    (tmp_path / "t.de").write_text(TRANSLATION, encoding="utf-8")
    (tmp_path / "r.de").write_text(REFERENCE, encoding="utf-8")
    (tmp_path / "s.en").write_text(SOURCE, encoding="utf-8")
    return tmp_path


@pytest.fixture
def run_score(folder, run_script):
    """Return run_score(*extra, **options), which scores the translations in the folder."""

    def run(*extra, **options):
        paths = {
            "translations": folder / "t.de",
            "references": folder / "r.de",
            "output": folder / "out" / "scores.json",
        }
        all_options = paths | {"target-language": "de"} | options
        named = [f"--{name}={value}" for name, value in all_options.items()]
        return run_script("score", *named, *extra)

    return run


def scores_in(folder: Path) -> dict:
    return json.loads((folder / "out" / "scores.json").read_text(encoding="utf-8"))


def test_scores_are_written(folder, run_score):
    process = run_score()
    assert process.returncode == 0, process.stderr
    result = scores_in(folder)
    names = [name for name, metric in METRICS.items() if metric.scorer]
    assert list(result) == [*names, "sentences", "target_language"]
    assert result["sentences"] == 3
    assert result["target_language"] == "de"
    for name in names:
        assert 0 < result[name]["score"] < 100
        assert "|version:" in result[name]["signature"]
        assert f"{name} {result[name]['score']:.2f}" in process.stderr


def test_output_is_optional_because_all_is_printed(folder, run_script):
    paths = [f"--translations={folder / 't.de'}", f"--references={folder / 'r.de'}"]
    before = sorted(folder.rglob("*"))
    process = run_script("score", *paths, "--target-language=de", cwd=folder)
    assert process.returncode == 0, process.stderr
    names = [name for name, metric in METRICS.items() if metric.scorer]
    assert [line.split()[0] for line in process.stderr.splitlines()] == names
    assert sorted(folder.rglob("*")) == before


def test_more_references_gzip_and_sources(folder, run_score):
    with gzip.open(folder / "second.de.gz", "wt", encoding="utf-8") as file:
        file.write(TRANSLATION)
    process = run_score("--references", folder / "second.de.gz", sources=folder / "s.en")
    assert process.returncode == 0, process.stderr
    result = scores_in(folder)
    assert result["bleu"]["score"] == pytest.approx(100)
    assert result["bleu"]["signature"].startswith("nrefs:2|")
    perfect = dict.fromkeys(("bleu", "lowercased_bleu"), pytest.approx(100))
    assert result["bleu_by_source_length"] == [
        {"from": 0, "to": 10, "sentences": 2} | perfect,
        {"from": 10, "to": 15, "sentences": 1} | perfect,
    ]
    assert sum(part["sentences"] for part in result["bleu_by_source_rank"]) == 3


def test_an_empty_translation_is_said_once(folder, run_score):
    lines = TRANSLATION.splitlines(keepends=True)
    (folder / "t.de").write_text("".join(["\n", *lines[1:]]), encoding="utf-8")
    process = run_score()
    assert process.returncode == 0, process.stderr
    assert process.stderr.count("lines are empty") == 1


def test_only_a_newline_ends_a_line(folder, run_score):
    (folder / "t.de").write_text(TRANSLATION.replace("Ein ", "Ein\u2028\x0c\x85"), encoding="utf-8")
    process = run_score()
    assert process.returncode == 0, process.stderr
    assert scores_in(folder)["sentences"] == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.de", None, "t.de is not there"),
        ("r.de", None, "r.de is not there"),
        ("s.en", None, "s.en is not there"),
        ("t.de", b"", "t.de: empty"),
        ("r.de", b"", "r.de: empty"),
        ("r.de", b"\n\n\n", "r.de: all 3 lines are empty"),
        ("t.de", b"eins\n", "r.de differ in their number of lines, 1 against 3"),
        ("r.de", b"eins\nzwei\n", "r.de differ in their number of lines, 3 against 2"),
        ("s.en", b"one\n", "s.en differ in their number of lines, 3 against 1"),
        ("t.de", b"eins\nzw\xfclf\ndrei\n", "t.de, line 2: not valid UTF-8"),
        ("t.de", b"eins\n&quot; zwei &quot;\ndrei\n", "t.de, line 2: holds the escaped &quot;"),
        ("t.de", b"x\n" * 2737, "two versions"),
    ],
)
def test_errors_are_one_sentence_and_write_nothing(folder, run_score, name, content, message):
    if "versions" in message:
        (folder / "r.de").write_bytes(b"x\n" * 3003)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    process = run_score(sources=folder / "s.en")
    assert process.returncode == 1
    assert message in process.stderr
    assert process.stderr.startswith("error: ")
    assert process.stderr.count("\n") == 1
    assert not (folder / "out").exists()


def test_earlier_scores_survive_an_error(folder, run_score):
    assert run_score().returncode == 0
    earlier = scores_in(folder)
    assert run_score(translations=folder / "missing.de").returncode == 1
    assert scores_in(folder) == earlier


def test_golden_scores(folder, run_score):
    """The published scores of a real system's detokenized output, to their printed digits."""
    translations = golden("bpe2bpe.newstest2014.detok.de.gz")
    references = mirrored("newstest/newstest2014-deen.de.gz")
    process = run_score(translations=translations, references=references)
    assert process.returncode == 0, process.stderr
    result = scores_in(folder)
    assert f"{result['bleu']['score']:.2f}" == "20.07"
    assert f"{result['chrf']['score']:.1f}" == "51.9"
    assert f"{result['tokenized_bleu']['score']:.2f}" == "20.11"
    assert f"{result['compound_split_bleu']['score']:.2f}" == "20.63"
