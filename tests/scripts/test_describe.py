"""describe.py through its command line: the model card."""

import pytest

from nmt.evaluation.scores import score
from nmt.files import read_json, write_json
from nmt.serving.card import weights
from tests.support import tiny_models


def test_the_card_names_data_scores_and_how_it_was_made(tmp_path, run_script):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    assert "None are given here" in (model / "README.md").read_text()
    lines = ["ein hund sitzt ."] * 3
    scores = {name: vars(value) for name, value in score(lines, [lines], "de").items()}
    scores |= {"sentences": 3, "target_language": "de"}
    write_json(tmp_path / "dev.scores.json", scores)
    process = run_script(
        "describe",
        f"--model={model}",
        f"--scores={tmp_path / 'dev.scores.json'}",
        f"--output={tmp_path / 'card.md'}",
    )
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    text = (tmp_path / "card.md").read_text()
    for part in (
        "Trained on: Tiny.",
        "License of the data: free.",
        "Seed 7, 1 updates.",
        "| dev | 3 | bleu | 100.00 | nrefs:1 case:mixed",
        "commit abc, torch 2, 1 process(es) of 2 thread(s) on a CPU: `src/train.py`",
        '"family": "rnnsearch"',
    ):
        assert part in text


def test_without_scores_and_from_a_training_of_before_commands_were_kept(tmp_path, run_script):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    configuration = read_json(model / "configuration.json")
    del configuration["provenance"]["training"]["made_by"][0]["command"]
    write_json(model / "configuration.json", configuration)
    process = run_script(
        "describe", f"--model={model}", "--scores", f"--output={tmp_path / 'card.md'}"
    )
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    assert "on a CPU\n" in (tmp_path / "card.md").read_text()


@pytest.mark.parametrize("content", ["{}", "[]", ""])
def test_damaged_scores_are_named(tmp_path, run_failing, content):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    scores = tmp_path / "dev.scores.json"
    scores.write_text(content)
    error = run_failing(
        "describe", f"--model={model}", f"--scores={scores}", f"--output={tmp_path / 'card.md'}"
    )
    assert f"error: {scores} is " in error
    assert ": delete it and run snakemake, or score.py" in error
    assert not (tmp_path / "card.md").exists()


def test_the_card_says_that_the_training_has_diverged(tmp_path, run_script):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    configuration = read_json(model / "configuration.json")
    for diverged in (False, True):
        configuration["provenance"]["training"]["diverged"] = diverged
        write_json(model / "configuration.json", configuration)
        run_script("describe", f"--model={model}", "--scores", f"--output={tmp_path / 'card.md'}")
        assert ("has diverged" in (tmp_path / "card.md").read_text()) is diverged


@pytest.mark.parametrize(
    ("checkpoints", "line"),
    [
        (["1.safetensors", "2.safetensors"], "the mean of 1.safetensors, 2.safetensors."),
        (["2.safetensors"], "2.safetensors."),
        (
            ["best-1.safetensors"],
            "best-1.safetensors, the checkpoint with the lowest loss on the dev set.",
        ),
    ],
)
def test_the_card_says_which_checkpoints_the_weights_are(checkpoints, line):
    assert weights(checkpoints) == f"Weights: {line}"


def test_what_is_no_model(tmp_path, run_failing):
    error = run_failing("describe", f"--model={tmp_path}", f"--output={tmp_path / 'card.md'}")
    assert "it has no configuration.json" in error
