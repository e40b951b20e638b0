"""All that train.py needs for the rows of tests/workflow/tiny, without running the workflow."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
import yaml

from nmt.configuration import Training, load_catalog, read_yaml
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.data.writing import write_tokens
from nmt.files import write_lines
from nmt.models.build import build
from nmt.models.flops import multiply_adds
from nmt.text.grammar import Grammar, generate
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SubwordPair
from nmt.training.distributed import ProcessGroup
from nmt.training.loop import TrainingLoop, resume
from nmt.training.machine import Machine
from nmt.training.run_folder import RunFolder
from nmt.training.trainer import Trainer
from nmt.training.validation import Validation
from tests.support.files import ROOT
from tests.support.tiny_models import write_subwords
from tests.support.workflows import TINY

ROWS = ("tiny-transformer", "tiny-rnnsearch", "tiny-seq2seq")


def prepare(folder: Path, **training: object) -> Path:
    """Write catalog, text, subwords and tokens into the folder, and return it.

    training: keys of every row to change.
    """
    shutil.copytree(made_once().name, folder, dirs_exist_ok=True)
    change(folder, "tiny", **training)
    return folder


@cache
def made_once() -> TemporaryDirectory:
    """Return a folder with the unchanged catalog and its data, which lasts as long as Python."""
    temporary = TemporaryDirectory()
    folder = Path(temporary.name)
    values = read_yaml(ROOT / TINY, dict)
    experiments = {kind: values[kind] for kind in ("vocabularies", "experiments", "ensembles")}
    (folder / "catalog" / "experiments").mkdir(parents=True)
    for name, content in {
        "corpora": values["corpora"],
        "experiments/tiny": experiments,
        "published": [],
    }.items():
        (folder / "catalog" / f"{name}.yaml").write_text(yaml.safe_dump(content))
    catalog = load_catalog(folder / "catalog")
    corpus = catalog.corpus("tiny")
    languages = list(corpus.languages.values())
    grammar = Grammar(read_yaml(ROOT / corpus.generated.grammar, dict), "", *languages)
    text = {}
    for split, pairs in generate(grammar, corpus.generated.sizes, corpus.generated.seed).items():
        text[split] = [folder / f"{split}.{language}" for language in languages]
        for side, file in enumerate(text[split]):
            write_lines(file, (pair[side] for pair in pairs))
    write_subwords(folder, catalog.vocabulary("tiny-bpe"), *text["train"])
    subwords = SubwordPair.load(folder / "subwords")
    for split in ("train", "dev"):
        write_tokens(folder / f"tokens-{split}", subwords, *text[split], None, 1)
    return temporary


def change(folder: Path, entry: str, **values: object) -> None:
    """Change an entry of the catalog's experiments, or add one."""
    file = folder / "catalog" / "experiments" / "tiny.yaml"
    declared = yaml.safe_load(file.read_text(encoding="utf-8"))
    declared["experiments"].setdefault(entry, {}).update(values)
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")


def arguments(folder: Path, output: Path, **changes: object) -> list[str]:
    """Return the arguments of train.py."""
    named = {
        "catalog": folder / "catalog",
        "corpus": "tiny",
        "experiment": "tiny-transformer",
        "tokens": folder / "tokens-train",
        "dev_tokens": folder / "tokens-dev",
        "dev_reference": folder / "dev.de",
        "subwords": folder / "subwords",
        "output": output,
        "threads": 1,
    }
    return [f"--{name.replace('_', '-')}={value}" for name, value in (named | changes).items()]


def settings(**changes: object) -> Training:
    """Return the settings of a short training."""
    defaults = {"updates": 9, "batch_tokens": 99, "warmup": 1, "interval": 9}
    return Training(**defaults | changes)


def make_loop(folder: Path) -> TrainingLoop:
    """Return a loop at the start of the training of tiny-transformer, in this process."""
    experiment = load_catalog(folder / "catalog").experiment("tiny-transformer")
    tokens = ParallelTokens.load(folder / "tokens-train")
    subwords = SubwordPair.load(folder / "subwords")
    text = (folder / "dev.de", subwords, Preprocessing((), "de"))
    validation = Validation(tokens, folder / "tokens-dev", *text, experiment.decoding)
    device = torch.device("cpu")
    model = build(experiment.model, subwords.source.size, subwords.target.size)
    machine = Machine(2e6, {False: multiply_adds(model)})
    trainer = Trainer(model, experiment.training, ProcessGroup(device), seed=1)
    run = RunFolder(folder / "run", experiment, {"seed": 1})
    run.state_folder.mkdir(parents=True)
    counters = resume(trainer, run, {})
    batches = Batches.for_training(tokens, experiment.training, seed=1)
    stream = batches.stream(1, 0, Partition(), device)
    return TrainingLoop(trainer, stream, validation, machine, run, counters)
