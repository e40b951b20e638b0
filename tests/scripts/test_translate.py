"""translate.py through its command line: whatever text comes in, as many lines come out."""

import logging
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import torch

from nmt import load, progress
from nmt.configuration import Vocabulary
from nmt.decoding import translator
from nmt.decoding.translator import force_tokens, in_order, translate_tokens
from nmt.files import read_json, write_json, write_lines
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import copy_subwords, write_subwords
from tests.support import tiny_models
from tests.support.files import Harm, flip_last_bit

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


@pytest.mark.parametrize("family", tiny_models.NAMES)
def test_a_line_out_for_each_line_in(models, tmp_path, run_script, family):
    text = "\n".join(AWKWARD)  # without the end of the last line
    process = run_script("translate", f"--model={models / family}", "--threads=1", input=text)
    assert "unknown subwords" in process.stderr
    assert "2, the first is line 4." in process.stderr
    piped = process.stdout
    lines = piped.split("\n")
    assert lines.pop() == ""
    assert len(lines) == len(AWKWARD)
    assert lines[1:3] == ["", ""]
    assert lines == load(models / family).translate(AWKWARD)

    source, output = tmp_path / "a source.txt", tmp_path / "new" / "out.txt"
    source.write_bytes(text.encode())
    options = [f"--input={source}", f"--output={output}"]
    assert run_script("translate", f"--model={models / family}", *options).stdout == ""
    assert output.read_bytes().decode() == piped


def test_each_batch_of_a_block_is_counted(models, tmp_path, root, monkeypatch, caplog):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LOG_LINES", 0)
    monkeypatch.setitem(translator.ROW_TOKENS, "cpu", 1)  # a line in each batch
    caplog.set_level(logging.INFO)
    (tmp_path / "source.txt").write_text("a dog .\ntwo dogs run .\n\n")
    paths = {"input": tmp_path / "source.txt", "output": tmp_path / "out.txt"}
    options = defaultdict(lambda: None, paths, model=[models / "seq2seq"], gpus=0)
    script = runpy.run_path(str(root / "src" / "translate.py"))
    script["main"](type("Arguments", (), {"__getattr__": lambda _, name: options[name]})())
    for counted, message in zip(("1 line,", "2 lines,", "3 lines,"), caplog.messages, strict=True):
        assert message.startswith(f"translating: {counted}")


def with_max_length(model, folder, length):
    shutil.copytree(model, folder)
    configuration = read_json(folder / "configuration.json")
    write_json(folder / "configuration.json", configuration | {"max_length": length})
    return folder


def test_a_line_is_cut_at_four_times_the_longest_of_training(models, tmp_path, run_script):
    short = with_max_length(models / "seq2seq", tmp_path / "short", 3)
    (tokens,) = TranslationModel(short).encode(["dog " * 2000])
    assert len(tokens) == 12
    source = tmp_path / "source.txt"
    source.write_text("a dog .\n" + "dog " * 20_000 + "\ntwo dogs .\n")
    process = run_script("translate", f"--model={short}", f"--input={source}")
    assert process.stdout.count("\n") == 3
    assert "source line 2: too long" in process.stderr


def test_a_line_is_no_longer_than_learned_positions(tmp_path):
    folder = tiny_models.make_model(tmp_path, "transformer-learned")
    model = TranslationModel(with_max_length(folder, tmp_path / "long", 1000))
    for tokens in (*model.encode(["dog " * 2000]), *model.encode_target(["hund " * 2000])):
        assert len(tokens) == 1023


def test_what_is_read_is_not_replaced(models, tmp_path, run_failing):
    text = tmp_path / "text"
    text.write_text("a dog .\n")
    options = [f"--input={text}", f"--output={text}"]
    assert str(text) in run_failing("translate", f"--model={models / 'seq2seq'}", *options)
    assert text.read_text() == "a dog .\n"


def test_models_of_one_vocabulary_translate_together(models, run_script):
    text = "a man sits on a bench .\n\ntwo dogs run .\n"
    folders = [models / "transformer", models / "rnnsearch"]
    process = run_script("translate", "--model", *map(str, folders), "--threads=1", input=text)
    assert (process.returncode, process.stderr) == (0, "")
    ensemble = load(*folders)
    translations = ensemble.translate(text.splitlines(), ensemble.experiment.decoding)
    assert process.stdout.splitlines() == translations


