"""translate.py through its command line: whatever text comes in, as many lines come out."""

import shutil

import pytest
import tiny_models

from nmt.decoding.folder import TranslationModel
from nmt.files import read_json, write_json

FAMILIES = list(tiny_models.FAMILIES)
# Georgian and emoji are unknown to the vocabulary; only "\n" ends a line.
AWKWARD = [
    "a man sits on a bench .",
    "",
    "   ",
    "ეს ქართული წინადადებაა .",
    "two dogs\u2028run .\x0c a\x85dog",
    "🙂🙂🙂",
    "a dog sits .",
]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for family in FAMILIES:
        tiny_models.make_model(folder, family)
    return folder


def translate(run_script, model, text, *extra):
    done = run_script("translate", f"--model={model}", "--threads=1", *extra, input=text)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_help(run_script):
    done = run_script("translate", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "standard input" in done.stdout


@pytest.mark.parametrize("family", FAMILIES)
def test_a_line_out_for_each_line_in(models, run_script, family):
    out = translate(run_script, models / family, "".join(f"{line}\n" for line in AWKWARD))
    lines = out.split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(AWKWARD)
    assert lines[1:3] == ["", ""]
    model = TranslationModel(models / family)
    alone = {n: text for batch in model.translate(AWKWARD, model.experiment.decoding) for n, text in batch}
    assert lines == [alone[number] for number in range(len(AWKWARD))]  # each in its place


def test_pipes_and_files_are_the_same(models, tmp_path, run_script):
    text = "".join(f"{line}\n" for line in AWKWARD)
    piped = translate(run_script, models / "rnnsearch", text)
    source, output = tmp_path / "a source.txt", tmp_path / "new" / "out.txt"
    source.write_bytes(text.encode())
    assert translate(run_script, models / "rnnsearch", "", f"--input={source}", f"--output={output}") == ""
    assert output.read_bytes().decode() == piped


def test_the_last_line_may_lack_its_end(models, run_script):
    whole = translate(run_script, models / "seq2seq", "two dogs run .\na dog sits .\n")
    assert translate(run_script, models / "seq2seq", "two dogs run .\na dog sits .") == whole
    assert translate(run_script, models / "seq2seq", "") == ""


@pytest.mark.parametrize("family", ["transformer", "seq2seq"])
def test_a_line_of_a_thousand_words(models, run_script, family):
    out = translate(run_script, models / family, f"a dog sits .\n{'a dog ' * 500}\ntwo dogs run .\n", "--beam=1")
    assert out.count("\n") == 3
    short = translate(run_script, models / family, "a dog sits .\ntwo dogs run .\n", "--beam=1")
    assert [out.split("\n")[0], out.split("\n")[2]] == short.split("\n")[:2]


def test_the_beam_is_that_of_the_model_unless_given(models, run_script):
    text = "a man sits on a bench .\ntwo dogs run .\n"
    beam = TranslationModel(models / "transformer").experiment.decoding.beam
    plain = translate(run_script, models / "transformer", text)
    assert plain == translate(run_script, models / "transformer", text, f"--beam={beam}")


def test_what_is_no_model(models, tmp_path, run_failing):
    assert "it has no configuration.json" in run_failing("translate", f"--model={tmp_path}", input="")
    missing = tmp_path / "missing.txt"
    model = f"--model={models / 'transformer'}"
    assert f"{missing} is not there" in run_failing("translate", model, f"--input={missing}")


def test_invalid_text_is_named_and_nothing_written(models, tmp_path, run_failing):
    source, output = tmp_path / "source.txt", tmp_path / "out.txt"
    source.write_bytes(b"a dog sits .\nein H\xfcgel\n")
    error = run_failing("translate", f"--model={models / 'seq2seq'}", f"--input={source}", f"--output={output}")
    assert f"{source}, line 2: not valid UTF-8" in error
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt"]


@pytest.mark.parametrize(("option", "value"), [("beam", "0"), ("beam", "x"), ("alpha", "-1"), ("threads", "0")])
def test_bad_arguments(models, run_script, option, value):
    done = run_script("translate", f"--model={models / 'seq2seq'}", f"--{option}={value}", input="")
    assert done.returncode == 2
    assert f"argument --{option}" in done.stderr


def test_a_model_whose_weights_are_of_another(models, tmp_path, run_failing):
    folder = tiny_models.make_model(tmp_path, "transformer")
    configuration = read_json(folder / "configuration.json")
    configuration["experiment"]["model"]["d_ff"] = 32
    write_json(folder / "configuration.json", configuration)
    assert "these weights are not of this model" in run_failing("translate", f"--model={folder}", input="a dog .\n")


def test_models_of_one_vocabulary_translate_together(models, run_script):
    text, folders = "a man sits on a bench .\n\ntwo dogs run .\n", [models / "transformer", models / "rnnsearch"]
    done = run_script("translate", "--model", *map(str, folders), "--threads=1", input=text)
    assert (done.returncode, done.stderr) == (0, "")
    together = TranslationModel(*folders)
    found = dict(
        pair for batch in together.translate(text.splitlines(), together.experiment.decoding) for pair in batch
    )
    assert done.stdout.splitlines() == [found[number] for number in range(3)]


def test_models_of_two_vocabularies_do_not(models, tmp_path, run_script):
    other = shutil.copytree(models / "rnnsearch", tmp_path / "other")
    (other / "target.model").write_bytes((other / "target.model").read_bytes() + b"\n")
    done = run_script("translate", "--model", str(models / "transformer"), str(other), input="a dog .\n")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {other} has not the vocabulary and languages of")
    assert done.stderr.count("\n") == 1
