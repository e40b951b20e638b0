"""translate.py through its command line: whatever text comes in, as many lines come out."""

import shutil
import signal
import subprocess
import sys

import pytest

from nmt.configuration import Cleaning
from nmt.decoding.translator import force_tokens, translate_tokens
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import SUBWORD_FILES, write_subwords
from tests.support import tiny_models

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
    for family in tiny_models.NAMES:
        tiny_models.make_model(folder, family)
    return folder


def translate(run_script, model, text, *extra):
    process = run_script("translate", f"--model={model}", "--threads=1", *extra, input=text)
    assert (process.returncode, process.stderr) == (0, "")
    return process.stdout


def test_help_names_standard_input(run_script):
    assert "standard input" in run_script("translate", "--help").stdout


@pytest.mark.parametrize("family", tiny_models.NAMES)
def test_a_line_out_for_each_line_in(models, run_script, family):
    output = translate(run_script, models / family, "".join(f"{line}\n" for line in AWKWARD))
    lines = output.split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(AWKWARD)
    assert lines[1:3] == ["", ""]
    model = TranslationModel(models / family)
    assert lines == model.translate(AWKWARD, model.experiment.decoding)


def test_pipes_and_files_are_the_same(models, tmp_path, run_script):
    text = "".join(f"{line}\n" for line in AWKWARD)
    piped = translate(run_script, models / "rnnsearch", text)
    source = tmp_path / "a source.txt"
    source.write_bytes(text.encode())
    output = tmp_path / "new" / "out.txt"
    options = [f"--input={source}", f"--output={output}"]
    assert translate(run_script, models / "rnnsearch", "", *options) == ""
    assert output.read_bytes().decode() == piped


def test_processes_share_the_lines_of_a_file(models, tmp_path, run_script):
    text = "".join(f"{line}\n" for line in 3 * AWKWARD)
    (tmp_path / "text").write_text(text)
    model = models / tiny_models.NAMES[0]
    options = ("--n-best=2", "--scores", f"--input={tmp_path}/text")
    assert translate(run_script, model, "", *options, "--jobs=2") == translate(
        run_script, model, text, *options[:2]
    )


def test_the_last_line_may_lack_its_end(models, run_script):
    expected = translate(run_script, models / "seq2seq", "two dogs run .\na dog sits .\n")
    assert translate(run_script, models / "seq2seq", "two dogs run .\na dog sits .") == expected
    assert translate(run_script, models / "seq2seq", "") == ""


@pytest.mark.parametrize("family", tiny_models.NAMES)
def test_a_line_of_twenty_thousand_words_is_cut_with_a_warning(
    models, tmp_path, run_script, family
):
    lines = ["a dog sits .\n", "dog " * 20_000 + "\n", "two dogs run .\n"]
    (tmp_path / "source.txt").write_text("".join(lines))
    arguments = [f"--model={models / family}", "--threads=1", "--beam=1"]
    given = f"--input={tmp_path / 'source.txt'}"
    process = run_script("translate", *arguments, given, "--max-length=20")
    assert process.returncode == 0
    assert process.stderr == (
        "source line 2: too long, only the first 20 subwords are used. Split such lines into"
        " sentences.\n"
    )
    first, _, last = process.stdout.splitlines()
    short = translate(run_script, models / family, lines[0] + lines[2], "--beam=1")
    assert [first, last] == short.splitlines()


def test_without_max_length_it_is_four_times_that_of_training(models, tmp_path):
    folder = models / "seq2seq"
    (tokens,) = TranslationModel(folder).encode(["dog " * 2000])
    assert len(tokens) == 4 * Cleaning().max_length

    short = shutil.copytree(folder, tmp_path / "short")
    configuration = read_json(short / "configuration.json")
    configuration["cleaning"]["max_length"] = 3
    write_json(short / "configuration.json", configuration)
    (tokens,) = TranslationModel(short).encode(["dog " * 2000])
    assert len(tokens) == 12

    # As folders of earlier versions are
    del configuration["cleaning"]
    configuration["vocabulary"]["max_length"] = 5
    write_json(short / "configuration.json", configuration)
    (tokens,) = TranslationModel(short).encode(["dog " * 2000])
    assert len(tokens) == 20


