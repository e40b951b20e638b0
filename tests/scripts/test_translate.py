"""translate.py through its command line: whatever text comes in, as many lines come out."""

import shutil
import signal
import subprocess
import sys

import pytest
import tiny_models

from nmt.decoding.translator import force_tokens, translate_tokens
from nmt.files import read_json, write_json
from nmt.serving.folder import TranslationModel

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
    alone = {
        n: text
        for batch in model.translate(AWKWARD, model.experiment.decoding)
        for n, text in batch
    }
    assert lines == [alone[number] for number in range(len(AWKWARD))]  # each in its place


def test_pipes_and_files_are_the_same(models, tmp_path, run_script):
    text = "".join(f"{line}\n" for line in AWKWARD)
    piped = translate(run_script, models / "rnnsearch", text)
    source, output = tmp_path / "a source.txt", tmp_path / "new" / "out.txt"
    source.write_bytes(text.encode())
    assert (
        translate(run_script, models / "rnnsearch", "", f"--input={source}", f"--output={output}")
        == ""
    )
    assert output.read_bytes().decode() == piped


def test_the_last_line_may_lack_its_end(models, run_script):
    whole = translate(run_script, models / "seq2seq", "two dogs run .\na dog sits .\n")
    assert translate(run_script, models / "seq2seq", "two dogs run .\na dog sits .") == whole
    assert translate(run_script, models / "seq2seq", "") == ""


@pytest.mark.parametrize("family", ["transformer", "seq2seq"])
def test_a_line_of_a_thousand_words(models, run_script, family):
    out = translate(
        run_script, models / family, f"a dog sits .\n{'a dog ' * 500}\ntwo dogs run .\n", "--beam=1"
    )
    assert out.count("\n") == 3
    short = translate(run_script, models / family, "a dog sits .\ntwo dogs run .\n", "--beam=1")
    assert [out.split("\n")[0], out.split("\n")[2]] == short.split("\n")[:2]


def test_the_beam_is_that_of_the_model_unless_given(models, run_script):
    text = "a man sits on a bench .\ntwo dogs run .\n"
    beam = TranslationModel(models / "transformer").experiment.decoding.beam
    plain = translate(run_script, models / "transformer", text)
    assert plain == translate(run_script, models / "transformer", text, f"--beam={beam}")


def test_what_is_no_model(models, tmp_path, run_failing):
    assert "it has no configuration.json" in run_failing(
        "translate", f"--model={tmp_path}", input=""
    )
    (tmp_path / "configuration.json").write_text("5")
    assert "configuration.json has no keys and values" in run_failing(
        "translate", f"--model={tmp_path}", input=""
    )
    missing = tmp_path / "missing.txt"
    model = f"--model={models / 'transformer'}"
    assert f"{missing} is not there" in run_failing("translate", model, f"--input={missing}")


@pytest.mark.parametrize("written", ["output", "log"])
@pytest.mark.parametrize("read", ["input", "forced"])
def test_what_is_read_is_not_replaced(models, tmp_path, run_failing, read, written):
    text = tmp_path / "text"
    text.write_text("a dog .\n")
    error = run_failing(
        "translate", f"--model={models / 'seq2seq'}", f"--{read}={text}", f"--{written}={text}"
    )
    assert error == (
        f"error: --{written} {text} would overwrite the file of --{read}: choose another path.\n"
    )
    assert text.read_text() == "a dog .\n"


def test_invalid_text_is_named_and_nothing_written(models, tmp_path, run_failing):
    source, output = tmp_path / "source.txt", tmp_path / "out.txt"
    source.write_bytes(b"a dog sits .\nein H\xfcgel\n")
    error = run_failing(
        "translate", f"--model={models / 'seq2seq'}", f"--input={source}", f"--output={output}"
    )
    assert f"{source}, line 2: not valid UTF-8" in error
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt"]


@pytest.mark.parametrize(
    ("option", "value"), [("beam", "0"), ("beam", "x"), ("alpha", "-1"), ("threads", "0")]
)
def test_bad_arguments(models, run_script, option, value):
    done = run_script("translate", f"--model={models / 'seq2seq'}", f"--{option}={value}", input="")
    assert done.returncode == 2
    assert f"argument --{option}" in done.stderr


def test_a_model_whose_weights_are_of_another(models, tmp_path, run_failing):
    folder = tiny_models.make_model(tmp_path, "transformer")
    configuration = read_json(folder / "configuration.json")
    configuration["experiment"]["model"]["d_ff"] = 32
    write_json(folder / "configuration.json", configuration)
    assert "these weights are not of this model" in run_failing(
        "translate", f"--model={folder}", input="a dog .\n"
    )


def test_models_of_one_vocabulary_translate_together(models, run_script):
    text, folders = (
        "a man sits on a bench .\n\ntwo dogs run .\n",
        [models / "transformer", models / "rnnsearch"],
    )
    done = run_script("translate", "--model", *map(str, folders), "--threads=1", input=text)
    assert (done.returncode, done.stderr) == (0, "")
    together = TranslationModel(*folders)
    found = dict(
        pair
        for batch in together.translate(text.splitlines(), together.experiment.decoding)
        for pair in batch
    )
    assert done.stdout.splitlines() == [found[number] for number in range(3)]


