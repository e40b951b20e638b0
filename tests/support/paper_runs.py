"""Run folders as training and scoring leave them, but made up: small, quick and always the same."""

import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from nmt.configuration import (
    Catalog,
    DecoderOnly,
    Experiment,
    Reproduction,
    Table,
    Transformer,
    load_catalog,
)
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.scores import Score
from nmt.files import write_json, write_lines, write_text
from nmt.training.schedule import learning_rate

SCORES = [name for name, metric in METRICS.items() if metric.scorer]
FINGERPRINT = "f" * 64
# The meta.json of a vocabulary's training set
TOKENS: dict = {"sentences": 50, "dropped": {"empty": 1, "too_long": 2, "ratio": 3}}
TOKENS |= {"source_tokens": 900, "target_tokens": 950, "source_unknown": 0, "target_unknown": 1}


def reproduction(
    seeds: tuple[int, ...] = (1, 2), corpus: str = "demo", **changes: object
) -> Reproduction:
    """Return a reproduction of one table, `systems`, of three rows on the demo corpus.

    changes: other keys of the table.
    """
    systems: dict = {
        "title": "Systems & scores, 100% made up",
        "experiments": ["demo-rnnencdec", "demo-rnnsearch", "demo-transformer"],
        "split": "test",
        "metrics": ["bleu", "ter"],
    }
    return Reproduction(
        name="made-up",
        title="Made up",
        corpus=corpus,
        seeds=list(seeds),
        tables={"systems": Table(**(systems | changes))},
        attention="the old man sleeps .",
    )


def make_runs(folder: Path, root: Path, chosen: Reproduction) -> Catalog:
    """Write FOLDER/runs and FOLDER/corpora for all rows and seeds of `chosen`.

    Return the repository's catalog.
    """
    catalog = repository_catalog(root)
    (table,) = chosen.tables.values()
    rows = {name: catalog.experiment(name) for name in table.experiments}
    shared = [row.trained_as for row in rows.values() if row.trained_as]
    for name, experiment in (rows | {name: catalog.experiment(name) for name in shared}).items():
        for seed in chosen.seeds:
            run_folder = folder / "runs" / chosen.corpus / name / f"seed-{seed}"
            make_run(run_folder, name, experiment, seed, table.split)
    for vocabulary in {row.vocabulary for row in rows.values()}:
        tokens = folder / "corpora" / chosen.corpus / vocabulary / "tokens" / "train"
        write_json(tokens / "meta.json", TOKENS)
    return catalog


def script_options(folder: Path, root: Path, chosen: Reproduction) -> dict[str, object]:
    """Make up runs, and return what plot.py and typeset.py are told of them."""
    make_runs(folder, root, chosen)
    write_text(folder / "reproduction.yaml", yaml.safe_dump(chosen.model_dump(), sort_keys=False))
    return {
        "catalog": root / "config",
        "reproduction": folder / "reproduction.yaml",
        "table": "systems",
        "runs": folder / "runs",
    }


@cache
def repository_catalog(root: Path) -> Catalog:
    """Return the catalog of the repository, which is read once."""
    return load_catalog(root / "config")


def make_run(folder: Path, name: str, experiment: Experiment, seed: int, split: str) -> None:
    """Write the files of one run, all with scores that depend on the name and the seed."""
    rng = np.random.default_rng([seed, *name.encode()])
    skill = 20 + 30 * rng.random()
    write_json(folder / "training.json", training(experiment, seed))
    lines = [json.dumps(line) for line in metrics(experiment, rng)]
    write_lines(folder / "metrics.jsonl", lines)
    perplexity = {"perplexity": 100 / skill, "nll": 1.0, "tokens": 5000}
    write_json(folder / "dev.perplexity.json", perplexity)
    write_json(folder / f"{split}.scores.json", scores(skill))
    write_json(folder / "attention.json", attention(experiment, rng))


def training(experiment: Experiment, seed: int) -> dict:
    settings = {
        "model": experiment.model.model_dump(),
        "training": experiment.training.model_dump(),
        "seed": seed,
        "tokens": FINGERPRINT,
    }
    made_by = {"device": "made-up CPU", "processes": 1, "threads": 2, "torch": "2"}
    made_by["commit"] = "abcdef0123"
    return {
        "target_tokens": 33_000,
        "flops": 1.5e15,
        "seconds": 90.0 + seed,
        "device_seconds": 90.0 + seed,
        "parameters": 1_234_567,
        "made_by": [made_by],
        "settings": settings,
    }


def metrics(experiment: Experiment, rng: np.random.Generator) -> list[dict]:
    lines = []
    for update in range(20, 401, 20):
        nll = 1 + 6 * np.exp(-update / 100) + 0.1 * rng.random()
        rate = learning_rate(update, experiment.training, experiment.peak_learning_rate)
        line = {"update": update, "nll": nll, "learning_rate": rate}
        line |= {"target_tokens": 80 * update, "flops": 1e12 * update, "seconds": update / 4}
        lines.append(line)
        if update % 100 == 0:
            lines.append({"update": update, "dev_nll": nll, "dev_perplexity": float(np.exp(nll))})
        if update % 200 == 0:
            lines[-1]["dev_bleu"] = 30 * (1 - np.exp(-update / 300))
            lines[-1]["training_bleu"] = 40 * (1 - np.exp(-update / 300))
    return lines


def scores(skill: float) -> dict:
    by_metric = {name: asdict(Score(skill, f"nrefs:1|made-up:{name}")) for name in SCORES}
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
    return {
        **by_metric,
        "sentences": 250,
        "target_language": "de",
        "bleu_by_source_length": buckets,
    }


def attention(experiment: Experiment, rng: np.random.Generator) -> dict:
    source = ["▁the", "▁old", "▁man", "▁sle", "eps", "▁.", "</s>"]
    target = ["▁der", "▁alte", "▁Mann", "▁schläft", "▁.", "</s>"]
    model = experiment.model
    s, t = len(source), len(target)
    maps = {}
    if isinstance(model, Transformer):
        kinds = {"cross-attention": (t, s), "encoder self-attention": (s, s)}
        kinds["decoder self-attention"] = (t, t)
        maps = {
            kind: {
                f"layer {number + 1}": attention_map(rng, model.heads, *size)
                for number in range(model.layers)
            }
            for kind, size in kinds.items()
        }
    elif isinstance(model, DecoderOnly):
        maps = {"joint self-attention": {"layer 1": attention_map(rng, 4, s + t + 1, s + t + 1)}}
    elif getattr(model, "attention", "none") != "none":
        maps = {"cross-attention": {"attention": attention_map(rng, 1, t, s)}}
    sentence = {
        "sentence": "the old man sleeps .",
        "source": source,
        "target": target,
        "inputs": ["<s>", *target[:-1]],
        "row": ["<en>", *source, "<de>", *target[:-1]],
        "translations": [{"text": "der alte Mann schläft .", "score": -0.5}],
        "maps": maps,
    }
    return {"title": experiment.title, "sentences": [sentence]}


def attention_map(rng: np.random.Generator, heads: int, queries: int, keys: int) -> list:
    weights = rng.random((heads, queries, keys)) ** 6
    return (1000 * weights / weights.sum(-1, keepdims=True)).round().astype(int).tolist()
