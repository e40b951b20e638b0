"""Training programs of several toolkits: their text, their commands and their speed."""

import json
import shlex
from pathlib import Path

import pytest
import yaml

from nmt.benchmarks import programs
from nmt.benchmarks.programs import Part, Setting, command_line, write_part, write_vocabulary
from nmt.benchmarks.text_speed import Cost
from nmt.configuration import load_catalog
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.files import read_lines
from tests.support import tiny_training

ROW = "tiny-transformer"
PAIRS = 20


@pytest.fixture(scope="module")
def setting(tmp_path_factory) -> Setting:
    folder = tiny_training.prepare(tmp_path_factory.mktemp("programs"))
    catalog = folder / "catalog"
    subwords = folder / "subwords"
    size = ParallelTokens.load(folder / "tokens-train").meta["vocabulary_sizes"][1]
    experiment = load_catalog(catalog).experiment(ROW)
    return Setting(catalog, ROW, experiment, "tiny", subwords, size, 1, "python", folder)


@pytest.fixture(scope="module")
def part(setting) -> Part:
    texts = (setting.folder / "train.en", setting.folder / "train.de")
    write_part(setting, "small", texts, 4)
    write_vocabulary(setting)
    return write_part(setting, "whole", texts, PAIRS)


def test_all_programs_read_the_same_subwords(setting, part):
    tokens = ParallelTokens.load(setting.folder / "whole.tokens")
    numbers = json.loads((setting.folder / "words.json").read_text())
    assert list(numbers)[4:] == list(read_lines(setting.folder / "words"))
    assert len(numbers) == setting.vocabulary_size
    assert len(tokens) == PAIRS
    assert part.target_tokens == len(tokens.target.tokens) + PAIRS
    for side, ragged in (("source", tokens.source), ("target", tokens.target)):
        ids = list(read_lines(setting.folder / f"whole.ids.{side}"))
        words = list(read_lines(setting.folder / f"whole.words.{side}"))
        for i in range(PAIRS):
            assert list(map(int, ids[i].split())) == ragged[i].tolist()
            assert [numbers[word] for word in words[i].split()] == ragged[i].tolist()


def test_a_text_of_fewer_pairs_is_refused(setting):
    with pytest.raises(UserError, match="lines: lower --pairs"):
        write_part(setting, "more", (setting.folder / "dev.en", setting.folder / "dev.de"), 10**6)


def test_our_program_trains_an_epoch(setting, part, run_script):
    command = shlex.split(command_line("this", setting, part))
    arguments = command[command.index(str(Path(programs.REPOSITORY, "src", "train.py"))) + 1 :]
    process = run_script("train", *arguments, cwd=setting.folder)
    assert process.returncode == 0, process.stderr
    training = json.loads((setting.folder / "this" / "training.json").read_text())
    assert training["updates"] == part.updates
    assert training["target_tokens"] == part.target_tokens
    assert "precision-bfloat16" in command_line("this-bfloat16", setting, part)


def test_other_programs_train_the_same_model(setting, part, monkeypatch):
    monkeypatch.setattr("nmt.benchmarks.peers.fairseq.measured", lambda *_: None)
    model, batch = setting.model, str(setting.experiment.training.batch_tokens)
    fairseq = shlex.split(command_line("fairseq", setting, part))
    for side in ("encoder", "decoder"):
        assert fairseq[fairseq.index(f"--{side}-embed-dim") + 1] == str(model.d_model)
        assert fairseq[fairseq.index(f"--{side}-layers") + 1] == str(model.layers)
    assert fairseq[fairseq.index("--max-tokens") + 1] == batch
    sockeye = shlex.split(command_line("sockeye", setting, part))
    assert sockeye[sockeye.index("--transformer-feed-forward-num-hidden") + 1] == str(model.d_ff)
    assert sockeye[sockeye.index("--batch-size") + 1] == batch
    command_line("joeynmt", setting, part)
    joeynmt = yaml.safe_load((setting.folder / "joeynmt.yaml").read_text())
    assert joeynmt["model"]["encoder"]["num_heads"] == model.heads
    assert joeynmt["training"]["batch_size"] == int(batch)
    command_line("opennmt", setting, part)
    opennmt = yaml.safe_load((setting.folder / "opennmt.yaml").read_text())
    assert opennmt["layers"] == model.layers
    assert opennmt["train_steps"] == part.updates
    marian = shlex.split(command_line("marian", setting, part))
    assert marian[marian.index("--experiment") + 1] == ROW


def test_tokens_without_an_epoch_are_read_in_the_log(setting, part):
    log = setting.folder / "opennmt.whole.log"
    log.write_text(
        f"Step {part.updates}/{part.updates:5d}; acc: 9.8; ppl: 9.0; xent: 9.0; lr: 0.00100;"
        " sents:     900; bsz: 3100/2500/90; 900/800 tok/s;     12 sec;\n"
    )
    assert programs.target_tokens("opennmt", setting, part) == 2500 * part.updates
    log.write_text("Traceback\n")
    with pytest.raises(UserError, match="does not say how many tokens an update had"):
        programs.target_tokens("opennmt", setting, part)
    assert programs.target_tokens("fairseq", setting, part) == part.target_tokens


def test_starting_is_not_counted(setting, part, monkeypatch):
    seconds = iter([3.0, 13.0])
    monkeypatch.setattr(programs, "command_line", lambda *_: "")
    monkeypatch.setattr(programs, "measured", lambda *_: Cost(next(seconds), 0.0))
    small = Part("small", 1, 100)
    assert programs.measure("this", setting, small, Part("whole", 9, 1100)) == {
        "target_tokens_per_second": 100.0,
        "start_seconds": 3.0,
        "target_tokens": 1000,
    }


def test_programs_of_other_families_are_refused(setting, run_failing, tmp_path):
    error = run_failing(
        *("benchmark_programs", f"--catalog={setting.catalog}", "--experiment=tiny-rnnsearch"),
        *("--corpus=tiny", f"--subwords={setting.subwords}"),
        *(f"--source={setting.folder}/train.en", f"--target={setting.folder}/train.de"),
        *(f"--csv={tmp_path}/speed.csv", f"--markdown={tmp_path}/speed.md"),
    )
    assert "tiny-rnnsearch is not a Transformer" in error
    assert not list(tmp_path.iterdir())
