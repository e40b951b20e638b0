"""The command line of score.py."""

import gzip
import json
from pathlib import Path

import pytest
import sacrebleu

from nmt.configuration import Vocabulary
from nmt.text.subwords import Subwords, learn, write_subwords
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


def test_sentence_bleu_is_the_mean_over_sentences_on_subwords(folder, run_score):
    (folder / "text").write_text(REFERENCE, encoding="utf-8")
    model = learn(Vocabulary(size=45, byte_fallback=False), [folder / "text"], 1)
    write_subwords(folder, [model, model])
    process = run_score(subwords=folder)
    assert process.returncode == 0, process.stderr
    subwords = Subwords(model)
    mine, theirs = (
        [" ".join(subwords.pieces(ids)) for ids in subwords.encode(text.splitlines())]
        for text in (TRANSLATION, REFERENCE)
    )
    scores = [
        sacrebleu.sentence_bleu(line, [reference], tokenize="none").score
        for line, reference in zip(mine, theirs, strict=True)
    ]
    result = scores_in(folder)["sentence_bleu"]
    assert result["score"] == pytest.approx(sum(scores) / len(scores))
    assert "tok:target-subwords" in result["signature"]


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.de", None, "t.de"),
        ("s.en", b"one\n", "3 against 1"),
        ("t.de", b"eins\nzw\xfclf\ndrei\n", "t.de, line 2"),
    ],
)
def test_errors_are_one_sentence_and_write_nothing(folder, run_score, name, content, message):
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    process = run_score(sources=folder / "s.en")
    assert process.returncode == 1
    assert message in process.stderr
    assert not (folder / "out").exists()


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
