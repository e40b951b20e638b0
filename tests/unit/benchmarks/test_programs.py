"""Training programs of several toolkits: their text, their commands and their speed."""

import json
import shlex
from dataclasses import replace

import pytest
import yaml

from nmt.benchmarks import programs
from nmt.benchmarks.peers import WHOLE_TOOLKITS
from nmt.benchmarks.programs import Comparison, Part, Program, write_part, write_vocabulary
from nmt.configuration import load_catalog
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.provenance import REPOSITORY
from tests.support import tiny_training

ROW = "tiny-transformer"
PAIRS = 20


@pytest.fixture(scope="module")
def comparison(tmp_path_factory) -> Comparison:
    folder = tiny_training.prepare(tmp_path_factory.mktemp("programs"))
    return Comparison(
        catalog=folder / "catalog",
        name=ROW,
        experiment=load_catalog(folder / "catalog").experiment(ROW),
        corpus="tiny",
        subwords=folder / "subwords",
        vocabulary_size=ParallelTokens.load(folder / "tokens-train").meta["vocabulary_sizes"][1],
        threads=1,
        python="python",
        folder=folder,
    )


@pytest.fixture(scope="module")
def part(comparison) -> Part:
    texts = (comparison.folder / "train.en", comparison.folder / "train.de")
    write_part(comparison, "dev", texts, 4)
    write_vocabulary(comparison)
    return write_part(comparison, "all", texts, PAIRS)


@pytest.fixture
def commands(comparison, part, monkeypatch) -> dict[str, list[str]]:
    """Return the words of every program's command, when all is prepared."""
    monkeypatch.setattr("nmt.benchmarks.peers.fairseq.seconds", lambda *_: 0.0)
    every = programs.programs(["this", "this-bfloat16", *WHOLE_TOOLKITS], comparison)
    for program in every.values():
        program.prepare(part)
    return {name: shlex.split(program.command(part)) for name, program in every.items()}


def values(command: list[str]) -> dict[str, str]:
    """Return the values of a command's options, with = or without."""
    pairs = [word.split("=", 1) for word in command if word.startswith("--") and "=" in word]
    options = [
        (word, command[i + 1])
        for i, word in enumerate(command[:-1])
        if word.startswith("--") and "=" not in word
    ]
    return dict([*pairs, *options])


def test_all_programs_read_the_same_subwords(comparison, part):
    tokens = ParallelTokens.load(comparison.folder / "all.tokens")
    ids = json.loads((comparison.folder / "words.json").read_text())
    assert list(ids)[4:] == list(read_lines(comparison.folder / "words"))
    assert len(ids) == comparison.vocabulary_size
    assert len(tokens) == part.pairs == PAIRS
    assert part.target_tokens == len(tokens.target.tokens) + PAIRS
    for side, ragged in (("source", tokens.source), ("target", tokens.target)):
        words = list(read_lines(comparison.folder / f"all.words.{side}"))
        for i in range(PAIRS):
            assert [ids[word] for word in words[i].split()] == ragged[i].tolist()


def test_a_text_of_fewer_pairs_is_refused(comparison):
    texts = (comparison.folder / "dev.en", comparison.folder / "dev.de")
    with pytest.raises(UserError, match="lines: lower --pairs"):
        write_part(comparison, "more", texts, 10**6)


def test_our_program_trains_an_epoch_and_measures_only_its_end(
    comparison, part, commands, run_script
):
    command = commands["this"]
    arguments = command[command.index(str(REPOSITORY / "src" / "train.py")) + 1 :]
    process = run_script("train", *arguments, cwd=comparison.folder)
    assert process.returncode == 0, process.stderr
    output = comparison.folder / "out.this"
    training = json.loads((output / "training.json").read_text())
    assert training["updates"] == part.updates
    assert training["target_tokens"] == part.target_tokens
    measured = [json.loads(line) for line in read_lines(output / "metrics.jsonl")]
    assert [line["update"] for line in measured if "dev_nll" in line] == [part.updates]
    assert not any("dev_bleu" in line for line in measured)
    assert "+precision-bfloat16" in values(commands["this-bfloat16"])["--experiment"]


