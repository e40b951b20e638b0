"""Run folders as training and scoring leave them, but made up: small, quick and the same every
time.
"""

import json
from functools import cache
from pathlib import Path

import numpy as np

from nmt.configuration import (
    METRICS,
    Catalog,
    Experiment,
    Reproduction,
    Table,
    Transformer,
    load_catalog,
)
from nmt.evaluation.scores import Score
from nmt.files import write_json, write_lines
from nmt.training.schedule import learning_rate

UPDATES = 400
SCORES = tuple(name for name in METRICS if name != "perplexity")
FINGERPRINT = "f" * 64


def reproduction(
    seeds: tuple[int, ...] = (1, 2), corpus: str = "demo", **tables: Table
) -> Reproduction:
    rows = ["demo-rnnencdec", "demo-rnnsearch", "demo-transformer"]
    systems = Table(
        title="Systems & scores, 100% made up",
        experiments=rows,
        split="test",
        metrics=["bleu", "ter"],
    )
    return Reproduction(
        name="made-up",
        title="Made up",
        corpus=corpus,
        seeds=list(seeds),
        tables=tables or {"systems": systems},
        attention="the old man sleeps .",
    )


def make_runs(folder: Path, root: Path, chosen: Reproduction) -> Catalog:
    """Writes FOLDER/runs for all rows and seeds of `chosen`; returns the repository's catalog."""
    catalog = repository_catalog(root)
    splits = {table.split for table in chosen.tables.values()}
    for name in chosen.experiments:
        experiment = catalog.experiment(name)
        for seed in chosen.seeds:
            make_run(
                folder / "runs" / chosen.corpus / name / f"seed-{seed}",
                name,
                experiment,
                seed,
                splits,
            )
    return catalog


@cache
def repository_catalog(root: Path) -> Catalog:
    """Read once: it cannot change."""
    return load_catalog(root / "config")


def make_run(folder: Path, name: str, experiment: Experiment, seed: int, splits: set[str]) -> None:
    random = np.random.default_rng([seed, *name.encode()])
    skill = 20 + 30 * random.random()
    settings = {
        "model": experiment.model.model_dump(),
        "training": experiment.training.model_dump(),
    }
    training = {
        "updates": UPDATES,
        "epochs": 3,
        "target_tokens": 33_000,
        "flops": 1.5e15,
        "best_dev_nll": 1.5,
    }
    training |= dict.fromkeys(("seconds", "device_seconds"), 90.0 + seed)
    made_by = {
        "device": "made-up CPU",
        "processes": 1,
        "threads": 2,
        "torch": "2",
        "commit": "abcdef0123",
    }
    training |= {"parameters": 1_234_567, "made_by": [made_by]}
    write_json(
        folder / "training.json",
        training | {"settings": settings | {"seed": seed, "tokens": FINGERPRINT}},
    )
    write_lines(
        folder / "metrics.jsonl", (json.dumps(line) for line in metrics(experiment, random))
    )
    write_json(
        folder / "dev.perplexity.json", {"perplexity": 100 / skill, "nll": 1.0, "tokens": 5000}
    )
    for split in splits:
        scores: dict = {
            metric: vars(Score(skill, f"nrefs:1|made-up:{metric}")) for metric in SCORES
        }
        buckets = [
            {
                "from": low,
                "to": high,
                "sentences": 100 - low,
                "bleu": skill - low / 4,
                "lowercased_bleu": skill,
            }
            for low, high in ((0, 10), (10, 20), (20, 96), (96, None))
        ]
        scores |= {"sentences": 250, "target_language": "de", "bleu_by_source_length": buckets}
        write_json(folder / f"{split}.scores.json", scores)
    write_json(folder / "attention.json", attention(experiment, random))
    sweep = {
        key: [{key: value, "bleu": skill - 1 / (1 + value), "length": 1.0} for value in values]
        for key, values in (("beam", [1, 2, 4, 8]), ("alpha", [0, 0.6, 1.2]))
    }
    write_json(folder / "dev.sweep.json", sweep | {"signature": "nrefs:1|made-up:bleu"})


def metrics(experiment: Experiment, random: np.random.Generator) -> list[dict]:
    training, lines = experiment.training, []
    for update in range(20, UPDATES + 1, 20):
        nll = 1 + 6 * np.exp(-update / 100) + 0.1 * random.random()
        rate = learning_rate(update, training, experiment.peak_learning_rate)
        lines.append(
            {"update": update, "epoch": 1, "loss": nll + 1, "nll": nll, "learning_rate": rate}
        )
        if update % 100 == 0:
            lines.append({"update": update, "dev_nll": nll, "dev_perplexity": float(np.exp(nll))})
            if update % 200 == 0:
                lines[-1]["dev_bleu"] = 30 * (1 - np.exp(-update / 300))
    return lines


def attention(experiment: Experiment, random: np.random.Generator) -> dict:
    source = ["▁the", "▁old", "▁man", "▁sle", "eps", "▁.", "</s>"]
    target = ["▁der", "▁alte", "▁Mann", "▁schläft", "▁.", "</s>"]
    maps: dict = {}
    if isinstance(experiment.model, Transformer):
        names, heads = (
            [f"layer {number + 1}" for number in range(experiment.model.layers)],
            experiment.model.heads,
        )
    else:
        names, heads = ["attention"] if experiment.model.attention != "none" else [], 1
    for name in names:
        raw = random.random((heads, len(target), len(source))) ** 6
        maps[name] = (raw / raw.sum(-1, keepdims=True)).round(5).tolist()
    return {"source": source, "target": target, "maps": maps}