def test_models_of_two_vocabularies_do_not(models, tmp_path, run_failing):
    other = shutil.copytree(models / "rnnsearch", tmp_path / "other")
    subwords = tiny_models.write_subwords(
        tmp_path, Vocabulary(size=45), models / "text.en", models / "text.de"
    )
    copy_subwords(subwords, other)
    error = run_failing("translate", "--model", models / "transformer", other, input="a dog .\n")
    assert error.startswith(f"error: {other} has another vocabulary")


def split_fields(text: str) -> list[list[str]]:
    return [line.split("\t") for line in text.splitlines()]


def test_several_of_each_line_with_scores(models, run_script):
    text = "a man sits on a bench .\n\ntwo dogs run .\n"
    plain = translate(run_script, models / "transformer", text).splitlines()
    options = ["--n-best=3", "--scores"]
    rows = split_fields(translate(run_script, models / "transformer", text, *options))
    assert [number for number, *_ in rows] == ["0", "0", "0", "1", "2", "2", "2"]
    assert [rows[index][2] for index in (0, 3, 4)] == plain
    assert rows[3] == ["1", "0.0000", ""]
    for number in (0, 2):
        n_best = [row for row in rows if row[0] == str(number)]
        scores = [float(score) for _, score, _ in n_best]
        assert scores == sorted(scores, reverse=True)


def test_what_it_writes_is_scored_when_it_is_given(models, tmp_path, run_script):
    text = "a man sits on a bench .\ntwo dogs run .\n"
    rows = split_fields(translate(run_script, models / "transformer", text, "--scores"))
    translations = [translation for _, translation in rows]
    write_lines(tmp_path / "given.txt", translations)
    forced = f"--forced={tmp_path / 'given.txt'}"
    forced_rows = split_fields(translate(run_script, models / "transformer", text, forced))
    assert [translation for _, translation in forced_rows] == translations

    model = TranslationModel(models / "transformer")
    decoding = model.experiment.decoding
    sources = model.encode(text.splitlines())
    found = in_order(translate_tokens(model.model, sources, decoding), 2)
    # Text may be segmented in more than one way: what is scored is the first.
    targets = model.encode_target(translations)
    given = in_order(force_tokens(model.model, sources, targets, decoding), 2)
    for printed, hypotheses in ((rows, found), (forced_rows, given)):
        for (score, _), (hypothesis,) in zip(printed, hypotheses, strict=True):
            assert float(score) == pytest.approx(hypothesis.score, abs=2e-4)


def translate_command(root, model, *options):
    command = [sys.executable, root / "src" / "translate.py", f"--model={model}", "--threads=1"]
    return [*command, *options]


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


def test_samples_depend_on_seed_and_line_alone(models, tmp_path, run_script, root):
    lines = ["a man sits on a bench .\n", "two dogs run .\n", "two dogs run .\n"]
    (tmp_path / "source.txt").write_text("".join(lines))

    def from_file(seed):
        options = ["--sample", f"--seed={seed}", f"--input={tmp_path / 'source.txt'}"]
        return translate(run_script, models / "transformer", "", *options)

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
    assert "".join(from_pipe) == from_file(seed=1) != from_file(seed=2)
    assert from_pipe[1] != from_pipe[2]


def test_text_is_utf8_in_every_locale(models, start_script, tmp_path):
    (tmp_path / "text").write_text("ein Männlein\n", encoding="utf-8")
    paths = [f"--{name}={tmp_path / 'text'}" for name in ("input", "forced")]
    process = start_script(
        "translate",
        f"--model={models / 'rnnsearch'}",
        *paths,
        f"--output={tmp_path / 'output'}",
        env={"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert process.returncode == 0, process.stderr
    (tmp_path / "output").read_text(encoding="utf-8")


@pytest.mark.parametrize("lines", [1, 3])
def test_sides_of_different_lengths(models, tmp_path, run_failing, lines):
    source, given, output = (tmp_path / name for name in ("source.txt", "given.txt", "out.txt"))
    source.write_text("a dog .\n" * 2)
    given.write_text("ein hund .\n" * lines)
    options = [f"--input={source}", f"--forced={given}", f"--output={output}"]
    assert str(given) in run_failing("translate", f"--model={models / 'seq2seq'}", *options)
    assert not output.exists()


def test_invalid_text_is_named_and_no_file_written(models, tmp_path, run_failing):
    source = tmp_path / "source.txt"
    source.write_bytes(b"a dog sits .\nein H\xfcgel\n")
    options = [f"--input={source}", f"--output={tmp_path / 'out.txt'}"]
    error = run_failing("translate", f"--model={models / 'seq2seq'}", *options)
    assert f"{source}, line 2" in error
    assert [path.name for path in tmp_path.iterdir()] == ["source.txt"]
    text = source.read_text(errors="surrogateescape")
    error = run_failing("translate", f"--model={models / 'seq2seq'}", input=text)
    assert "standard input, line 2" in error


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--top-k=3"], "--sample"),
        (["--n-best=9"], "--beam 9"),
        (["--input=nowhere.txt"], "nowhere.txt"),
    ],
)
def test_what_does_not_go_together(models, run_failing, options, message):
    model = f"--model={models / 'seq2seq'}"
    assert message in run_failing("translate", model, *options, input="a dog .\na man .\n")