def test_it_is_no_longer_than_learned_positions(tmp_path, run_script):
    folder = tiny_models.make_model(tmp_path, "transformer-learned")
    (tmp_path / "given.txt").write_text("ein hund .\n" + "hund " * 500 + "\n")
    text = "dog " * 500 + "\na dog .\n"
    process = run_script(
        "translate", f"--model={folder}", f"--forced={tmp_path / 'given.txt'}", input=text
    )
    assert process.returncode == 0
    warnings = [line.partition(":")[0] for line in process.stderr.splitlines()]
    assert warnings == ["source line 1", "target line 2"]
    assert process.stderr.count("only the first 63 subwords") == 2
    assert len(process.stdout.splitlines()) == 2


def test_too_little_memory_is_one_sentence(models):
    model = TranslationModel(models / "seq2seq")

    def encode(source):
        raise RuntimeError("can't allocate memory")

    model.single.encode = encode
    message = "not enough memory for a batch of 1 x 5 subwords with 4 hypotheses a sentence: split"
    with pytest.raises(UserError, match=message):
        model.translate(["a dog"], model.experiment.decoding)


def test_what_came_before_a_fault_in_a_pipe_is_translated(models, root):
    process = subprocess.run(
        translate_command(root, models / "seq2seq"),
        input=b"a dog sits .\ntwo dogs run .\nein H\xfcgel\n",
        capture_output=True,
    )
    assert process.returncode == 1
    assert process.stdout.count(b"\n") == 2
    assert process.stderr.startswith(b"error: standard input, line 3: not valid UTF-8")


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
    assert "configuration.json is damaged (it has no keys and values)" in run_failing(
        "translate", f"--model={tmp_path}", input=""
    )
    (tmp_path / "configuration.json").write_text('{"experiment": []}')
    assert "configuration.json has no 'experiment'" in run_failing(
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
    assert f"--{written} and --{read} are both {text}" in error
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
    ("option", "value"),
    [("beam", "0"), ("beam", "x"), ("alpha", "-1"), ("threads", "0")],
)
def test_bad_arguments(models, run_script, option, value):
    process = run_script(
        "translate", f"--model={models / 'seq2seq'}", f"--{option}={value}", input=""
    )
    assert process.returncode == 2
    assert f"argument --{option}" in process.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_ff": 32}, "these weights are not of this model"),
        ({"d_ff": 10**6, "d_model": 10**6}, "these weights are not of this model"),
        (
            {"positions": "learned", "max_positions": 10**12},
            "these weights are not of this model",
        ),
        ({"d_ff": 10**12}, "configuration.json, model.transformer: d_ff: Input should be less"),
        ({"d_ff": 1e12}, "configuration.json, model.transformer: d_ff: Input should be less"),
    ],
)
def test_a_model_whose_weights_are_of_another(models, tmp_path, run_failing, changes, message):
    """No memory is taken for what the configuration says: it may be more than there is."""
    folder = tiny_models.make_model(tmp_path, "transformer")
    configuration = read_json(folder / "configuration.json")
    configuration["experiment"]["model"] |= changes
    write_json(folder / "configuration.json", configuration)
    error = run_failing("translate", f"--model={folder}", input="a dog .\n")
    assert error.startswith(f"error: {folder}/configuration.json")
    assert message in error


def test_models_of_one_vocabulary_translate_together(models, run_script):
    text = "a man sits on a bench .\n\ntwo dogs run .\n"
    folders = [models / "transformer", models / "rnnsearch"]
    process = run_script("translate", "--model", *map(str, folders), "--threads=1", input=text)
    assert (process.returncode, process.stderr) == (0, "")
    ensemble = TranslationModel(*folders)
    translations = ensemble.translate(text.splitlines(), ensemble.experiment.decoding)
    assert process.stdout.splitlines() == translations