def test_other_programs_train_the_same_model_on_the_same_batch_size(comparison, part, commands):
    model, training = comparison.model, comparison.experiment.training
    fairseq = values(commands["fairseq"])
    for side in ("encoder", "decoder"):
        assert fairseq[f"--{side}-embed-dim"] == str(model.d_model)
        assert fairseq[f"--{side}-layers"] == str(model.layers)
    assert fairseq["--max-tokens"] == str(training.batch_tokens)
    assert fairseq["--required-batch-size-multiple"] == "1"
    sockeye = values(commands["sockeye"])
    assert sockeye["--transformer-feed-forward-num-hidden"] == str(model.d_ff)
    assert sockeye["--transformer-preprocess"] == ""
    assert sockeye["--batch-size"] == str(training.batch_tokens)
    joeynmt = yaml.safe_load((comparison.folder / "joeynmt.all.yaml").read_text())
    assert joeynmt["model"]["encoder"]["num_heads"] == model.heads
    assert joeynmt["model"]["encoder"]["layer_norm"] == "post"
    assert joeynmt["training"]["batch_size"] == training.batch_tokens
    opennmt = yaml.safe_load((comparison.folder / "opennmt.all.yaml").read_text())
    assert opennmt["layers"] == model.layers
    assert opennmt["train_steps"] == part.updates
    assert (opennmt["bucket_size"], opennmt["num_workers"]) == (PAIRS, 0)
    assert opennmt["add_ffnbias"]
    assert values(commands["transformers"])["--experiment"] == ROW


def test_tokens_without_an_epoch_are_read_in_the_log(comparison, part):
    opennmt, fairseq = programs.programs(["opennmt", "fairseq"], comparison).values()
    log = comparison.folder / "opennmt.all.log"
    log.write_text(
        f"Step {part.updates}/{part.updates:5d}; acc: 9.8; ppl: 9.0; xent: 9.0; lr: 0.00100;"
        " sents:     900; bsz: 3100/2500/90; 900/800 tok/s;     12 sec;\n"
    )
    assert opennmt.target_tokens(part) == 2500 * part.updates
    log.write_text("Traceback\n")
    with pytest.raises(UserError, match="does not say how many tokens an update had"):
        opennmt.target_tokens(part)
    assert fairseq.target_tokens(part) == part.target_tokens


def test_time_and_tokens_of_few_pairs_are_subtracted(comparison, monkeypatch):
    times = {"few": 3.0, "all": 13.0}
    monkeypatch.setattr(programs, "seconds", lambda name, _: times[name])
    few, every = Part("few", 1, 1, 100), Part("all", 9, 9, 1100)
    assert programs.measure(Program(lambda part: part.name), comparison, few, every) == {
        "target_tokens_per_second": 100.0,
        "seconds_of_few": 3.0,
        "target_tokens": 1000,
    }


def test_a_program_that_fails_is_named(comparison):
    assert programs.seconds("sleep 0.1", comparison) > 0.1
    with pytest.raises(UserError, match="echo wrong >&2; false failed: wrong"):
        programs.seconds("echo wrong >&2; false", comparison)


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        ("tiny-rnnsearch", "tiny-rnnsearch is not a Transformer"),
        (f"{ROW}+norm-pre", "are built with norm post, but tiny-transformer.norm-pre has pre"),
        (f"{ROW}+precision-bfloat16", "train with precision float32"),
    ],
)
def test_what_toolkits_do_not_train_is_refused(comparison, experiment, message):
    other = load_catalog(comparison.catalog).experiment(experiment)
    with pytest.raises(UserError, match=message):
        programs.programs(["this"], replace(comparison, name=experiment, experiment=other))


def test_nothing_is_written_where_an_experiment_is_refused(comparison, run_failing, tmp_path):
    error = run_failing(
        *("benchmark_programs", f"--catalog={comparison.catalog}", "--experiment=tiny-rnnsearch"),
        *("--corpus=tiny", f"--subwords={comparison.subwords}"),
        *(f"--source={comparison.folder}/train.en", f"--target={comparison.folder}/train.de"),
        *(f"--csv={tmp_path}/speed.csv", f"--markdown={tmp_path}/speed.md"),
    )
    assert "tiny-rnnsearch is not a Transformer" in error
    assert not list(tmp_path.iterdir())
