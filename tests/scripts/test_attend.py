"""attend.py through its command line."""

from nmt.files import read_json, write_lines
from nmt.serving.attention import attend
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models

SENTENCE = tiny_models.SOURCE[0]


def arguments(folder, sentence=SENTENCE):
    return [
        "attend",
        "--threads=1",
        f"--model={folder / 'rnnsearch'}",
        f"--output={folder / 'out' / 'attention.json'}",
        f"--sentence={sentence}",
    ]


def recorded(folder):
    return read_json(folder / "out" / "attention.json")


def test_the_sentence_is_first_and_those_of_the_source_are_of_middling_length(tmp_path, run_script):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    lines = ["a dog .", *tiny_models.SOURCE, "a " * 16]
    write_lines(tmp_path / "source", lines)
    write_lines(tmp_path / "references", [line.upper() for line in lines])
    process = run_script(
        *arguments(tmp_path, SENTENCE),
        f"--source={tmp_path / 'source'}",
        f"--references={tmp_path / 'references'}",
    )
    assert process.returncode == 0, process.stderr
    sentences = recorded(tmp_path)["sentences"]
    assert [item["sentence"] for item in sentences] == [SENTENCE, tiny_models.SOURCE[3]]
    assert recorded(tmp_path)["title"] == "Tiny"
    assert [item.pop("reference") for item in sentences] == [
        *(SENTENCE.upper(), tiny_models.SOURCE[3].upper())
    ]
    assert sentences[0] == attend(TranslationModel(model), SENTENCE)


def test_the_maps_of_a_long_sentence_are_bounded(tmp_path, run_script):
    tiny_models.make_model(tmp_path, "rnnsearch")
    process = run_script(*arguments(tmp_path, "dog " * 2000))
    assert process.returncode == 0
    assert "only the first 250 subwords" in process.stderr
    (sentence,) = recorded(tmp_path)["sentences"]
    assert len(sentence["source"]) == 251


def test_an_empty_sentence_is_an_error(tmp_path, run_failing):
    tiny_models.make_model(tmp_path, "rnnsearch")
    assert "the sentence is empty" in run_failing(*arguments(tmp_path, "  "))
    assert not (tmp_path / "out").exists()