def change_piece(path):
    """Change one byte, which makes another subword: sentencepiece would load it."""
    content = path.read_bytes()
    assert "▁ei".encode() in content
    path.write_bytes(content.replace("▁ei".encode(), "▁ai".encode()))


def put_pickle(path):
    torch.save({"weights": Harm(path.parent / "harm")}, path)


def make_larger(path):
    """Check that the larger model takes no memory either."""
    configuration = read_json(path)
    configuration["experiment"]["model"]["d_ff"] = 1_000_000
    write_json(path, configuration)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("target.model", change_piece),
        ("model.safetensors", flip_last_bit),
        ("model.safetensors", Path.unlink),
        ("model.safetensors", put_pickle),
        ("configuration.json", make_larger),
    ],
)
def test_a_damaged_folder_is_named(models, tmp_path, run_failing, name, damage):
    folder = shutil.copytree(models / "transformer", tmp_path / "damaged")
    damage(folder / name)
    error = run_failing("translate", f"--model={folder}", input="a dog .\n")
    assert str(folder / name) in error
    assert f"delete {folder}" in error
    assert not (folder / "harm").exists()


def change_settings(folder, part, **values):
    """Change configuration.json as a stranger might."""
    settings = read_json(folder / "configuration.json")
    (settings["experiment"][part] if part else settings).update(values)
    write_json(folder / "configuration.json", settings)


def change_pieces(folder, content: bytes):
    """Let a piece of the target's vocabulary be something else, with fitting checksums."""
    models = [(folder / f"{side}.model").read_bytes() for side in ("source", "target")]
    subword = "▁ei".encode()
    write_subwords(folder, [models[0], models[1].replace(subword, content)])


def put_pipe(folder, name):
    (folder / name).unlink()
    os.mkfifo(folder / name)


@pytest.mark.parametrize(
    ("attack", "named"),
    [
        (lambda folder: change_settings(folder, "decoding", max_extra=10**9), "max_extra"),
        (lambda folder: change_settings(folder, "decoding", beam=10**9), "beam"),
        (lambda folder: change_settings(folder, None, max_length=10**12), "max_length"),
        (lambda folder: change_settings(folder, None, source=["en"]), "source"),
        (lambda folder: change_settings(folder, None, corpus="\x1b[2J"), "corpus"),
        (lambda folder: change_pieces(folder, b"\xff" * 5), "target.model"),
        (lambda folder: put_pipe(folder, "model.safetensors"), "model.safetensors"),
        (lambda folder: put_pipe(folder, "source.model"), "source.model"),
    ],
)
def test_a_stranger_s_model_neither_hangs_nor_fails_without_a_sentence(
    models, tmp_path, run_failing, attack, named
):
    folder = shutil.copytree(models / "transformer", tmp_path / "stranger's")
    attack(folder)
    assert named in run_failing("translate", f"--model={folder}", input="a dog .\n")


def test_no_subword_commands_the_terminal(models, tmp_path):
    folder = shutil.copytree(models / "transformer", tmp_path / "stranger's")
    change_pieces(folder, "▁\x1b[".encode())
    model = TranslationModel(folder)
    text = model.decode(list(range(model.subwords.target.size)))
    assert "[" in text
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", text)


def test_what_is_no_model(tmp_path, run_failing):
    assert "configuration.json" in run_failing("translate", f"--model={tmp_path}", input="")