def test_models_of_two_vocabularies_do_not(models, tmp_path, run_script):
    other = shutil.copytree(models / "rnnsearch", tmp_path / "other")
    (other / "target.model").write_bytes((other / "target.model").read_bytes() + b"\n")
    done = run_script(
        "translate", "--model", str(models / "transformer"), str(other), input="a dog .\n"
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {other} has not the vocabulary and languages of")
    assert done.stderr.count("\n") == 1


def fields(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_several_of_each_line_with_scores_and_alignments(models, run_script):
    text = "a man sits on a bench .\n\ntwo dogs run .\n"
    plain = translate(run_script, models / "transformer", text).splitlines()
    found = fields(
        translate(
            run_script, models / "transformer", text, "--n-best=3", "--scores", "--alignments"
        )
    )
    assert [number for number, *_ in found] == ["0", "0", "0", "1", "2", "2", "2"]
    assert [found[place][2] for place in (0, 3, 4)] == plain
    assert found[3] == ["1", "0.0000", "", ""]
    for number in ("0", "2"):
        scores = [float(line[1]) for line in found if line[0] == number]
        assert scores == sorted(scores, reverse=True)
        words = len(text.splitlines()[int(number)].split())
        for line in found:
            if line[0] == number and line[2].strip():
                pairs = [tuple(map(int, pair.split("-"))) for pair in line[3].split()]
                assert pairs
                assert all(here < words for here, _ in pairs)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_it_writes_is_scored_the_same_when_it_is_given(models, tmp_path, run_script, beam):
    text, given = "a man sits on a bench .\ntwo dogs run .\n", tmp_path / "given.txt"
    found = fields(
        translate(run_script, models / "transformer", text, f"--beam={beam}", "--scores")
    )
    given.write_text("".join(f"{line}\n" for _, line in found))
    model = TranslationModel(models / "transformer")
    again = fields(translate(run_script, models / "transformer", text, f"--forced={given}"))
    for (score, line), (same, echo), source in zip(found, again, text.splitlines(), strict=True):
        assert echo == line
        ((_, ((best,),)),) = translate_tokens(
            model.model,
            model.encode([source]),
            model.experiment.decoding.model_copy(update={"beam": beam}),
        )
        assert float(score) == pytest.approx(best.score, abs=2e-4)
        # Text may have more than one way into subwords: what is scored is the first.
        ((_, ((forced,),)),) = force_tokens(
            model.model,
            model.encode([source]),
            model.encode_target([line]),
            model.experiment.decoding,
        )
        assert float(same) == pytest.approx(forced.score, abs=2e-4)
        ((_, ((forced,),)),) = force_tokens(
            model.model, model.encode([source]), [best.tokens], model.experiment.decoding
        )
        assert float(score) == pytest.approx(forced.score, abs=2e-4)


def test_what_is_given_for_an_empty_line_is_scored_and_has_no_alignments(
    models, tmp_path, run_script
):
    given = tmp_path / "given.txt"
    given.write_text("ein mann .\nein hund .\n")
    found = translate(
        run_script, models / "transformer", "\na dog .\n", f"--forced={given}", "--alignments"
    )
    (_, first, none), (_, second, pairs) = fields(found)
    assert (first, none, second) == ("ein mann .", "", "ein hund .")
    assert pairs


def test_samples_depend_on_the_seed_alone(models, run_script):
    text = "a man sits on a bench .\ntwo dogs run .\n"
    once, again, other = (
        translate(
            run_script, models / "transformer", text, "--sample", "--top-p=0.9", f"--seed={seed}"
        )
        for seed in (1, 1, 2)
    )
    assert once == again != other


def test_half_precision(models, run_script):
    found = fields(translate(run_script, models / "transformer", "two dogs run .\n", "--scores"))
    half = fields(
        translate(
            run_script,
            models / "transformer",
            "two dogs run .\n",
            "--scores",
            "--precision=bfloat16",
        )
    )
    assert float(half[0][0]) == pytest.approx(float(found[0][0]), abs=0.05)


def test_a_line_is_translated_while_the_pipe_is_still_open(models, root):
    command = [
        sys.executable,
        root / "src" / "translate.py",
        f"--model={models / 'rnnsearch'}",
        "--threads=1",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in ("a dog sits .\n", "two dogs run .\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().endswith("\n")
        process.stdin.close()
    assert process.returncode == 0


def test_an_interrupt_while_the_pipe_is_open_ends_it_with_one_sentence(models, root):
    command = [
        sys.executable,
        root / "src" / "translate.py",
        f"--model={models / 'rnnsearch'}",
        "--threads=1",
    ]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True) as process:
        process.stdin.write("a dog sits .\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith("\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        assert process.stderr.read() == "interrupted: run the same command again.\n"


def test_samples_do_not_depend_on_how_lines_come(models, tmp_path, run_script, root):
    lines = ["a man sits on a bench .\n", "two dogs run .\n", "two dogs run .\n"]
    (tmp_path / "source.txt").write_text("".join(lines))
    command = [
        sys.executable,
        root / "src" / "translate.py",
        f"--model={models / 'transformer'}",
        "--threads=1",
    ]
    whole = translate(
        run_script, models / "transformer", "", "--sample", f"--input={tmp_path / 'source.txt'}"
    )
    with subprocess.Popen(
        [*command, "--sample"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        found = []
        for line in lines:
            process.stdin.write(line)
            process.stdin.flush()
            found.append(process.stdout.readline())
        process.stdin.close()
    assert "".join(found) == whole
    assert found[1] != found[2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top-k=3"], "add --sample"),
        (["--sample", "--top-p=90"], "--top-p is a probability"),
        (["--n-best=9"], "add --beam 9"),
        (["--forced=FILE", "--n-best=2"], "leave --sample and --n-best out"),
        (["--forced=FILE"], "differ in their number of lines"),
        (["--alignments"], "this model has no attention"),
    ],
)
def test_what_does_not_go_together(models, tmp_path, run_failing, options, message):
    (tmp_path / "one.txt").write_text("two dogs\n")
    options = [option.replace("FILE", str(tmp_path / "one.txt")) for option in options]
    error = run_failing(
        "translate", f"--model={models / 'seq2seq'}", *options, input="a dog .\na man .\n"
    )
    assert message in error