def test_models_of_two_vocabularies_do_not(models, tmp_path, run_failing):
    other = shutil.copytree(models / "rnnsearch", tmp_path / "other")
    source, target = (models / "rnnsearch" / name for name in SUBWORD_FILES)
    write_subwords(other, [source.read_bytes(), target.read_bytes() + b"\n"])
    error = run_failing("translate", "--model", models / "transformer", other, input="a dog .\n")
    assert error.startswith(f"error: {other} has not the vocabulary and languages of")


@pytest.mark.parametrize("others", [[], ["transformer"]])
def test_a_damaged_vocabulary_is_named(models, tmp_path, run_failing, others):
    """Change one byte, which makes another subword: sentencepiece would load it."""
    damaged = shutil.copytree(models / "rnnsearch", tmp_path / "damaged")
    model = damaged / "target.model"
    subword = "▁ei".encode()
    assert subword in model.read_bytes()
    model.write_bytes(model.read_bytes().replace(subword, "▁ai".encode()))
    folders = [*(models / name for name in others), damaged]
    error = run_failing("translate", "--model", *folders, input="a dog .\n")
    assert f"{model} is damaged, as {damaged}/SHA256SUMS tells: delete {damaged} and run" in error


def test_a_vocabulary_of_an_earlier_version_has_no_checksums(models, tmp_path, run_script):
    old = shutil.copytree(models / "rnnsearch", tmp_path / "old")
    (old / "SHA256SUMS").unlink()
    for folder in (models / "rnnsearch", old):
        process = run_script("translate", "--model", folder, input="a dog .\n")
        assert (process.returncode, process.stderr) == (0, "")


def split_fields(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_several_of_each_line_with_scores_and_alignments(models, run_script):
    text = "a man sits on a bench .\n\ntwo dogs run .\n"
    plain = translate(run_script, models / "transformer", text).splitlines()
    options = ["--n-best=3", "--scores", "--alignments"]
    rows = split_fields(translate(run_script, models / "transformer", text, *options))
    assert [number for number, *_ in rows] == ["0", "0", "0", "1", "2", "2", "2"]
    assert [rows[index][2] for index in (0, 3, 4)] == plain
    assert rows[3] == ["1", "0.0000", "", ""]
    for number in (0, 2):
        n_best = [row for row in rows if row[0] == str(number)]
        scores = [float(score) for _, score, _, _ in n_best]
        assert scores == sorted(scores, reverse=True)
        words = len(text.splitlines()[number].split())
        for _, _, translation, alignment in n_best:
            if translation.strip():
                pairs = [tuple(map(int, pair.split("-"))) for pair in alignment.split()]
                assert pairs
                assert all(source_word < words for source_word, _ in pairs)


@pytest.mark.parametrize("beam", [1, 4])
def test_what_it_writes_is_scored_the_same_when_it_is_given(models, tmp_path, run_script, beam):
    text = "a man sits on a bench .\ntwo dogs run .\n"
    given = tmp_path / "given.txt"
    options = [f"--beam={beam}", "--scores"]
    rows = split_fields(translate(run_script, models / "transformer", text, *options))
    given.write_text("".join(f"{translation}\n" for _, translation in rows))
    output = translate(run_script, models / "transformer", text, f"--forced={given}")
    forced_rows = split_fields(output)

    model = TranslationModel(models / "transformer")
    decoding = model.experiment.decoding.model_copy(update={"beam": beam})

    def forced_score(source, target):
        ((_, ((hypothesis,),)),) = force_tokens(model.model, [source], [target], decoding)
        return hypothesis.score

    sources = model.encode(text.splitlines())
    for source, row, forced_row in zip(sources, rows, forced_rows, strict=True):
        score, translation = row
        score_of_forced, same_translation = forced_row
        assert same_translation == translation
        ((_, ((best,),)),) = translate_tokens(model.model, [source], decoding)
        assert float(score) == pytest.approx(best.score, abs=2e-4)
        assert float(score) == pytest.approx(forced_score(source, best.tokens), abs=2e-4)
        # Text may be segmented in more than one way: what is scored is the first.
        (target,) = model.encode_target([translation])
        assert float(score_of_forced) == pytest.approx(forced_score(source, target), abs=2e-4)


def test_what_is_given_for_an_empty_line_is_scored_and_has_no_alignments(
    models, tmp_path, run_script
):
    given = tmp_path / "given.txt"
    given.write_text("ein mann .\nein hund .\n")
    options = [f"--forced={given}", "--alignments"]
    output = translate(run_script, models / "transformer", "\na dog .\n", *options)
    first, second = split_fields(output)
    assert first[1:] == ["ein mann .", ""]
    assert second[1] == "ein hund ."
    assert second[2]


def test_samples_depend_on_the_seed_alone(models, run_script):
    text = "a man sits on a bench .\ntwo dogs run .\n"

    def sample(seed):
        options = ["--sample", "--top-p=0.9", f"--seed={seed}"]
        return translate(run_script, models / "transformer", text, *options)

    first = sample(seed=1)
    assert sample(seed=1) == first
    assert sample(seed=2) != first


def test_half_precision(models, run_script):

    def score(*options):
        output = translate(
            run_script, models / "transformer", "two dogs run .\n", "--scores", *options
        )
        return float(split_fields(output)[0][0])

    assert score("--precision=bfloat16") == pytest.approx(score(), rel=0.02)


def translate_command(root, model, *options):
    return [
        sys.executable,
        root / "src" / "translate.py",
        f"--model={model}",
        "--threads=1",
        *options,
    ]


def test_a_line_is_translated_while_the_pipe_is_still_open(models, root):
    command = translate_command(root, models / "rnnsearch")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        for line in ("a dog sits .\n", "two dogs run .\n"):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline().endswith("\n")
        process.stdin.close()
    assert process.returncode == 0


def test_an_interrupt_while_the_pipe_is_open_ends_it_with_one_sentence(
    models, root, record_property
):
    command = translate_command(root, models / "rnnsearch")
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, **pipes, text=True) as process:
        process.stdin.write("a dog sits .\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith("\n")
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
        printed = process.stderr.read()
        assert printed == "interrupted: run the same command again.\n"
    record_property("printed", printed)


def test_samples_do_not_depend_on_how_lines_come(models, tmp_path, run_script, root):
    lines = ["a man sits on a bench .\n", "two dogs run .\n", "two dogs run .\n"]
    (tmp_path / "source.txt").write_text("".join(lines))
    options = ["--sample", f"--input={tmp_path / 'source.txt'}"]
    from_file = translate(run_script, models / "transformer", "", *options)
    command = translate_command(root, models / "transformer", "--sample")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        from_pipe = []
        for line in lines:
            process.stdin.write(line)
            process.stdin.flush()
            from_pipe.append(process.stdout.readline())
        process.stdin.close()
    assert "".join(from_pipe) == from_file
    assert from_pipe[1] != from_pipe[2]


def test_sides_of_different_lengths(models, tmp_path, run_script):
    (tmp_path / "one-line.txt").write_text("zwei hunde\n")
    options = [f"--model={models / 'seq2seq'}", f"--forced={tmp_path / 'one-line.txt'}"]
    process = run_script("translate", *options, input="two dogs\na man .\n")
    assert process.returncode == 1
    assert process.stdout.count("\n") == 1
    assert process.stderr.startswith("error: the source and the file of --forced differ in")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--penalty=none", "--alpha=1.8"], "there is none: leave it out"),
        (["--top-k=3"], "add --sample"),
        (["--sample", "--top-p=90"], "--top-p is a probability"),
        (["--n-best=9"], "add --beam 9"),
        (["--forced=FILE", "--n-best=2"], "leave --sample and --n-best out"),
        (["--alignments"], "this model has no attention"),
        (["--jobs=2"], "name one with --input, and no pipe"),
        (["--jobs=2", "--input=FILE", "--n-best=9"], "add --beam 9"),
    ],
)
def test_what_does_not_go_together(models, tmp_path, run_failing, options, message):
    (tmp_path / "one-line.txt").write_text("two dogs\n")
    options = [option.replace("FILE", str(tmp_path / "one-line.txt")) for option in options]
    error = run_failing(
        "translate", f"--model={models / 'seq2seq'}", *options, input="a dog .\na man .\n"
    )
    assert message in error
